// The number of live rows of a text field, and the total of their lengths, as of a version: for searches of the newest version and of the one that
// is being applied, in any thread. Two groups of words, which change like the pairs of row-counts.ts. They are at a fixed place of the field's memory,
// before everything else.
//
//   | version u32 | rows u32 | length, low u32 | length, high u32 | the same of another version |
import { assert } from '../../errors.ts'
import { elementAt } from '../element-at.ts'
import type { FieldTotals } from '../field.ts'

type Words = Uint32Array<SharedArrayBuffer>

/** Below the data of the kernel, which begins at 1,024. */
const totalsAddress = 512
const groups = [totalsAddress / 4, totalsAddress / 4 + 4] as const
/** No group. No version is as large. */
const none = 0xffffffff
/** See row-counts.ts. */
const attemptsMax = 4

/** Begins the totals. Nobody reads them yet. */
export function startTotals(words: Words, version: number, totals: FieldTotals): void {
  words[groups[1]] = none
  write(words, groups[0], totals)
  words[groups[0]] = version
}

/** The totals from `version` on, which must not be earlier than the newest. */
export function storeTotals(words: Words, version: number, totals: FieldTotals): void {
  const newest = newestGroup(words)
  assert(elementAt(words, newest) <= version, 'totals are counted by events in order')
  if (words[newest] === version) {
    // No search sees the version yet.
    write(words, newest, totals)
    return
  }
  const group = newest === groups[0] ? groups[1] : groups[0]
  Atomics.store(words, group, none)
  write(words, group, totals)
  Atomics.store(words, group, version)
}

/** Undefined: the version is too old, or the words changed all the time. */
export function totalsAsOf(words: Words, version: number): FieldTotals | undefined {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const versions = groups.map((group) => Atomics.load(words, group))
    const totals = groups.map((group) => read(words, group))
    // The versions of a group only grow. If both are the same, all words belong together.
    if (groups.some((group, i) => Atomics.load(words, group) !== versions[i])) continue
    const [first, second] = [elementAt(versions, 0), elementAt(versions, 1)]
    if (first <= version && (second > version || first > second)) return totals[0]
    return second <= version ? totals[1] : undefined
  }
  return undefined
}

function write(words: Words, group: number, { rows, length }: FieldTotals): void {
  Atomics.store(words, group + 1, rows)
  Atomics.store(words, group + 2, length >>> 0)
  Atomics.store(words, group + 3, Math.floor(length / 2 ** 32))
}

function read(words: Words, group: number): FieldTotals {
  const rows = Atomics.load(words, group + 1)
  return { rows, length: Atomics.load(words, group + 2) + Atomics.load(words, group + 3) * 2 ** 32 }
}

function newestGroup(words: Words): number {
  const [first, second] = [elementAt(words, groups[0]), elementAt(words, groups[1])]
  if (first === none) return groups[1]
  return second === none || first > second ? groups[0] : groups[1]
}
