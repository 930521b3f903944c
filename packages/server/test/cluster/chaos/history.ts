// What clients did in one scenario, and what must be true of it. Every value that is written is unique, so a value names its write.
import { isLinearizable, type Operation } from '../../kill-loop-register.ts'

/** A write, as its client knows it. */
export interface Write {
  readonly key: string
  readonly value: string
  readonly calledAt: number
  /** Infinity if nobody acknowledged it. */
  answeredAt: number
  /** Of the acknowledgement. */
  lsn: number | undefined
  /** False if every attempt was refused before anything was written. */
  isPossible: boolean
}

/** A read that named the LSN of a write. */
export interface ReadAfterWrite {
  readonly key: string
  readonly node: string
  readonly minLsn: number
  readonly value: string | undefined
}

/** A strong read. */
export interface StrongRead {
  readonly key: string
  readonly value: string | undefined
  readonly calledAt: number
  readonly answeredAt: number
}

/** What clients did and saw. */
export class History {
  readonly writes: Write[] = []
  readonly readsAfterWrite: ReadAfterWrite[] = []
  readonly strongReads: StrongRead[] = []
  /** Replies that no client may get. */
  readonly wrong: string[] = []
  plainReads = 0

  get acknowledged(): readonly Write[] {
    return this.writes.filter(({ lsn }) => lsn !== undefined)
  }
}

/** Where each value is in the log: the LSNs of the records that have it. */
export type Placed = ReadonlyMap<string, readonly number[]>

/** Returns what is wrong with a history, given the log after it. */
export function faultsIn(history: History, placed: Placed): string[] {
  return [...history.wrong, ...lostOrTwice(history, placed), ...missedWrites(history, placed), ...notLinear(history)]
}

function lostOrTwice({ writes }: History, placed: Placed): string[] {
  return writes.flatMap(({ value, lsn, isPossible }) => {
    const there = placed.get(value) ?? []
    if (there.length > 1) return [`${value} is in the log ${there.length} times: LSN ${there.join(', ')}`]
    if (lsn === undefined) return there.length === 1 && !isPossible ? [`${value} was refused, and is in the log`] : []
    if (there.length === 0) return [`${value} was acknowledged with LSN ${lsn}, and is not in the log`]
    return (there[0] ?? 0) <= lsn ? [] : [`${value} was acknowledged with LSN ${lsn}, and has LSN ${there[0]}`]
  })
}

/** A read with `min_lsn` sees the newest value of its key up to that LSN, or a later one. */
function missedWrites({ writes, readsAfterWrite }: History, placed: Placed): string[] {
  const lsnOf = (value: string | undefined) => (value === undefined ? 0 : (placed.get(value)?.[0] ?? 0))
  const byKey = Map.groupBy(writes, ({ key }) => key)
  return readsAfterWrite.flatMap(({ key, node, minLsn, value }) => {
    const before = (byKey.get(key) ?? []).map((write) => lsnOf(write.value)).filter((lsn) => lsn <= minLsn)
    const least = Math.max(0, ...before)
    if (lsnOf(value) >= least) return []
    return [`${node} returned ${value} for ${key} with min_lsn ${minLsn}; LSN ${least} is newer`]
  })
}

function notLinear({ writes, strongReads }: History): string[] {
  const keys = new Set(strongReads.map(({ key }) => key))
  return [...keys].flatMap((key) => {
    const operations: Operation[] = [
      ...writes
        .filter((write) => write.key === key && write.isPossible)
        .map(({ value, calledAt, answeredAt }) => ({ kind: 'write' as const, value, calledAt, answeredAt })),
      ...strongReads.filter((read) => read.key === key).map((read) => ({ kind: 'read' as const, ...read })),
    ]
    return isLinearizable(operations) ? [] : [`${key} is not linearizable: ${JSON.stringify(operations)}`]
  })
}
