// A dense field as of a version of a window. Walks of the live graph find the rows that are still there; the removed ones, which a sweep or
// a reuse may have taken out of the graph, are compared one by one.
import { walkEntriesMax } from '../vector/dense/scratch.ts'
import type { DenseField, DenseHits, DenseSearch } from '../vector/field.ts'
import type { ReadableField } from './readable.ts'
import type { HeldRow, Removed, VersionWindow } from './version-window.ts'

type Scan = Parameters<DenseField['scan']>[1]

export class FieldAt implements ReadableField {
  readonly #live: DenseField
  readonly #index: number
  readonly #window: Pick<VersionWindow, 'track'>
  readonly #removed: () => ReadonlyMap<number, Removed>
  /** The rows of all that were removed. */
  #all: (RemovedRows & { readonly of: unknown }) | undefined

  constructor(
    live: DenseField,
    index: number,
    window: Pick<VersionWindow, 'track'>,
    removed: () => ReadonlyMap<number, Removed>,
  ) {
    this.#live = live
    this.#index = index
    this.#window = window
    this.#removed = removed
  }

  get definition(): DenseField['definition'] {
    return this.#live.definition
  }

  get kernel(): WebAssembly.Module {
    return this.#live.kernel
  }

  async search(query: Float32Array, options: DenseSearch): Promise<DenseHits> {
    const { k, version, allowed } = options
    const { resting, copies } = this.#rows(allowed?.words)
    const walk = this.#window.track(this.#live.search(query, { ...options, mayMissRemoved: true }))
    // They are few, so that handing them to other threads would cost more.
    const others = copies.map((part) => scanCopies(query, { k, version }, part))
    if (resting.length > 0) others.push(this.#live.scanHere(query, { k, version, ordinals: resting }))
    return merge([without(await walk, copies), ...others], k)
  }

  async scan(query: Float32Array, options: Scan): Promise<DenseHits> {
    const { k, version, ordinals, caller } = options
    const { copies } = this.#rows(ordinals && wordsOf(ordinals))
    const isHeld = (ordinal: number) => copies.some((part) => part.places.has(ordinal))
    const rest = ordinals && { ordinals: ordinals.filter((ordinal: number) => !isHeld(ordinal)) }
    const live = this.#window.track(this.#live.scan(query, { k, version, caller, ...rest }))
    const others = copies.map((part) => scanCopies(query, { k, version }, part))
    return merge([without(await live, copies), ...others], k)
  }

  /** The removed rows, of the ordinals of a bitmap if there is one. */
  #rows(words: Uint32Array | undefined): RemovedRows {
    const removed = this.#removed()
    if (this.#all?.of !== removed) this.#all = { of: removed, ...rowsIn(removed, this.#index, undefined) }
    return words ? rowsIn(removed, this.#index, words) : this.#all
  }

  has(ordinal: number, version: number): boolean {
    const held = this.#removed().get(ordinal)?.held
    return held === undefined ? this.#live.has(ordinal, version) : held.rows[this.#index] !== undefined
  }

  row(ordinal: number): Float32Array | undefined {
    const held = this.#removed().get(ordinal)?.held
    if (held === undefined) return this.#live.row(ordinal)
    const row = held.rows[this.#index]
    return row?.rows.row(row.handle)
  }

  norm(ordinal: number): number {
    const row = this.#removed().get(ordinal)?.held?.rows[this.#index]
    return row === undefined ? this.#live.norm(ordinal) : row.rows.norm(row.handle)
  }
}

/** Removed rows: ordinals that still have them, and copies. */
interface RemovedRows {
  readonly resting: Uint32Array
  readonly copies: readonly Copies[]
}

/** Copies in one place, by handle and by ordinal. */
interface Copies {
  readonly rows: HeldRow['rows']
  readonly handles: Uint32Array
  readonly ordinals: ReadonlyMap<number, number>
  readonly places: ReadonlySet<number>
}

function rowsIn(removed: ReadonlyMap<number, Removed>, field: number, words: Uint32Array | undefined): RemovedRows {
  const resting: number[] = []
  const found = new Map<HeldRow['rows'], Map<number, number>>()
  for (const [ordinal, { held }] of removed) {
    if (words !== undefined && !hasBit(words, ordinal)) continue
    if (held === undefined) resting.push(ordinal)
    const row = held?.rows[field]
    if (row === undefined) continue
    const ordinals = found.get(row.rows) ?? new Map<number, number>()
    found.set(row.rows, ordinals.set(row.handle, ordinal))
  }
  const copies = Array.from(found, ([rows, ordinals]) => {
    return { rows, handles: Uint32Array.from(ordinals.keys()), ordinals, places: new Set(ordinals.values()) }
  })
  return { resting: Uint32Array.from(resting), copies }
}

/** The best copies; all that are as similar as the last one, because equal rows are ordered by ordinal. */
function scanCopies(
  query: Float32Array,
  { k, version }: { readonly k: number; readonly version: number },
  { rows, handles, ordinals }: Copies,
): DenseHits {
  for (let most = k + 1; ; most *= 2) {
    const found = rows.scan(query, { k: Math.min(most, walkEntriesMax), version, handles })
    const { similarities } = found
    const isWhole = similarities.length < most || most >= walkEntriesMax
    if (!isWhole && similarities[k - 1] === similarities.at(-1)) continue
    return { ...found, ordinals: found.ordinals.map((handle) => ordinals.get(handle) ?? 0) }
  }
}

/** The hits without those whose row is a copy: the ordinal may have another row meanwhile. */
function without(hits: DenseHits, copies: readonly Copies[]): DenseHits {
  const { ordinals, similarities } = hits
  const isHeld = (ordinal: number) => copies.some(({ places }) => places.has(ordinal))
  if (!ordinals.some(isHeld)) return hits
  const isKept = (_: number, i: number) => !isHeld(ordinals[i] as number)
  return { ...hits, ordinals: ordinals.filter(isKept), similarities: similarities.filter(isKept) }
}

function wordsOf(ordinals: Uint32Array): Uint32Array {
  const end = ordinals.reduce((most, ordinal) => Math.max(most, ordinal + 1), 0)
  const words = new Uint32Array(Math.ceil(end / 32))
  for (const ordinal of ordinals) words[ordinal >>> 5] = (words[ordinal >>> 5] as number) | (1 << (ordinal & 31))
  return words
}

/** Best first; ties by ordinal. An ordinal counts once. */
function merge(parts: readonly DenseHits[], k: number): DenseHits {
  const [only] = parts
  if (only !== undefined && parts.length === 1) return only
  const best = new Map<number, number>()
  for (const { ordinals, similarities } of parts)
    for (const [i, ordinal] of ordinals.entries()) if (!best.has(ordinal)) best.set(ordinal, similarities[i] as number)
  const hits = [...best].sort((a, b) => b[1] - a[1] || a[0] - b[0]).slice(0, k)
  return {
    ordinals: Uint32Array.from(hits, ([ordinal]) => ordinal),
    similarities: Float32Array.from(hits, ([, similarity]) => similarity),
    visited: parts.reduce((sum, part) => sum + part.visited, 0),
    distances: parts.reduce((sum, part) => sum + part.distances, 0),
  }
}

function hasBit(words: Uint32Array, ordinal: number): boolean {
  return (((words[ordinal >>> 5] ?? 0) >>> (ordinal & 31)) & 1) === 1
}
