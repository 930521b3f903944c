// The connection of a node to NATS: it never gives up, notices a server that hangs within seconds, and uses the servers of
// NDD_CLUSTER_URL only.
import { X509Certificate } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { checkServerIdentity, type PeerCertificate } from 'node:tls'
import {
  type Authenticator,
  AuthorizationError,
  connect,
  credsAuthenticator,
  type NatsConnection,
  type NodeConnectionOptions,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node'
import { ConfigError } from '../config.ts'
import { type ClusterConfig, usesTls } from './cluster-config.ts'
import { WeakServerError } from './nats-monitor.ts'

/** Earlier versions were not tested, and lost confirmed messages in tests of others. */
const versionMin = [2, 15] as const
const connectTimeoutMs = 2000
const reconnectMs = 200
/** A server that does not answer two of these is left. */
const pingEveryMs = 1000
const pingsMax = 2

/**
 * Reads credentials and certificates, which are read again for each connection, because they may be renewed while the node runs. Rejects
 * with ConfigError if they cannot be read.
 */
export async function natsOptions(config: ClusterConfig): Promise<NodeConnectionOptions> {
  const { credentials } = config
  const authenticator = credentials === undefined ? undefined : await authenticatorOf(credentials)
  return {
    // The scheme says whether TLS is wanted, and the library takes that from `tls`.
    servers: config.urls.map((url) => url.replace(/^tls:/, 'nats:')),
    name: `annal ${config.name} ${config.node}`,
    timeout: connectTimeoutMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: reconnectMs,
    reconnectJitter: reconnectMs,
    pingInterval: pingEveryMs,
    maxPingOut: pingsMax,
    ignoreClusterUpdates: true,
    // The library would make two errors with a stack for each request, in case it fails: an eighth of the CPU time of a publish.
    noAsyncTraces: true,
    // Credentials may be renewed while the node runs.
    ignoreAuthErrorAbort: true,
    ...(authenticator && { authenticator }),
    ...(usesTls(config) && { tls: await tlsOptions(config) }),
  }
}

/** Connects. Rejects with WeakServerError if the server is older than those that clusters are tested with, and if none answers. */
export async function connectNats(options: NodeConnectionOptions): Promise<NatsConnection> {
  const connection = await connect(options)
  const { version = '', server_name: name = '' } = connection.info ?? {}
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const [majorMin, minorMin] = versionMin
  if (major > majorMin || (major === majorMin && minor >= minorMin)) return connection
  await connection.close()
  throw new WeakServerError(
    `the NATS server ${name} has version ${version}; a cluster needs ${versionMin.join('.')} or later`,
  )
}

/** Why NATS cannot be used at the moment, with the setting to look at. */
export function natsTrouble(error: Error, { credentials, ca }: ClusterConfig): string {
  if (error instanceof AuthorizationError)
    return credentials === undefined
      ? 'it wants credentials, and NDD_CLUSTER_CREDENTIALS is not set'
      : `it rejects the credentials of NDD_CLUSTER_CREDENTIALS (${error.message})`
  const code = codeOf(error)
  if (isUntrusted.test(code))
    return `its certificate is signed by no authority ${ca === undefined ? 'that Node.js knows, and NDD_CLUSTER_CA is not set' : 'in NDD_CLUSTER_CA'} (${code})`
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID')
    return `its certificate is not for the host of NDD_CLUSTER_URL (${error.message})`
  return error.message
}

const isUntrusted = /^(UNABLE_TO_(VERIFY|GET)|(DEPTH_ZERO_)?SELF_SIGNED|CERT_UNTRUSTED|CERT_SIGNATURE)/

function codeOf(error: unknown): string {
  if (!(error instanceof Error)) return ''
  return 'code' in error && typeof error.code === 'string' ? error.code : codeOf(error.cause)
}

async function authenticatorOf(file: string): Promise<Authenticator> {
  let newest = authenticatorIn(file, await read('NDD_CLUSTER_CREDENTIALS', file))
  return (nonce) => {
    try {
      newest = authenticatorIn(file, readFileSync(file, 'utf8'))
    } catch {
      // A file that is being replaced: the credentials before it are tried, and the file is read for the next attempt.
    }
    return newest(nonce)
  }
}

function authenticatorIn(file: string, text: string): Authenticator {
  if (text.includes('BEGIN NATS USER JWT')) return credsAuthenticator(Buffer.from(text))
  const [, user, password] = /^([^:\s]+):(\S+)\s*$/.exec(text) ?? []
  if (user !== undefined) return usernamePasswordAuthenticator(user, password)
  throw new ConfigError([
    `NDD_CLUSTER_CREDENTIALS names ${file}, which has neither NATS credentials nor one line USER:PASSWORD`,
  ])
}

async function tlsOptions({ urls, ca }: ClusterConfig) {
  const hosts = urls.map((url) => new URL(url.replace(/^(nats|tls):/, 'http:')).hostname.replace(/^\[|\]$/g, ''))
  return {
    ...(ca !== undefined && { caFile: await checkedCertificates(ca) }),
    // The library gives Node.js no name for a server that is named by its address, and Node.js takes `localhost` then.
    checkServerIdentity(name: string, certificate: PeerCertificate): Error | undefined {
      const wanted = name === 'localhost' ? hosts.filter((host) => host === name || isIP(host) > 0) : [name]
      const problems = wanted.map((host) => checkServerIdentity(host, certificate))
      return problems.includes(undefined) ? undefined : problems[0]
    },
  }
}

/** Returns the file, which the library reads for each connection. */
async function checkedCertificates(file: string): Promise<string> {
  const text = await read('NDD_CLUSTER_CA', file)
  try {
    new X509Certificate(text)
  } catch {
    throw new ConfigError([`NDD_CLUSTER_CA names ${file}, which has no certificate in PEM format`])
  }
  return file
}

async function read(setting: string, file: string): Promise<string> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    throw new ConfigError([`${setting} names a file that cannot be read: ${(error as Error).message}`])
  }
}
