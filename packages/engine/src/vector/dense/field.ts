// A dense field: rows by ordinal, searched by graph or by scan, changed one event at a time. Ordinals are assigned to segments by range,
// with one arena each, so that a field may exceed the size of one WebAssembly memory. A search queries all segments and merges the results.
import { runToEnd } from '@annal/wal'
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
  FieldSegment,
  HeldRows,
  Ordinal,
  OtherWalks,
  PreparedCut,
} from '../field.ts'
import type { WorkerPool } from '../pool.ts'
import { type FieldSources, hashInSteps, loadSegments, type SegmentState } from './arena-file.ts'
import type { Batch } from './build-batch.ts'
import { FieldCuts } from './field-cuts.ts'
import { FieldSearches } from './field-searches.ts'
import { holdRows } from './held-rows.ts'
import { bySegment } from './rows-by-segment.ts'
import { Segment } from './segment.ts'
import { type ShapeOptions, shapeOf } from './shape.ts'
import { VectorRows } from './vector-rows.ts'

export interface DenseFieldOptions {
  /** Ordinals of one segment; by default as many as one memory holds. A replay must use the same number. */
  readonly segmentRows?: number
  /** Ordinals of a segment from which on its rows have heads (shape.ts). A replay must use the same number. */
  readonly headsFrom?: number
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
  readonly #searches: FieldSearches
  readonly #cuts: FieldCuts
  #closed = false
  #broken: unknown
  #growthSeen = -1
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
    const { params } = definition
    this.#searches = new FieldSearches({
      segments: this.#segments,
      segmentRows,
      pool,
      dimension: params.dimension,
      refuseWhenClosed: () => this.#refuseWhenClosed(),
    })
    this.#cuts = new FieldCuts({ segments: this.#segments, segmentRows, definition })
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
    this.#searches.sweptVersion = version
    await this.#endWalks()
  }

  /** Resolves when the walks that run now have ended. */
  async #endWalks(): Promise<void> {
    await this.#searches.settled()
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
    for (const [i, indices] of bySegment(rows.ordinals, this.segmentRows)) {
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
    for (const [i, indices] of bySegment(ordinals, this.segmentRows)) {
      const segment = this.#segments[i]
      if (segment === undefined) continue
      yield [segment, Uint32Array.from(indices, (index) => elementAt(ordinals, index) - i * this.segmentRows)]
    }
  }

  search(query: Float32Array, options: DenseSearch): Promise<DenseHits> {
    return this.#searches.search(query, options)
  }

  searchSync(query: Float32Array, options: DenseSearch): DenseHits {
    return this.#searches.searchSync(query, options)
  }

  scan(
    query: Float32Array,
    options: { readonly k: number; readonly version: number; readonly ordinals?: Uint32Array },
  ): Promise<DenseHits> {
    return this.#searches.scan(query, options)
  }

  scanHere(
    query: Float32Array,
    options: { readonly k: number; readonly version: number; readonly ordinals: Uint32Array },
  ): DenseHits {
    return this.#searches.scanHere(query, options)
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

  holdRows(): HeldRows {
    return holdRows({ segments: this.#segments, segmentRows: this.segmentRows, pool: this.#pool })
  }

  links(ordinal: Ordinal): readonly Ordinal[] {
    const within = ordinal % this.segmentRows
    return (this.#segmentOf(ordinal)?.links(within) ?? []).map((linked) => ordinal - within + linked)
  }

  #segmentOf(ordinal: Ordinal): Segment | undefined {
    return this.#segments[Math.floor(ordinal / this.segmentRows)]
  }

  prepareCut(earlier?: EarlierCut): PreparedCut {
    return this.#cuts.prepare(earlier)
  }

  loadedAs(id: string): void {
    this.#cuts.loadedAs(id)
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
    await this.#searches.settled()
    for (const segment of this.#segments) segment.close()
  }
}
