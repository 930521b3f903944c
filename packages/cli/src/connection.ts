// What a command connects to: a running server over HTTP, or a closed data directory in this process. The client is the same.
import { AnnalError, type Client, connect } from '@annal/client'
import { CommandEnd, exitCode } from './exit-code.ts'

export interface ConnectionOptions {
  readonly server: string
  readonly token?: string
  readonly dataDir?: string
  readonly database?: string
}

/** Runs the work with a client, closes the client, and turns errors into exit codes. */
export async function withClient<T>(options: ConnectionOptions, work: (client: Client) => Promise<T>): Promise<T> {
  try {
    await using client = await open(options)
    return await work(client)
  } catch (error) {
    if (error instanceof AnnalError) throw refusal(error)
    throw error
  }
}

async function open({ server, token, dataDir, database }: ConnectionOptions): Promise<Client> {
  if (dataDir === undefined) return connect({ url: server, token })
  const { openEmbedded } = await import('@annal/client/embedded')
  return openEmbedded({ dataDir, ...(database !== undefined && { database }) })
}

const codes: { readonly [code: string]: number } = {
  invalid_argument: exitCode.usage,
  unreachable: exitCode.unavailable,
  timeout: exitCode.unavailable,
  bucket_failed: exitCode.unavailable,
  directory_locked: exitCode.locked,
  log_damaged: exitCode.damaged,
  identity_damaged: exitCode.damaged,
  snapshot_damaged: exitCode.damaged,
  backup_damaged: exitCode.damaged,
  log_failed: exitCode.io,
  format_too_new: exitCode.configuration,
}

/** Turns an error with a code into the end of the command. */
export function refusal({ code, message }: { readonly code: string; readonly message: string }): CommandEnd {
  return new CommandEnd(codes[code] ?? exitCode.refused, `${message} (${code})`, code)
}
