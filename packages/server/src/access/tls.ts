// Certificate and key for HTTPS. They are read from files at the start and again on request, so that a renewed certificate needs no
// restart. A key that other users can read is rejected.
import { constants } from 'node:crypto'
import { readFile, stat } from 'node:fs/promises'
import type { SecureVersion } from 'node:tls'
import { createSecureContext } from 'node:tls'
import { type Config, ConfigError } from '../config.ts'

export interface TlsOptions {
  readonly cert: Buffer
  readonly key: Buffer
  readonly minVersion: SecureVersion
  readonly secureOptions: number
}

/** Undefined if the server uses plain HTTP. Throws ConfigError. */
export async function readTls({ tlsCert, tlsKey }: Config): Promise<TlsOptions | undefined> {
  if (tlsCert === undefined || tlsKey === undefined) return undefined
  const cert = await readSettingFile('NDD_TLS_CERT', tlsCert)
  const key = await readSettingFile('NDD_TLS_KEY', tlsKey)
  const { mode } = await stat(tlsKey)
  if ((mode & 0o077) !== 0) {
    throw new ConfigError([
      `NDD_TLS_KEY ${tlsKey} can be read by other users (mode ${(mode & 0o777).toString(8)}); run chmod 600`,
    ])
  }
  // A client of TLS 1.2 could request handshake after handshake on one connection, each of which costs a signature. No HTTP client does.
  const secureOptions = constants.SSL_OP_NO_RENEGOTIATION
  const options: TlsOptions = { cert, key, minVersion: 'TLSv1.2', secureOptions }
  try {
    createSecureContext(options)
  } catch (error) {
    throw new ConfigError([`NDD_TLS_CERT and NDD_TLS_KEY do not match: ${reason(error)}`])
  }
  return options
}

async function readSettingFile(setting: string, file: string): Promise<Buffer> {
  try {
    return await readFile(file)
  } catch (error) {
    throw new ConfigError([`${setting} cannot be read: ${reason(error)}`])
  }
}

function reason(error: unknown): string {
  return error instanceof Error ? error.message : String(error)
}
