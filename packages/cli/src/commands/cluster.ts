// `annal cluster status` and `step-down`: the status of a cluster as one of its nodes knows it, and handing the lead to another node.
import { refusal } from '../connection.ts'
import { CommandEnd, exitCode } from '../exit-code.ts'
import { secretOf } from '../secrets.ts'
import { aligned } from '../table.ts'
import type { Terminal } from '../terminal.ts'

export interface ClusterOptions {
  readonly server: string
  readonly tokenFile?: string
  readonly json?: boolean
}

/** What the commands use of a node in the reply of /api/v2/cluster. */
export interface NodeStatus {
  readonly node: string
  readonly role: string
  /** Earlier versions name none. */
  readonly version?: string
  readonly epoch: number
  readonly lag: number
  /** The newest record at which the node's data was equal to that of others; 0 before the first comparison. */
  readonly digest_lsn: number
  /** Absent until the node first has everything. */
  readonly staleness_ms?: number
  readonly reason?: string
  readonly url: string
  readonly seen_ms_ago: number
}

/** The reply of /api/v2/cluster. */
export interface Cluster extends Omit<NodeStatus, 'url' | 'seen_ms_ago'> {
  readonly leader?: { readonly node: string; readonly url: string }
  readonly sync_interval: string
  readonly nodes: readonly NodeStatus[]
}

/** A node announces itself every 3 s or more often. One that has been silent for this long may be gone, and its row is old. */
export const silentMs = 15_000

/** Ends with `attention` if no node leads, or if one has left service or is silent. */
export async function clusterStatus(options: ClusterOptions, terminal: Terminal): Promise<number> {
  const cluster = await call<Cluster>('GET', '/api/v2/cluster', options)
  const { nodes, leader, sync_interval: sync } = cluster
  const leaves = nodes.filter(({ role }) => role === 'out-of-service')
  const hasLeader = leader !== undefined || cluster.role === 'leader'
  const isSilent = ({ node, seen_ms_ago: seen }: NodeStatus) => node !== cluster.node && seen > silentMs
  const silent = nodes.filter(isSilent)
  const code = hasLeader && leaves.length + silent.length === 0 ? exitCode.good : exitCode.attention
  if (options.json) {
    terminal.line(JSON.stringify(cluster))
    return code
  }
  const rows = nodes.map((known) => rowOf(known, { isHere: known.node === cluster.node, isSilent: isSilent(known) }))
  const head = ['node', 'role', 'version', 'epoch', 'lag', 'digest LSN', 'staleness', 'seen', 'url']
  for (const line of aligned([head, ...rows])) terminal.line(line)
  for (const { node, reason } of nodes) if (reason !== undefined) terminal.line(`${node}: ${reason}`)
  for (const { node, seen_ms_ago: seen } of silent)
    terminal.line(
      `${node} has been silent for ${secondsText(seen)}: \`annal cluster remove ${node}\` if it does not come back`,
    )
  if (!hasLeader) terminal.line('no node leads: writes are rejected')
  if (sync === 'weak') terminal.line('a NATS server does not sync each message: the health of a node names it')
  if (sync === 'unverified')
    terminal.line(
      'it is not verified that NATS syncs each message: NDD_CLUSTER_MONITOR_URL is not set, or a monitor does not answer',
    )
  return code
}

export async function clusterStepDown(options: ClusterOptions, terminal: Terminal): Promise<number> {
  const cluster = await call<Cluster>('POST', '/api/v2/cluster/step-down', options)
  if (options.json) terminal.line(JSON.stringify(cluster))
  else terminal.line(`${cluster.node} no longer leads${cluster.leader ? `; ${cluster.leader.node} does` : ''}`)
  return exitCode.good
}

/** Sends a request to the node. Throws CommandEnd if it is refused, or if nobody replies. */
export async function call<T>(method: string, path: string, { server, tokenFile }: ClusterOptions): Promise<T> {
  const token = secretOf('--token-file', tokenFile, 'ANNAL_TOKEN')
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  let reply: Response
  let body: unknown
  try {
    // A redirect could send the token to another server.
    reply = await fetch(`${server.replace(/\/+$/, '')}${path}`, { method, headers, redirect: 'error' })
    body = JSON.parse(await reply.text())
  } catch (error) {
    const { cause } = error as { readonly cause?: { readonly code?: string; readonly message?: string } }
    const reason =
      error instanceof SyntaxError ? 'its reply is not that of Annal' : (cause?.code ?? cause?.message ?? 'no reply')
    throw new CommandEnd(exitCode.unavailable, `${server} did not answer: ${reason}`)
  }
  if (reply.ok) return body as T
  const { error = `status ${reply.status}`, code = 'http_error' } = body as { error?: string; code?: string }
  throw refusal({ code, message: error })
}

/** What a silent node announced is old: nobody knows what it does now. */
function rowOf(known: NodeStatus, { isHere, isSilent }: { readonly isHere: boolean; readonly isSilent: boolean }) {
  const { node, role, version = '-', epoch, lag, digest_lsn: digest, staleness_ms: staleness } = known
  return [
    ...[isHere ? `${node} *` : node, isSilent ? `silent, was ${role}` : role, version],
    ...[String(epoch), String(lag), String(digest)],
    ...[staleness === undefined ? '-' : secondsText(staleness), secondsText(known.seen_ms_ago), known.url],
  ]
}

function secondsText(ms: number): string {
  return ms < 1_000 ? `${ms} ms` : `${(ms / 1_000).toFixed(1)} s`
}
