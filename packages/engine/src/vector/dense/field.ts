// A dense field: rows by ordinal, searched by graph or by scan, changed one event at a time. Ordinals are assigned to segments by range,
// with one arena each, so that a field may exceed the size of one WebAssembly memory. A search queries all segments and merges the results.

import { freeBuffer, runToEnd } from '@annal/wal'
import { assert, EngineError } from '../../errors.ts'
import type { ByteSource } from '../../memory/sections.ts'
import type { DenseFieldSchema } from '../../model/schema.ts'
import { elementAt } from '../element-at.ts'
import type {
  DenseField,
  DenseHits,
  DenseRows,
  DenseSearch,
  EarlierCut,
  FieldCut,
  FieldSegment,
  Ordinal,
  OtherWalks,
  PreparedCut,
} from '../field.ts'
import { InFlight } from '../in-flight.ts'
import { answerIn, type Found, type GraphQuery, listedMax, type WorkerPool } from '../pool.ts'
import type { Bitmap } from './arena.ts'
import type { ArenaChanges } from './arena-changes.ts'
import { LinksAhead } from './arena-cut.ts'
import { DeltaAhead, deltaBytes, deltaHead } from './arena-delta.ts'
import { dumpField, type FieldSources, hashInSteps, loadSegments, type SegmentState } from './arena-file.ts'
import { graphQuery } from './graph-query.ts'
import { mergeHits } from './merge-hits.ts'
import { walkEntriesMax } from './scratch.ts'
import { type Batch, Segment } from './segment.ts'
import { type ShapeOptions, shapeOf } from './shape.ts'
import { VectorRows } from './vector-rows.ts'

export interface DenseFieldOptions {
  /** Ordinals of one segment; by default as many as one memory holds. A replay must use the same number. */
  readonly segmentRows?: number
  /** Ordinals of a segment from which on its rows have heads (shape.ts). A replay must use the same number. */
  readonly headsFrom?: number
}

interface ScanPart {
  readonly segment: number
  readonly listed: Uint32Array | undefined
  readonly from: number
  readonly to: number
}

/** Rows of one piece of a scan of all rows. */
const scanRows = 32_768

/** What changed in each segment since a snapshot with a name. */
interface Tracked {
  readonly id: string
  readonly segments: readonly Counted[]
}

interface Counted {
  readonly changes: ArenaChanges
  release(): void
}

export interface FieldHealth {
  readonly unreachable: number
  readonly removed: number
}

/** A dense field with the functions that only its own package uses. */
export interface GraphDenseField extends DenseField {
  /** Searches synchronously in the calling thread, while workers continue. Bitmaps as in search. */
  searchSync(query: Float32Array, options: DenseSearch): DenseHits
  health(): FieldHealth
}

export async function openDenseField(
  definition: DenseFieldSchema,
  pool: WorkerPool,
  options: DenseFieldOptions = {},
): Promise<GraphDenseField> {
  return new GraphField(definition, pool, segmentRowsOf(definition, options), options, [])
}

/** The inverse of a cut, and of cuts with later changes. The sources are read to their ends; the caller closes them. */
export async function loadDenseField(
  definition: DenseFieldSchema,
  pool: WorkerPool,
  source: ByteSource,
  options: DenseFieldOptions & { readonly deltas?: AsyncIterable<ByteSource> } = {},
): Promise<GraphDenseField> {
  const segmentRows = segmentRowsOf(definition, options)
  const sources: FieldSources = { source, ...(options.deltas && { deltas: options.deltas }) }
  const segments = await loadSegments(definition, pool, segmentRows, { ...sources, headsFrom: options.headsFrom })
  return new GraphField(definition, pool, segmentRows, options, segments)
}

/** Number of rows that fit in one memory, together with the memory of threads and upper levels. */
function segmentRowsOf({ params }: DenseFieldSchema, { segmentRows }: DenseFieldOptions): number {
  if (segmentRows !== undefined) return segmentRows
  const shape = shapeOf(params, params.precision)
  // A multiple of 32, so that a bitmap can be divided at a word.
  return Math.floor((shape.blocksMax * 0.85 * shape.blockRows) / 32) * 32
}

class GraphField implements GraphDenseField {
  readonly definition: DenseFieldSchema
  readonly #pool: WorkerPool
  readonly segmentRows: number
  readonly #options: ShapeOptions
  readonly #segments: Segment[]
  readonly #running = new InFlight<Promise<unknown>>()
  #closed = false
  #broken: unknown
  #growthSeen = -1
  /** Walks as of earlier versions miss rows that were removed from the graph. */
  #sweptVersion = 0
  /** Undefined unless a snapshot was written or loaded since the arenas began. */
  #tracked: Tracked | undefined
  others: OtherWalks | undefined

  constructor(
    definition: DenseFieldSchema,
    pool: WorkerPool,
    segmentRows: number,
    options: ShapeOptions,
    loaded: readonly SegmentState[],
  ) {
    this.definition = definition
    this.#pool = pool
    this.segmentRows = segmentRows
    this.#options = options
    this.#segments = loaded.map((state) => new Segment(definition.params, pool, state, options))
  }

  get kernel(): WebAssembly.Module {
    return this.#pool.module
  }

  get rows(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.rows, 0)
  }

  get segments(): readonly FieldSegment[] {
    return this.#segments.map(({ arena, isCutOff }) => ({ arena: arena.handle, isCutOff }))
  }

  reserve(end: Ordinal): void {
    for (let i = 0; i * this.segmentRows < end; i++) {
      this.#segments[i] ??= new Segment(this.definition.params, this.#pool, undefined, this.#options)
      elementAt(this.#segments, i).reserve(Math.min(this.segmentRows, end - i * this.segmentRows))
    }
  }

  async apply(version: number, rows: DenseRows | undefined, removed: Uint32Array): Promise<void> {
    this.#refuseWhenClosed()
    await this.#change(() => this.#apply(version, rows, removed))
  }

  async sweep(version: number): Promise<void> {
    const due = this.#segments.filter(({ isSweepDue }) => isSweepDue)
    if (due.length === 0) return
    this.#refuseWhenClosed()
    await this.#change(async () => {
      await this.#endEarlierWalks(version)
      for (const segment of due) await segment.sweep()
    })
  }

  async #change(change: () => Promise<void>): Promise<void> {
    try {
      await change()
    } catch (error) {
      // Half of an event is in memory, which cannot be undone here. The owner builds the field again from its log.
      this.#broken = error
      throw error
    }
  }

  /** From now on, no walk is as of an earlier version. */
  async #endEarlierWalks(version: number): Promise<void> {
    this.#sweptVersion = version
    await this.#endWalks()
  }

  /** Resolves when the walks that run now have ended. */
  async #endWalks(): Promise<void> {
    await Promise.allSettled([...this.#running])
    await this.others?.untilLeft()
  }

  async #apply(version: number, rows: DenseRows | undefined, removed: Uint32Array): Promise<void> {
    if (rows !== undefined && rows.ordinals.length > 0) {
      this.reserve(1 + rows.ordinals.reduce((most, ordinal) => Math.max(most, ordinal), 0))
      // A walk that started before its visited marks grew must not visit the new ordinals.
      const growth = this.#growth()
      if (growth !== this.#growthSeen) await this.#endWalks()
      this.#growthSeen = growth
      const beforeSweep = () => this.#endEarlierWalks(version - 1)
      for (const [segment, batch] of this.#batchesBySegment(rows, version)) await segment.insert(batch, beforeSweep)
    }
    for (const [segment, ordinals] of this.#ordinalsBySegment(removed)) await segment.remove(ordinals, version)
  }

  #growth(): number {
    return this.#segments.reduce((sum, segment) => sum + segment.arena.scratchGeneration, 0)
  }

  /** Rows by segment, with ordinals relative to the first of the segment. */
  *#batchesBySegment(rows: DenseRows, version: number): Generator<[Segment, Batch]> {
    const { dimension } = this.definition.params
    for (const [i, indices] of this.#bySegment(rows.ordinals)) {
      const batch: Batch = {
        ordinals: Uint32Array.from(indices, (index) => elementAt(rows.ordinals, index) - i * this.segmentRows),
        births: new Uint32Array(indices.length).fill(version),
        norms: Float32Array.from(indices, (index) => elementAt(rows.norms, index)),
        vectors: new VectorRows(rows.vectors, dimension, indices.length < rows.ordinals.length ? indices : undefined),
      }
      yield [elementAt(this.#segments, i), batch]
    }
  }

  *#ordinalsBySegment(ordinals: Uint32Array): Generator<[Segment, Uint32Array]> {
    for (const [i, indices] of this.#bySegment(ordinals)) {
      const segment = this.#segments[i]
      if (segment === undefined) continue
      yield [segment, Uint32Array.from(indices, (index) => elementAt(ordinals, index) - i * this.segmentRows)]
    }
  }

  #bySegment(ordinals: Uint32Array): Map<number, number[]> {
    const groups = new Map<number, number[]>()
    ordinals.forEach((ordinal, index) => {
      const segment = Math.floor(ordinal / this.segmentRows)
      const group = groups.get(segment)
      if (group === undefined) groups.set(segment, [index])
      else group.push(index)
    })
    return groups
  }

  async search(query: Float32Array, options: DenseSearch): Promise<DenseHits> {
    this.#checkQuery(query, options.k)
    const [only] = this.#segments
    if (only !== undefined && this.#segments.length === 1)
      return await this.#whileRunning(this.#searchSegment(only, 0, query, options))
    return this.#mergeHits(
      this.#segments.map((segment, i) => ({ segment: i, found: this.#searchSegment(segment, i, query, options) })),
      options.k,
    )
  }

  #searchSegment(segment: Segment, i: number, query: Float32Array, options: DenseSearch): Promise<Found> {
    const { arena } = segment
    const { allowed } = options
    const lent = allowed === undefined ? undefined : arena.lendBitmap(this.#allowedIn(i, allowed.words))
    const found = this.#pool.submit(this.#queryOf(segment, query, options, lent))
    if (lent === undefined) return found
    return found.finally(() => arena.returnBitmap(lent))
  }

  searchSync(query: Float32Array, options: DenseSearch): DenseHits {
    this.#checkQuery(query, options.k)
    const [only] = this.#segments
    if (only !== undefined && this.#segments.length === 1) return this.#searchHere(only, 0, query, options)
    const found = this.#segments.map((segment, i) => ({
      segment: i,
      ...this.#searchHere(segment, i, query, options),
    }))
    return mergeHits(found, options.k, this.segmentRows)
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
    const isCutOff = segment.isCutOff || options.version < this.#sweptVersion
    return graphQuery({ memory: arena.id, rows, isCutOff }, query, options, lent)
  }

  /** The part of the bitmap for the segment, starting at its first ordinal. */
  #allowedIn(segment: number, words: Uint32Array): Uint32Array {
    return segment === 0 ? words : words.subarray(Math.min(words.length, (segment * this.segmentRows) / 32))
  }

  async scan(
    query: Float32Array,
    options: { readonly k: number; readonly version: number; readonly ordinals?: Uint32Array },
  ): Promise<DenseHits> {
    const { k, version, ordinals } = options
    this.#checkQuery(query, k)
    const parts =
      ordinals === undefined ? this.#rangesOf() : this.#listsOf(ordinals, listedMax(this.definition.params.dimension))
    const found = parts.map(({ segment, listed, from, to }) => ({
      segment,
      found: this.#pool.submit({
        kind: 'scan',
        memory: elementAt(this.#segments, segment).arena.id,
        query,
        k,
        version,
        listed,
        from,
        to,
      }),
    }))
    return this.#mergeHits(found, k)
  }

  /** All rows, in pieces that several workers share and that take little time each. */
  #rangesOf(): ScanPart[] {
    return this.#segments.flatMap(({ end }, segment) =>
      Array.from({ length: Math.ceil(end / scanRows) }, (_, i) => ({
        segment,
        listed: undefined,
        from: i * scanRows,
        to: Math.min(end, (i + 1) * scanRows),
      })),
    )
  }

  #listsOf(ordinals: Uint32Array, most: number): ScanPart[] {
    const dealt = this.#bySegment(ordinals)
    return [...dealt].flatMap(([segment, indices]) => {
      if (this.#segments[segment] === undefined) return []
      const listed = Uint32Array.from(indices, (index) => elementAt(ordinals, index) - segment * this.segmentRows)
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
    return mergeHits(await this.#whileRunning(all), k, this.segmentRows)
  }

  async #whileRunning<T>(walk: Promise<T>): Promise<T> {
    const place = this.#running.add(walk)
    try {
      return await walk
    } finally {
      this.#running.remove(place)
    }
  }

  #checkQuery(query: Float32Array, k: number): void {
    this.#refuseWhenClosed()
    assert(query.length === this.definition.params.dimension, 'a query has the dimension of its field')
    assert(k >= 1 && k <= walkEntriesMax, `k is 1 to ${walkEntriesMax}`)
  }

  has(ordinal: Ordinal, version: number): boolean {
    return this.#segmentOf(ordinal)?.has(ordinal % this.segmentRows, version) ?? false
  }

  row(ordinal: Ordinal): Float32Array | undefined {
    return this.#segmentOf(ordinal)?.row(ordinal % this.segmentRows)
  }

  norm(ordinal: Ordinal): number {
    const segment = this.#segmentOf(ordinal)
    const within = ordinal % this.segmentRows
    assert(segment?.arena.birth(within) !== undefined, `ordinal ${ordinal} has a row`)
    return segment.arena.norm(within)
  }

  links(ordinal: Ordinal): readonly Ordinal[] {
    const within = ordinal % this.segmentRows
    return (this.#segmentOf(ordinal)?.links(within) ?? []).map((linked) => ordinal - within + linked)
  }

  #segmentOf(ordinal: Ordinal): Segment | undefined {
    return this.#segments[Math.floor(ordinal / this.segmentRows)]
  }

  prepareCut(earlier?: EarlierCut): PreparedCut {
    return this.#prepareDelta(earlier) ?? this.#prepareWhole()
  }

  #prepareWhole(): PreparedCut {
    const ahead = this.#segments.map(({ arena }) => new LinksAhead(arena))
    return {
      isDelta: false,
      copyAhead: async (rest) => {
        for (const links of ahead) await links.copy(rest)
      },
      isStale: () => !this.#hasArenas(ahead),
      take: () => this.#cut(ahead),
      release: () => {
        for (const links of ahead) links.release()
      },
    }
  }

  /** Undefined if the changes since the snapshot are unknown or not worth it. */
  #prepareDelta(earlier: EarlierCut | undefined): PreparedCut | undefined {
    const tracked = this.#tracked
    if (earlier === undefined || tracked?.id !== earlier.id) return undefined
    const changes = tracked.segments.map((counted) => counted.changes)
    if (!this.#hasArenas(changes)) return undefined
    const bytes = changes.reduce((sum, one) => sum + deltaBytes(one.arena, one.changed()), 0)
    if (bytes > earlier.bytesMax) return undefined
    // From here on the changes belong to this cut: unless it is written, the next one is whole.
    this.#tracked = undefined
    const ahead = changes.map((one) => new DeltaAhead(one))
    for (const one of tracked.segments) one.release()
    const stops = ahead.map((delta, i) => elementAt(this.#segments, i).count(delta))
    const release = () => {
      for (const stop of stops) stop()
      for (const delta of ahead) delta.release()
    }
    return {
      isDelta: true,
      copyAhead: async (rest) => {
        for (const delta of ahead) await delta.copy(rest)
      },
      isStale: () => !this.#hasArenas(ahead),
      take: () => {
        const pieces = ahead.flatMap((delta, i) => delta.finish(elementAt(this.#segments, i).settled))
        const head = deltaHead(this.definition.params.rules ?? 1, ahead.length)
        release()
        const { written, release: endCount } = this.#trackFromNow()
        const free = () => {
          endCount()
          for (const { buffer } of pieces) freeBuffer(buffer)
        }
        return { isDelta: true, pieces: [head, ...pieces], written, release: free }
      },
      release,
    }
  }

  /** Also false if the rows of a segment have got heads since: then all of it is written. */
  #hasArenas(all: readonly { readonly arena: unknown; readonly hasHeads?: boolean }[]): boolean {
    const isSame = ({ arena }: Segment, i: number) =>
      arena === all[i]?.arena && (all[i]?.hasHeads ?? arena.hasHeads) === arena.hasHeads
    return all.length === this.#segments.length && this.#segments.every(isSame)
  }

  #cut(ahead: readonly LinksAhead[]): FieldCut {
    const cuts = this.#segments.map((segment, i) => segment.cut(ahead[i]))
    const pieces = dumpField(
      this.definition,
      this.segmentRows,
      cuts.map(({ cut }) => cut),
    )
    const { written, release } = this.#trackFromNow()
    return {
      isDelta: false,
      pieces,
      written,
      release: () => {
        release()
        for (const cut of cuts) cut.release()
      },
    }
  }

  /** Counts changes for the cut after this one. They are kept if this one is written. */
  #trackFromNow(): Pick<FieldCut, 'written' | 'release'> {
    let segments: readonly Counted[] | undefined = this.#segments.map((segment) => segment.countChanges())
    return {
      written: (id) => {
        if (segments === undefined) return
        this.#track({ id, segments })
        segments = undefined
      },
      release: () => {
        for (const one of segments ?? []) one.release()
        segments = undefined
      },
    }
  }

  #track(tracked: Tracked): void {
    for (const one of this.#tracked?.segments ?? []) one.release()
    this.#tracked = tracked
  }

  loadedAs(id: string): void {
    this.#track({ id, segments: this.#segments.map((segment) => segment.countChanges()) })
  }

  *digestInSteps(): Generator<void, bigint> {
    // Segments with reserved space only are not counted, because a replay reserves later than a write.
    const segments = this.#segments.slice(0, 1 + this.#segments.findLastIndex(({ end }) => end > 0))
    let digest = BigInt(segments.length)
    for (const segment of segments) digest = BigInt.asUintN(64, digest * 0x100000001b3n) ^ (yield* hashInSteps(segment))
    return digest
  }

  digest(): bigint {
    return runToEnd(this.digestInSteps())
  }

  bytes(): { readonly [part: string]: number } {
    const sums: { [part: string]: number } = {}
    for (const segment of this.#segments)
      for (const [part, bytes] of Object.entries(segment.arena.bytes())) sums[part] = (sums[part] ?? 0) + bytes
    return sums
  }

  /**
   * Checks the graph: the number of rows that no search can reach (they are reconnected as the graph grows), and the number of removed rows
   * in it.
   */
  health(): FieldHealth {
    return {
      unreachable: this.#segments.reduce((sum, segment) => sum + segment.unreachable(), 0),
      removed: this.#segments.reduce((sum, segment) => sum + segment.removedRows, 0),
    }
  }

  #refuseWhenClosed(): void {
    if (this.#closed) throw new EngineError('closed', `field "${this.definition.name}" is closed`)
    if (this.#broken !== undefined) throw this.#broken
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await Promise.allSettled([...this.#running])
    for (const segment of this.#segments) segment.close()
  }
}
