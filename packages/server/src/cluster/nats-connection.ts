// The connection of a node to NATS: it never gives up, notices a server that hangs within seconds, and uses the servers of
// NDD_CLUSTER_URL only.
import { readFile } from 'node:fs/promises'
import {
  type Authenticator,
  credsAuthenticator,
  type NodeConnectionOptions,
  usernamePasswordAuthenticator,
} from '@nats-io/transport-node'
import { type ClusterConfig, usesTls } from './cluster-config.ts'

const connectTimeoutMs = 2000
const reconnectMs = 200
/** A server that does not answer two of these is left. */
const pingEveryMs = 1000
const pingsMax = 2

/** Reads credentials and certificates. Rejects if they cannot be read. */
export async function natsOptions(config: ClusterConfig): Promise<NodeConnectionOptions> {
  const { credentials, ca } = config
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
    // Credentials may be renewed while the node runs.
    ignoreAuthErrorAbort: true,
    ...(authenticator && { authenticator }),
    ...(usesTls(config) && { tls: ca === undefined ? {} : { ca: await readFile(ca, 'utf8') } }),
  }
}

async function authenticatorOf(file: string): Promise<Authenticator> {
  const text = await readFile(file, 'utf8')
  if (text.includes('BEGIN NATS USER JWT')) return credsAuthenticator(Buffer.from(text))
  const [, user, password] = /^([^:\s]+):(\S+)\s*$/.exec(text) ?? []
  if (user !== undefined) return usernamePasswordAuthenticator(user, password)
  throw new Error(
    `NDD_CLUSTER_CREDENTIALS names ${file}, which has neither NATS credentials nor one line USER:PASSWORD`,
  )
}
