// The snapshots of a cluster: a list in the control bucket, changed with compare-and-set. A snapshot is in it when all its files are in the
// shared store and were read back. Its files are a file set in the folder of the node that made it.
import type { ControlBucket } from '../control-bucket.ts'

/** A snapshot: a checkpoint of one node. */
export interface Snapshot {
  /** Everything up to this record is in it: a node that begins with it needs the log from there on. */
  readonly lsn: number
  /** The newest record that any part of it reflects. */
  readonly lsnReached: number
  readonly node: string
  /** Name of the checkpoint, and of the set of its files. */
  readonly name: string
  readonly bytes: number
  /** When it was complete, in milliseconds since 1970. */
  readonly timeMs: number
}

/** A time at which a snapshot was complete. Outlives the snapshot. */
export interface SnapshotMark {
  readonly lsn: number
  readonly timeMs: number
}

/** All snapshots, oldest first. */
export interface SnapshotList {
  readonly snapshots: readonly Snapshot[]
  readonly marks: readonly SnapshotMark[]
}

const key = 'snapshots'
const attemptsMax = 10
/** Marks of one retention. */
const marksMax = 64

/** The list of one cluster. */
export class SnapshotIndex {
  readonly #bucket: ControlBucket

  constructor(bucket: ControlBucket) {
    this.#bucket = bucket
  }

  /** Rejects if nobody answers. */
  async read(): Promise<SnapshotList> {
    return (await this.#found()).list
  }

  /** Replaces the list; `change` may be called several times. Resolves with the list that is there afterwards. Rejects if nobody answers. */
  async change(change: (list: SnapshotList) => SnapshotList): Promise<SnapshotList> {
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      const { list, revision } = await this.#found()
      const changed = change(list)
      if (changed === list) return list
      const outcome = await this.#bucket.put(key, changed, { expected: revision })
      if (typeof outcome === 'number') return changed
    }
    throw new Error('the list of snapshots could not be changed')
  }

  async #found(): Promise<{ readonly list: SnapshotList; readonly revision: number }> {
    const found = await this.#bucket.get(key)
    const list = (found?.value as SnapshotList | undefined) ?? { snapshots: [], marks: [] }
    return { list, revision: found?.revision ?? 0 }
  }
}

/** Adds a snapshot that is newer than all others, and gives up the oldest beyond `keep`, unless a node loads it. */
export function withSnapshot(
  list: SnapshotList,
  snapshot: Snapshot,
  {
    keep,
    loading,
    retentionMs,
  }: { readonly keep: number; readonly loading: ReadonlySet<string>; readonly retentionMs: number },
): SnapshotList {
  const newest = list.snapshots.at(-1)
  if (newest !== undefined && newest.lsn >= snapshot.lsn) return list
  const all = [...list.snapshots, snapshot]
  const snapshots = all.filter(({ name }, i) => i >= all.length - keep || loading.has(name))
  return { snapshots, marks: withMark(list.marks, snapshot, retentionMs) }
}

/** Removes snapshots, because they cannot be loaded or their node is not trusted. */
export function withoutSnapshots(list: SnapshotList, isWrong: (snapshot: Snapshot) => boolean): SnapshotList {
  const snapshots = list.snapshots.filter((snapshot) => !isWrong(snapshot))
  return snapshots.length === list.snapshots.length ? list : { ...list, snapshots }
}

/** LSN of the newest snapshot that is older than the retention; 0 if there is none. */
export function expiredAt({ marks }: SnapshotList, nowMs: number, retentionMs: number): number {
  return marks.findLast(({ timeMs }) => nowMs - timeMs > retentionMs)?.lsn ?? 0
}

/** Of the marks beyond the retention, only the newest counts. Within it, marks are at least a part of it apart. */
function withMark(
  marks: readonly SnapshotMark[],
  { lsn, timeMs }: SnapshotMark,
  retentionMs: number,
): readonly SnapshotMark[] {
  // A mark that is later was made by a clock that was ahead: it would keep others from being made.
  const earlier = marks.filter((mark) => mark.timeMs <= timeMs)
  const newest = earlier.at(-1)
  const isClose = newest !== undefined && timeMs - newest.timeMs < retentionMs / marksMax
  const all = isClose ? earlier : [...earlier, { lsn, timeMs }]
  const firstNeeded = all.findLastIndex((mark) => timeMs - mark.timeMs > retentionMs)
  return all.slice(Math.max(0, firstNeeded))
}
