// Plans the private memory of one thread in an arena, except for its visited marks, which grow; assembly/scratch.ts reads the same words.
import { headComponents, rotatedLength, type Shape } from './shape.ts'

/** Maximum number of entries of a pool: the largest ef, and hidden rows that a walk may meet. */
const poolEntries = 16_384
/**
 * Maximum number of visible entries of a walk; the same number of hidden rows fits next to them. Searches have a lower limit, efMax in
 * limits.ts.
 */
export const walkEntriesMax = poolEntries / 2

/** Bytes of zeros before the pool. */
const poolGuard = 64

/** Addresses that the host writes and reads; they never change. */
export interface ScratchAddresses {
  readonly descriptor: number
  readonly query: number
  readonly ids: number
  readonly keys: number
  readonly headValues: number
  readonly answers: number
  readonly similarities: number
}

export function planScratch(shape: Shape, take: (bytes: number, align?: number) => number) {
  const descriptor = take(128)
  const query = take(shape.lanes * 4)
  const components = rotatedLength(shape)
  const centered = take(Math.max(shape.lanes, components) * 4)
  // Two bytes per component.
  const form = Math.max(64, shape.lanes * 2, components * 2)
  const code = take(form)
  const residual = take(Math.max(64, shape.lanes * 2))
  const row = take(form)
  const chosen = take(shape.linksAtBase * 4)
  // Three words for each selected neighbor, and its query form.
  const selected = take(shape.linksAtBase * (12 + form) + 16)
  // Zeros before the pool end the search for the place of an entry.
  const pool = take(poolGuard + poolEntries * 8) + poolGuard
  const ranked = take(poolEntries * 8)
  const ids = take(poolEntries * 4)
  const keys = take(poolEntries * 4)
  const answers = take(poolEntries * 4)
  const similarities = take(poolEntries * 4)
  // A component for each of a head, and a query form of them.
  const headValues = take(headComponents * 4)
  const headForm = take(headComponents * 2)
  // In the order in which assembly/scratch.ts reads them; the first is written when marks are placed.
  const words = [
    0,
    selected,
    pool,
    poolEntries,
    ids,
    keys,
    query,
    centered,
    code,
    residual,
    row,
    chosen,
    ranked,
    answers,
    similarities,
    // The pulse.
    0,
    headValues,
    headForm,
  ]
  return { descriptor, query, ids, keys, headValues, answers, similarities, words }
}
