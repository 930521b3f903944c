// The private memory of one thread in an arena, but for its marks, which grow; assembly/scratch.ts reads the same words.
import type { Shape } from './shape.ts'

/** Entries a pool can hold: the largest ef, and as many hidden rows as a walk may meet on its way. */
export const poolEntries = 16_384
/** Entries that a walk keeps at most, next to as many hidden rows. Searches have a lower bound of their own, efMax in limits.ts. */
export const walkEntriesMax = poolEntries / 2

/** What the host writes and reads there; it never moves. */
export interface ScratchAddresses {
  readonly descriptor: number
  readonly query: number
  readonly ids: number
  readonly answers: number
  readonly similarities: number
}

export function planScratch(shape: Shape, take: (bytes: number, align?: number) => number) {
  const descriptor = take(64)
  const query = take(shape.lanes * 4)
  const bits = shape.precision === 'binary' ? shape.codeBytes * 8 : 0
  // A rotated vector has a place for each bit of its code.
  const centred = take(Math.max(shape.lanes, bits) * 4)
  const form = Math.max(64, shape.lanes * 2, bits / 2)
  const code = take(form)
  const rest = take(Math.max(64, shape.lanes * 2))
  const row = take(form)
  const chosen = take(shape.linksAtBase * 4)
  // Three words of each row that can be chosen, and its query form.
  const among = take(shape.linksAtBase * (12 + form) + 16)
  const pool = take(poolEntries * 8)
  const ranked = take(poolEntries * 8)
  const ids = take(poolEntries * 4)
  const keys = take(poolEntries * 4)
  const answers = take(poolEntries * 4)
  const similarities = take(poolEntries * 4)
  // In the order assembly/scratch.ts reads them; the first is written when marks are placed.
  const words = [0, among, pool, poolEntries, ids, keys, query, centred, code, rest, row, chosen, ranked, answers]
  return { descriptor, query, ids, answers, similarities, words: [...words, similarities] }
}
