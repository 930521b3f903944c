// The cluster as the node that this page came from knows it, and handing the lead to another node.
import { type CallOptions, call } from './request.ts'

export type NodeRole =
  | 'bootstrapping'
  | 'catching-up'
  | 'follower'
  | 'candidate'
  | 'leader'
  | 'deposed'
  | 'out-of-service'

export interface NodeStatus {
  readonly node: string
  readonly role: NodeRole
  /** Of Annal. Earlier versions name none. */
  readonly version?: string
  readonly epoch: number
  /** Records in the log that the node has not applied. */
  readonly lag: number
  /** The newest record at which the node's data was equal to that of others; 0 before the first comparison. */
  readonly digest_lsn: number
  /** Absent until the node first has everything. */
  readonly staleness_ms?: number
  /** Absent while the node knows no leader. A node that takes the lead can be its own leader here before it leads. */
  readonly leader?: { readonly node: string; readonly url: string; readonly epoch: number }
  /** Changes of the leader that the node has seen since it started. */
  readonly failovers: number
  readonly reason?: string
  /** What the monitors of NATS say: `weak` if a server does not sync each message, `unverified` if not every one answers. */
  readonly sync_interval: 'always' | 'unverified' | 'weak'
}

export interface KnownNode extends NodeStatus {
  readonly url: string
  readonly seen_ms_ago: number
}

export interface Cluster extends NodeStatus {
  readonly nodes: readonly KnownNode[]
}

export const cluster = (options?: CallOptions) =>
  call<Cluster>('GET', '/api/v2/cluster', { scope: 'control', ...options })

/** Resolves when the node follows. */
export const stepDown = () => call<Cluster>('POST', '/api/v2/cluster/step-down', { scope: 'control' })
