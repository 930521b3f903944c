// What the rest of the server sees of a cluster. Types only: a server without a cluster loads nothing of it.
import type { Lsn } from '@annal/wal'

/** What a node of a cluster is doing. */
export type NodeRole =
  | 'bootstrapping'
  | 'catching-up'
  | 'follower'
  | 'candidate'
  | 'leader'
  | 'deposed'
  | 'out-of-service'

/** Another node, as the lease or its presence names it. */
export interface NodeAddress {
  readonly node: string
  readonly url: string
}

/** The state of a node. */
export interface ClusterStatus {
  readonly node: string
  /** Of Annal. Earlier versions announce none. */
  readonly version?: string
  readonly role: NodeRole
  /** Of the newest fence that this node has read; 0 before the first. */
  readonly epoch: number
  /** LSNs that are in the log and that this node has not applied, as far as it knows. */
  readonly lag: number
  /**
   * Milliseconds since this node last knew that it had everything that was in the log. 0 while it leads and has heard from
   * the log. Infinity until it first has everything.
   */
  readonly stalenessMs: number
  readonly leader?: NodeAddress & { readonly epoch: number }
  /** The newest LSN at which a part of the state was equal to that of other nodes, and none differed; 0 before the first. */
  readonly digestLsn: number
  /** LSN of the newest snapshot of the cluster that this node knows; 0 before the first. */
  readonly snapshotLsn: number
  /** How often this node failed to make the next snapshot; absent if it did not. */
  readonly snapshotFailures?: number
  /** Changes of the leader that this node has seen since it started. */
  readonly failovers: number
  /** Why the node is out of service or cannot lead. */
  readonly reason?: string
  readonly syncInterval: SyncInterval
}

/**
 * What the monitors say about the NATS servers: `always` if each server syncs each message, `weak` if one does not, `unverified` if one
 * does not answer, or without NDD_CLUSTER_MONITOR_URL.
 */
export type SyncInterval = 'always' | 'unverified' | 'weak'

/** A node that has announced itself. */
export interface KnownNode extends ClusterStatus {
  readonly url: string
  /** Milliseconds since its newest announcement. */
  readonly seenMsAgo: number
}

/** A part of the state after a record: a collection, or the catalog (0). */
export interface StatePart {
  readonly part: number
  /** Of the collection, if this node has it. */
  readonly name?: string
  readonly lsn: number
}

/** The digests that a node has announced, oldest first. */
export interface NodeDigests {
  readonly node: string
  readonly digests: readonly (StatePart & { readonly digest: string })[]
}

/** A node of a cluster, for the routes. */
export interface ClusterView {
  status(): ClusterStatus
  /** The node that takes writes; undefined if this one does, or if none is known. */
  leader(): NodeAddress | undefined
  /**
   * Resolves with the LSN that a strong read has to see, after the log has confirmed that no other node leads. Rejects with
   * not_leader, log_fenced, or outcome_unknown, and with the reason of the signal. Only on the leader.
   */
  confirm(signal: AbortSignal): Promise<Lsn>
  /** The nodes that have announced themselves, with this one, by name. */
  nodes(): readonly KnownNode[]
  /** The digests of every node that has announced some; only those of this node while NATS does not answer. */
  digests(): Promise<readonly NodeDigests[]>
  /**
   * Makes every node hash each collection that is written to; idle ones are hashed anyway. Resolves with the newest record of each
   * part as of the call. Only on the leader.
   */
  requestDigests(): Promise<readonly StatePart[]>
  /** Hands the lead to another node. Resolves when this node follows. */
  stepDown(): Promise<void>
  /**
   * Removes a node from the cluster, until it is admitted again. Rejects with node_live and node_not_found, and if nobody answers.
   */
  removeNode(name: string): Promise<void>
  /** Lets a removed node come back. Rejects with node_not_found, and if nobody answers. */
  admitNode(name: string): Promise<void>
  /** Reads which backups the cluster has. Rejects with shared_store_unavailable. */
  refreshBackups(): Promise<void>
  /** Ends leading, following, and the announcements. The engine is closed separately, before. */
  close(): Promise<void>
}
