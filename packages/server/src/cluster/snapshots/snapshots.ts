// Keeps the log in NATS from growing forever: a node makes snapshots, notes which part of the log it needs, and trims the log if it leads.
// Which node makes the next snapshot follows from what all nodes know. If two nodes make one, only one is listed.
import type { ReplicatedEngine } from '@annal/engine/replicated'
import type { Lsn } from '@annal/wal'
import { type ReplicatedLog, trimUpTo } from '@annal/wal/replicated'
import { NewestAge } from '../../newest-age.ts'
import type { KnownNode } from '../cluster-view.ts'
import { isLive } from '../presence.ts'
import { NodeRemovedError, type Roster, type RosterEntry } from './roster.ts'
import { expiredAt, type SnapshotIndex, type SnapshotList, withoutSnapshots } from './snapshot-index.ts'
import { SnapshotWriter, type SnapshotWriterParts } from './snapshot-writer.ts'

/** What this works with. */
export interface SnapshotsParts extends Omit<SnapshotWriterParts, 'engine' | 'checkWanted'> {
  readonly engine: ReplicatedEngine
  readonly log: ReplicatedLog
  readonly index: SnapshotIndex
  readonly roster: Roster
  /** A snapshot is due after so many bytes of the log. 0: after every change. */
  readonly snapshotLogBytes: number
  /** The nodes that have announced themselves, with this one. */
  readonly nodes: () => readonly KnownNode[]
  readonly leaseMs: number
  readonly retryMs?: number
  /** Aborted when the node is closed. */
  readonly closing: AbortSignal
  readonly onNotice?: ((sentence: string) => void) | undefined
}

/** Without a snapshot, the first is due after this much of the log. */
const firstBytes = 1 << 20
/** A snapshot is not worth more of the log than this share of its size. */
const sizeShare = 1 / 4
const ageMsMax = 24 * 3_600_000
/** After a failure, this long passes until the next attempt, in milliseconds. */
const retryMsUsual = 30_000
/** A node that failed so often to make a snapshot leaves it to another one. */
export const failuresMax = 3

/** The snapshots of a cluster, as one of its nodes sees them. */
export class Snapshots {
  readonly #parts: SnapshotsParts
  readonly #writer: SnapshotWriter
  readonly #age = new NewestAge()
  /** Bytes of the log that this node had passed when the newest snapshot was made. */
  #bytesAtNewest = 0
  #newest: string | undefined
  #trimmedUpTo = 0
  #failure: string | undefined
  /** Failed attempts since the newest snapshot was made. */
  #failures = 0
  #failedAtMs = Number.NEGATIVE_INFINITY
  #list: SnapshotList = { snapshots: [], marks: [] }

  constructor(parts: SnapshotsParts) {
    this.#parts = parts
    this.#writer = new SnapshotWriter({ ...parts, checkWanted: () => parts.closing.throwIfAborted() })
  }

  /** LSN of the newest complete snapshot; 0 before the first. */
  get lsnNewest(): number {
    return this.#list.snapshots.at(-1)?.lsn ?? 0
  }

  /** How often this node failed to make the next snapshot. */
  get failures(): number {
    return this.#failures
  }

  /** Bytes that this node has stored for snapshots since it started. */
  get bytesPut(): number {
    return this.#writer.bytesPut
  }

  /** Why no snapshot can be made, in sentences. */
  faults(): readonly string[] {
    return this.#failure === undefined ? [] : [`no snapshot could be made, so the log is not trimmed: ${this.#failure}`]
  }

  /**
   * Does what is due. Rejects with NodeRemovedError if this node was removed from the cluster. Does nothing if nobody answers.
   */
  async look(): Promise<void> {
    const { index, roster } = this.#parts
    let all: readonly RosterEntry[]
    try {
      this.#list = await index.read()
      await this.#note(this.#list)
      all = await roster.list()
    } catch (error) {
      if (error instanceof NodeRemovedError) throw error
      return
    }
    try {
      await this.#put(all)
      await this.#trim(all)
      if (this.#failures === 0) this.#failure = undefined
    } catch (error) {
      this.#fail(error as Error)
    }
  }

  /** This node's data differs from that of the others: its snapshots after the last record at which it was equal are not used. */
  async distrust(lsnEqual: number): Promise<void> {
    const { index, node } = this.#parts
    await index.change((list) => withoutSnapshots(list, (each) => each.node === node && each.lsnReached > lsnEqual))
  }

  /** A node whose checkpoint is before what could be trimmed takes one. */
  async #note(list: SnapshotList): Promise<void> {
    const { engine, roster } = this.#parts
    const upTo = trimUpTo({ snapshots: lsnsOf(list), checkpoints: [], expired: 0 })
    const isBehind = engine.stats().lsnCheckpoint < upTo && engine.lsnApplied >= upTo
    if (isBehind) await engine.checkpoint().catch(() => undefined)
    await roster.note({ checkpoint: engine.stats().lsnCheckpoint })
  }

  async #put(all: readonly RosterEntry[]): Promise<void> {
    const removed = all.filter(({ isRemoved }) => isRemoved).map(({ node }) => node)
    const newest = this.#list.snapshots.at(-1)
    if (newest?.name !== this.#newest) {
      this.#newest = newest?.name
      this.#age.renew()
      this.#bytesAtNewest = this.#parts.log.bytesPassed
      this.#failures = 0
    }
    if (this.#isTurn() && this.#isDue()) {
      const loading = new Set(all.flatMap((entry) => entry.loading ?? []))
      try {
        this.#list = await this.#writer.put(this.#list, loading)
      } catch (error) {
        this.#failures++
        throw error
      }
      this.#failures = 0
    }
    await this.#writer.collect(this.#list, removed)
  }

  /**
   * The node that made the newest snapshot stores the least. If it is away or keeps failing, the first follower by name does it, and
   * otherwise the leader.
   */
  #isTurn(): boolean {
    const { node, nodes, leaseMs, retryMs = retryMsUsual } = this.#parts
    if (performance.now() - this.#failedAtMs < retryMs) return false
    const serving = nodes().filter(
      (each) => isLive(each, leaseMs) && (each.role === 'follower' || each.role === 'leader'),
    )
    const able = serving.filter(({ snapshotFailures = 0 }) => snapshotFailures < failuresMax)
    // If every node fails, all of them keep trying in the usual order.
    const eligible = able.length > 0 ? able : serving
    const maker = this.#list.snapshots.at(-1)?.node
    const chosen =
      eligible.find((each) => each.node === maker) ?? eligible.find(({ role }) => role === 'follower') ?? eligible[0]
    return chosen?.node === node
  }

  #isDue(): boolean {
    const { engine, log, snapshotLogBytes } = this.#parts
    const newest = this.#list.snapshots.at(-1)
    if (engine.lsnApplied <= (newest?.lsn ?? 0)) return false
    // Without a snapshot, a node cannot begin with a log whose first records are gone.
    if (newest === undefined && (log.state().lsnFirst > 1 || this.#list.marks.length > 0)) return true
    if (this.#age.ageMs(newest?.timeMs) > ageMsMax) return true
    const bytes = log.bytesPassed - this.#bytesAtNewest
    if (newest === undefined) return bytes >= Math.min(firstBytes, snapshotLogBytes)
    return snapshotLogBytes === 0 || bytes >= Math.max(snapshotLogBytes, newest.bytes * sizeShare)
  }

  async #trim(all: readonly RosterEntry[]): Promise<void> {
    const { log, retentionMs } = this.#parts
    if (log.leads === undefined) return
    const checkpoints = all.filter(({ isRemoved }) => !isRemoved).map(({ checkpoint }) => checkpoint)
    const expired = expiredAt(this.#list, Date.now(), retentionMs)
    const upTo = trimUpTo({ snapshots: lsnsOf(this.#list), checkpoints, expired })
    if (upTo <= this.#trimmedUpTo) return
    await log.truncateBefore((upTo + 1) as Lsn)
    this.#trimmedUpTo = upTo
  }

  #fail({ message }: Error): void {
    if (this.#parts.closing.aborted) return
    this.#failedAtMs = performance.now()
    if (this.#failure !== message) this.#parts.onNotice?.(`no snapshot could be made: ${message}`)
    this.#failure = message
  }
}

function lsnsOf({ snapshots }: SnapshotList): number[] {
  return snapshots.map(({ lsn }) => lsn)
}
