// The searches of a dense field: each queries all segments, through the pool or in the calling thread, and merges the results.
import { assert } from '../../errors.ts'
import { elementAt } from '../element-at.ts'
import type { DenseField, DenseHits, DenseSearch } from '../field.ts'
import { InFlight } from '../in-flight.ts'
import { answerIn, type Found, type GraphQuery, listedMax, type WorkerPool } from '../pool.ts'
import type { Bitmap } from './arena.ts'
import { graphQuery } from './graph-query.ts'
import { mergeHits } from './merge-hits.ts'
import { bySegment } from './rows-by-segment.ts'
import { walkEntriesMax } from './scratch.ts'
import type { Segment } from './segment.ts'

interface ScanPart {
  readonly segment: number
  readonly listed: Uint32Array | undefined
  readonly from: number
  readonly to: number
}

/** Rows of one piece of a scan of all rows. */
const scanRows = 32_768

/** The field whose rows are searched. Its segments grow in number. */
interface Searched {
  readonly segments: readonly Segment[]
  readonly segmentRows: number
  readonly pool: WorkerPool
  readonly dimension: number
  /** Throws if the field cannot be searched any more. */
  refuseWhenClosed(): void
}

export class FieldSearches {
  readonly #field: Searched
  readonly #running = new InFlight<Promise<unknown>>()
  /** Walks as of earlier versions miss rows that were removed from the graph. */
  sweptVersion = 0

  constructor(field: Searched) {
    this.#field = field
  }

  /** Resolves when the searches that run now have ended. */
  async settled(): Promise<void> {
    await Promise.allSettled([...this.#running])
  }

  async search(query: Float32Array, options: DenseSearch): Promise<DenseHits> {
    this.#check(query, options.k)
    const [only] = this.#field.segments
    if (only !== undefined && this.#field.segments.length === 1)
      return await this.#whileRunning(this.#searchSegment(only, 0, query, options))
    return this.#mergeHits(
      this.#field.segments.map((segment, i) => ({
        segment: i,
        found: this.#searchSegment(segment, i, query, options),
      })),
      options.k,
    )
  }

  #searchSegment(segment: Segment, i: number, query: Float32Array, options: DenseSearch): Promise<Found> {
    const { arena } = segment
    const { allowed } = options
    const lent = allowed === undefined ? undefined : arena.lendBitmap(this.#allowedIn(i, allowed.words))
    const found = this.#field.pool.submit(this.#queryOf(segment, query, options, lent))
    if (lent === undefined) return found
    return found.finally(() => arena.returnBitmap(lent))
  }

  searchSync(query: Float32Array, options: DenseSearch): DenseHits {
    this.#check(query, options.k)
    const [only] = this.#field.segments
    if (only !== undefined && this.#field.segments.length === 1) return this.#searchHere(only, 0, query, options)
    const found = this.#field.segments.map((segment, i) => ({
      segment: i,
      ...this.#searchHere(segment, i, query, options),
    }))
    return mergeHits(found, options.k, this.#field.segmentRows)
  }

  #searchHere(segment: Segment, i: number, query: Float32Array, options: DenseSearch): Found {
    const { arena } = segment
    const { allowed } = options
    const lent = allowed === undefined ? undefined : arena.lendBitmap(this.#allowedIn(i, allowed.words))
    const found = answerIn(arena.attached, this.#queryOf(segment, query, options, lent))
    if (lent !== undefined) arena.returnBitmap(lent)
    return found
  }

  #queryOf(segment: Segment, query: Float32Array, options: DenseSearch, lent: Bitmap | undefined): GraphQuery {
    const { arena, rows } = segment
    const misses = !options.mayMissRemoved && options.version < this.sweptVersion
    const isCutOff = segment.isCutOff || misses
    return graphQuery({ memory: arena.id, rows, isCutOff }, query, options, lent)
  }

  /** The part of the bitmap for the segment, starting at its first ordinal. */
  #allowedIn(segment: number, words: Uint32Array): Uint32Array {
    return segment === 0 ? words : words.subarray(Math.min(words.length, (segment * this.#field.segmentRows) / 32))
  }

  async scan(query: Float32Array, options: Parameters<DenseField['scan']>[1]): Promise<DenseHits> {
    const { k, version, ordinals, caller } = options
    this.#check(query, k)
    const parts = ordinals === undefined ? this.#rangesOf() : this.#listsOf(ordinals, listedMax(this.#field.dimension))
    const found = parts.map(({ segment, listed, from, to }) => ({
      segment,
      found: this.#field.pool.submit({
        kind: 'scan',
        memory: elementAt(this.#field.segments, segment).arena.id,
        query,
        k,
        version,
        listed,
        from,
        to,
        caller,
      }),
    }))
    return this.#mergeHits(found, k)
  }

  scanHere(
    query: Float32Array,
    options: { readonly k: number; readonly version: number; readonly ordinals: Uint32Array },
  ): DenseHits {
    const { k, version, ordinals } = options
    this.#check(query, k)
    const found = this.#listsOf(ordinals, ordinals.length).map(({ segment, ...part }) => {
      const { arena } = elementAt(this.#field.segments, segment)
      return { segment, ...answerIn(arena.attached, { kind: 'scan', memory: arena.id, query, k, version, ...part }) }
    })
    return mergeHits(found, k, this.#field.segmentRows)
  }

  /** All rows, in pieces that several workers share and that take little time each. */
  #rangesOf(): ScanPart[] {
    return this.#field.segments.flatMap(({ end }, segment) =>
      Array.from({ length: Math.ceil(end / scanRows) }, (_, i) => ({
        segment,
        listed: undefined,
        from: i * scanRows,
        to: Math.min(end, (i + 1) * scanRows),
      })),
    )
  }

  #listsOf(ordinals: Uint32Array, most: number): ScanPart[] {
    const dealt = bySegment(ordinals, this.#field.segmentRows)
    return [...dealt].flatMap(([segment, indices]) => {
      if (this.#field.segments[segment] === undefined) return []
      const listed = Uint32Array.from(
        indices,
        (index) => elementAt(ordinals, index) - segment * this.#field.segmentRows,
      )
      return Array.from({ length: Math.ceil(listed.length / most) }, (_, i) => ({
        segment,
        listed: listed.subarray(i * most, (i + 1) * most),
        from: 0,
        to: 0,
      }))
    })
  }

  async #mergeHits(parts: readonly { segment: number; found: Promise<Found> }[], k: number): Promise<DenseHits> {
    const all = Promise.all(parts.map(async ({ segment, found }) => ({ segment, ...(await found) })))
    return mergeHits(await this.#whileRunning(all), k, this.#field.segmentRows)
  }

  #check(query: Float32Array, k: number): void {
    this.#field.refuseWhenClosed()
    assert(query.length === this.#field.dimension, 'a query has the dimension of its field')
    assert(k >= 1 && k <= walkEntriesMax, `k is 1 to ${walkEntriesMax}`)
  }

  async #whileRunning<T>(walk: Promise<T>): Promise<T> {
    const place = this.#running.add(walk)
    try {
      return await walk
    } finally {
      this.#running.remove(place)
    }
  }
}
