// One graph of a field and how it is built. The first few rows are kept as float32 without a center. Once there are enough rows to compute
// the center of the data, the arena is built again around it at the precision of the field, and a vacuum builds it again around a new
// center. Searches continue in the old arena until the new one replaces it.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { assert } from '../../errors.ts'
import type { DenseSchemaParams } from '../../model/schema.ts'
import { elementAt } from '../element-at.ts'
import { stagingBytes, type WorkerPool } from '../pool.ts'
import { type Arena, newArena } from './arena.ts'
import { ArenaChanges } from './arena-changes.ts'
import { ArenaCut, LinksAhead } from './arena-cut.ts'
import type { DeltaAhead } from './arena-delta.ts'
import { jobItemsMax } from './arena-plan.ts'
import { entersNowhere, isCutOff } from './cut-off.ts'
import { header, marked, none } from './header.ts'
import { work } from './kernel.ts'
import { learnProjection } from './projection.ts'
import { type ShapeOptions, shapeOf } from './shape.ts'
import { VectorRows } from './vector-rows.ts'

/** Number of rows at which the center is computed. Like everything that determines what is built, it depends on the calls only. */
export const settleRows = 256
/** Number of ordinals of the first arena. If an ordinal exceeds it, the segment settles on the rows that it has. */
const firstOrdinals = 4096

/** Rows in the order in which the log assigned them, with their versions of birth. */
export interface Batch {
  readonly ordinals: Uint32Array
  readonly births: Uint32Array
  readonly norms: Float32Array
  readonly vectors: VectorRows
}

export class Segment {
  readonly params: DenseSchemaParams
  readonly #pool: WorkerPool
  readonly #options: ShapeOptions
  readonly #cuts = new Set<ArenaCut>()
  /** What counts the rows that change; of other arenas when the segment settled meanwhile. */
  readonly #counting = new Set<ArenaChanges | DeltaAhead>()
  #arena: Arena
  #settled: boolean
  #isCutOff: boolean
  #isSweepDue = false
  #reserved = 0
  /**
   * The arena that replaces the current one when the segment settles. `reserve` creates it, so that `apply` cannot fail for lack of memory.
   */
  #next: Arena | undefined

  constructor(
    params: DenseSchemaParams,
    pool: WorkerPool,
    loaded?: { readonly arena: Arena; readonly settled: boolean },
    options: ShapeOptions = {},
  ) {
    this.params = params
    this.#pool = pool
    this.#options = options
    this.#settled = loaded?.settled ?? false
    this.#arena = loaded?.arena ?? newArena(shapeOf(params, 'float32', options), pool)
    pool.attach(this.#arena)
    this.#reserved = this.#arena.word(header.end)
    this.#isCutOff = loaded !== undefined && isCutOff(this.#arena)
  }

  /** The segment as of now, until it is released. Nothing may be applied meanwhile. */
  cut(ahead: LinksAhead | undefined): { readonly cut: ArenaCut; release(): void } {
    // If the segment settled meanwhile it has another arena, which is small.
    const links = ahead?.arena === this.#arena ? ahead : new LinksAhead(this.#arena)
    const cut = new ArenaCut(links, this.#settled)
    this.#cuts.add(cut)
    const release = () => {
      this.#cuts.delete(cut)
      cut.release()
    }
    return { cut, release }
  }

  /** Counts what changes from now on, until it is released. Nothing may be applied in this turn. */
  countChanges(): { readonly changes: ArenaChanges; release(): void } {
    const changes = new ArenaChanges(this.#arena)
    const stop = this.count(changes)
    return {
      changes,
      release: () => {
        stop()
        changes.end()
      },
    }
  }

  /** Reports to `counting` the rows that change, until the returned function is called. */
  count(counting: ArenaChanges | DeltaAhead): () => void {
    counting.reserve(this.#reserved)
    this.#counting.add(counting)
    return () => void this.#counting.delete(counting)
  }

  get arena(): Arena {
    return this.#arena
  }
  get settled(): boolean {
    return this.#settled
  }
  get rows(): number {
    return this.#arena.word(header.rows)
  }

  /** Whether walks miss some of the rows (cut-off.ts). */
  get isCutOff(): boolean {
    return this.#isCutOff
  }

  /** All ordinals are below this. */
  get end(): number {
    return this.#arena.word(header.end)
  }

  reserve(end: number): void {
    if (end <= this.#reserved) return
    this.#arena.reserve(this.#settled ? end : Math.min(end, firstOrdinals))
    // There are at most as many rows as ordinals, so below `settleRows` ordinals nothing settles, and a small field needs one memory, not
    // two.
    if (!this.#settled && end >= settleRows) {
      this.#next ??= this.#newArena()
      this.#next.reserve(end)
    }
    for (const counting of this.#counting) counting.reserve(end)
    this.#reserved = end
  }

  #newArena(): Arena {
    return newArena(shapeOf(this.params, this.params.precision, this.#options), this.#pool)
  }

  /** Whether so many rows were removed that `sweep` is to be called before the next change. */
  get isSweepDue(): boolean {
    return this.#isSweepDue
  }

  /**
   * Inserts the batch. The caller has waited for walks that are older than the last growth. `beforeSweep` is awaited before rows that were
   * removed earlier are removed from the graph.
   */
  async insert(batch: Batch, beforeSweep = async (): Promise<void> => undefined): Promise<void> {
    const n = batch.ordinals.length
    if (n === 0) return
    this.#beforeRowsChange(batch.ordinals)
    const last = batch.ordinals.reduce((most, ordinal) => Math.max(most, ordinal), 0)
    if (this.#settled || (this.rows + n < settleRows && last < firstOrdinals)) await this.#add(batch, beforeSweep)
    else await this.#settle(batch)
  }

  #beforeRowsChange(ordinals: Uint32Array): void {
    for (const cut of this.#cuts) if (cut.belongsTo(this.#arena)) cut.beforeRowsChange(ordinals)
    for (const counting of this.#counting) if (counting.arena === this.#arena) counting.add(ordinals)
  }

  async #add(batch: Batch, beforeSweep: () => Promise<void>): Promise<void> {
    const arena = this.#arena
    const unmended = arena.word(header.unchecked)
    await buildInto(arena, batch, this.#pool, async (before) => {
      this.#isCutOff ||= entersNowhere(arena)
      if (before === work.sweep) await beforeSweep()
    })
    if (this.#settled) await beginHeads(arena, this.#pool)
    // Unreachable rows were reconnected.
    if (this.#isCutOff && arena.word(header.unchecked) < unmended + batch.ordinals.length)
      this.#isCutOff = isCutOff(arena)
  }

  async #settle(batch: Batch): Promise<void> {
    const next = this.#next ?? this.#newArena()
    next.reserve(this.#reserved)
    this.#pool.attach(next)
    const old = this.#arena
    // Includes removed rows, because running searches see versions that have them.
    const kept = await batchOf(old, new Set(batch.ordinals))
    const all = kept.ordinals.length === 0 ? batch : joinBatches(kept, batch)
    const isOnce = (this.params.rules ?? 1) > 1 ? createCopyDetector() : () => true
    next.f32.set(await meanOf(all.vectors, isOnce), next.centerAddress / 4)
    await buildInto(next, all, this.#pool)
    await beginHeads(next, this.#pool)
    let removed = 0
    for (const ordinal of kept.ordinals) {
      if (old.isAlive(ordinal)) continue
      setDeath(next, ordinal, deathOf(old, ordinal))
      removed++
    }
    countRemoved(next, removed)
    this.#arena = next
    this.#isCutOff = false
    this.#next = undefined
    this.#settled = true
    this.#pool.release(old)
  }

  /** Sets the version of death for those of the ordinals that have a row. */
  async remove(ordinals: Uint32Array, version: number): Promise<void> {
    const arena = this.#arena
    // An object may have no row in this field.
    const alive = ordinals.filter((ordinal) => arena.isAlive(ordinal))
    this.#beforeRowsChange(alive)
    let removed = 0
    for (const ordinal of alive) {
      if (!arena.isAlive(ordinal)) continue
      setDeath(arena, ordinal, version)
      removed++
    }
    countRemoved(arena, removed)
    const dead = arena.word(header.dead)
    this.#isSweepDue = dead > sweepDeadMin && dead > arena.word(header.linked) * sweepDeadShare
  }

  /** Removes every removed row from the graph, in a job of its own. */
  async sweep(): Promise<void> {
    this.#isSweepDue = false
    const arena = this.#arena
    await this.#pool.runJob(arena, () => arena.kernel.openJob(work.sweep, 0, 0, 0, 1))
  }

  /** Whether a search as of `version` sees a row with the ordinal. */
  has(ordinal: number, version: number): boolean {
    const birth = this.#arena.birth(ordinal)
    if (birth === undefined || birth > version) return false
    return deathOf(this.#arena, ordinal) > version
  }

  /** Number of live rows that no search can reach. */
  unreachable(): number {
    this.#arena.kernel.attach(this.#arena.ownThread)
    return this.#arena.kernel.countUnreachable()
  }
  /** Number of removed rows that walks still pass through. */
  get removedRows(): number {
    return this.#arena.word(header.dead)
  }

  row(ordinal: number): Float32Array | undefined {
    const arena = this.#arena
    if (arena.birth(ordinal) === undefined) return undefined
    arena.kernel.decodeRow(ordinal)
    const offset = arena.ownScratch.query / 4
    return Float32Array.from(arena.f32.subarray(offset, offset + this.params.dimension))
  }

  /** Ordinals that the row is linked to at level 0. */
  links(ordinal: number): readonly number[] {
    const arena = this.#arena
    if (arena.birth(ordinal) === undefined) return []
    if (arena.kernel.isFollower(ordinal)) {
      const leader = arena.kernel.leaderOf(ordinal) >>> 0
      return leader === none ? [] : [leader]
    }
    const from = (arena.kernel.linksOf(ordinal, 0) >>> 0) / 4
    const list = Array.from(arena.u32.subarray(from, from + arena.shape.linksAtBase))
    const length = list.findIndex((word) => word >= marked)
    return length < 0 ? list : list.slice(0, length)
  }

  close(): void {
    this.#pool.release(this.#arena)
    if (this.#next !== undefined) this.#pool.discard(this.#next)
    this.#next = undefined
  }
}

/**
 * Links a batch into an arena: first its vectors are encoded, as many at a time as there is space for, then all rows are linked. `staged`
 * is awaited before each job, with how the job repairs the graph first.
 */
async function buildInto(
  arena: Arena,
  batch: Batch,
  pool: WorkerPool,
  staged?: (before: number) => Promise<void>,
): Promise<void> {
  for (let from = 0; from < batch.ordinals.length; from += jobItemsMax) {
    const to = Math.min(batch.ordinals.length, from + jobItemsMax)
    let before = listItems(arena, batch, from, to)
    await staged?.(before)
    const encodableMax = Math.floor(stagingBytes / 4 / arena.shape.params.dimension)
    for (let first = 0; first < to - from; first += encodableMax) {
      const job = {
        before,
        first,
        encodable: Math.min(encodableMax, to - from - first),
        links: first + encodableMax >= to - from,
      }
      await runPiece(arena, batch, { from, to }, job, pool)
      before = work.idle
    }
    arena.setWord(header.rows, arena.word(header.rows) + to - from)
  }
}

async function runPiece(
  arena: Arena,
  batch: Batch,
  { from, to }: { readonly from: number; readonly to: number },
  { before, first, encodable, links }: { before: number; first: number; encodable: number; links: boolean },
  pool: WorkerPool,
): Promise<void> {
  const { dimension } = arena.shape.params
  await pool.runJob(arena, ({ buffer, offset }) => {
    const staged = new Float32Array(buffer, offset, encodable * dimension)
    batch.vectors.copy(from + first, from + first + encodable, staged)
    arena.setWord(header.jobVectors, offset)
    arena.kernel.openJob(before, to - from, first, encodable, links ? 1 : 0)
  })
}

/** Gives every row a head when there are enough rows. Like everything that determines what is built, this depends on the calls only. */
async function beginHeads(arena: Arena, pool: WorkerPool): Promise<void> {
  const { headBytes, headsFrom } = arena.shape
  if (headBytes === 0 || arena.hasHeads || arena.word(header.end) < headsFrom) return
  await learnProjection(arena)
  await pool.runJob(arena, () => arena.kernel.openHeadsJob())
  arena.endLearning()
}

/** Share of reused rows from which sweeping all removed rows is cheaper than repairing around each. */
const sweepReusedShare = 1 / 64
/** Share of removed rows in the graph from which walks are slow enough to sweep without any reuse. */
const sweepDeadShare = 1 / 5
const sweepDeadMin = 256

/** Lists the items of a job and subtracts reused ordinals from the counts. Returns how the graph must be repaired first. */
function listItems(arena: Arena, batch: Batch, from: number, to: number): number {
  let reused = 0
  let unlinked = 0
  let end = arena.word(header.end)
  let entryReused = false
  const entry = arena.word(header.entry)
  for (let i = from; i < to; i++) {
    const ordinal = elementAt(batch.ordinals, i)
    assert(!arena.isAlive(ordinal), `ordinal ${ordinal} is free`)
    if (arena.birth(ordinal) !== undefined) {
      reused++
      // A row that followed another was never counted as linked.
      if (arena.kernel.isFollower(ordinal)) unlinked++
    }
    if (ordinal === entry) entryReused = true
    const item = arena.itemsAddress / 4 + (i - from) * 3
    arena.u32[item] = ordinal
    arena.u32[item + 1] = elementAt(batch.births, i)
    arena.f32[item + 2] = elementAt(batch.norms, i)
    if (ordinal >= end) end = ordinal + 1
  }
  const linked = arena.word(header.linked)
  const sweeps = reused > 64 && reused > linked * sweepReusedShare && arena.word(header.dead) > 0
  arena.setWord(header.end, end)
  arena.setWord(header.linked, linked - reused + unlinked)
  arena.kernel.attach(arena.ownThread)
  if (sweeps) return work.sweep
  // Rows that a sweep has removed already are no longer counted as dead.
  arena.setWord(header.dead, Math.max(0, arena.word(header.dead) - reused))
  if (entryReused) arena.kernel.chooseEntry(to - from)
  return reused > 0 ? work.repair : work.idle
}

function deathOf(arena: Arena, ordinal: number): number {
  return elementAt(arena.u32, arena.tailAddress(ordinal) / 4 + 3)
}

function setDeath(arena: Arena, ordinal: number, version: number): void {
  Atomics.store(arena.u32, arena.tailAddress(ordinal) / 4 + 3, version)
}

function countRemoved(arena: Arena, removed: number): void {
  arena.setWord(header.rows, arena.word(header.rows) - removed)
  arena.setWord(header.dead, arena.word(header.dead) + removed)
}

/** The rows of an arena by ordinal, except for those whose ordinals are reused. */
async function batchOf(arena: Arena, others: ReadonlySet<number>): Promise<Batch> {
  const { dimension } = arena.shape.params
  const ordinals: number[] = []
  const end = arena.word(header.end)
  for (let ordinal = 0; ordinal < end; ordinal++)
    if (arena.birth(ordinal) !== undefined && !others.has(ordinal)) ordinals.push(ordinal)
  const vectors = new Float32Array(ordinals.length * dimension)
  const from = arena.ownScratch.query / 4
  const turns = new FloatTurns()
  for (const [i, ordinal] of ordinals.entries()) {
    arena.kernel.decodeRow(ordinal)
    vectors.set(arena.f32.subarray(from, from + dimension), i * dimension)
    if (turns.isOver(dimension)) await nextTurn()
  }
  return {
    ordinals: Uint32Array.from(ordinals),
    births: Uint32Array.from(ordinals, (ordinal) => arena.birth(ordinal) ?? none),
    norms: Float32Array.from(ordinals, (ordinal) => arena.norm(ordinal)),
    vectors: new VectorRows(vectors, dimension),
  }
}

function joinBatches(a: Batch, b: Batch): Batch {
  const n = a.ordinals.length + b.ordinals.length
  const ordinals = new Uint32Array(n)
  const births = new Uint32Array(n)
  const norms = new Float32Array(n)
  for (const [whole, first, second] of [
    [ordinals, a.ordinals, b.ordinals],
    [births, a.births, b.births],
    [norms, a.norms, b.norms],
  ] as const) {
    whole.set(first)
    whole.set(second, first.length)
  }
  return { ordinals, births, norms, vectors: b.vectors.after(a.vectors) }
}

/** Mean of the rows that `counts` accepts, summed by ordinal in double precision: the same on every machine. */
async function meanOf(vectors: VectorRows, counts: (row: Float32Array) => boolean): Promise<Float32Array> {
  const { dimension, length } = vectors
  const sums = new Float64Array(dimension)
  const turns = new FloatTurns()
  let counted = 0
  for (let index = 0; index < length; index++) {
    if (turns.isOver(dimension)) await nextTurn()
    const row = vectors.row(index)
    if (!counts(row)) continue
    counted++
    for (let i = 0; i < dimension; i++) sums[i] = elementAt(sums, i) + elementAt(row, i)
  }
  return Float32Array.from(sums, (sum) => sum / counted)
}

/** Numbers processed in one turn of the event loop, which takes a few milliseconds. Counted, because the fold uses no clock. */
const turnFloats = 2 ** 18

class FloatTurns {
  #floats = 0

  /** Whether the turn ends with these numbers; then the next one starts. */
  isOver(floats: number): boolean {
    this.#floats += floats
    if (this.#floats < turnFloats) return false
    this.#floats = 0
    return true
  }
}

/**
 * Returns a function that must be called for the rows in order and returns whether a row is not a copy of an earlier one. Thousands of
 * copies would pull the center toward themselves, and codes distinguish rows by their side of the center. Copies are rows of equal length
 * whose values are equal in 63rds of the largest, compared by a hash of 53 bits; one row less in a mean does no harm.
 */
function createCopyDetector(): (row: Float32Array) => boolean {
  const seen = new Set<number>()
  const length = new Float32Array(1)
  const lengthBits = new Uint32Array(length.buffer)
  return (row) => {
    let [most, square] = [0, 0]
    for (let i = 0; i < row.length; i++) {
      const value = elementAt(row, i)
      most = Math.max(most, Math.abs(value))
      square += value * value
    }
    length[0] = square
    let [a, b] = [0x9e3779b9 ^ (elementAt(lengthBits, 0) >>> 8), 0x85ebca6b]
    const scale = most > 0 ? 63 / most : 0
    for (let i = 0; i < row.length; i++) {
      const value = Math.round(elementAt(row, i) * scale) + 64
      a = Math.imul(a ^ value, 0x21f0aaad)
      a ^= a >>> 15
      b = Math.imul(b ^ value ^ (a >>> 16), 0x735a2d97)
      b ^= b >>> 13
    }
    const hash = (a >>> 0) * 2 ** 21 + (b >>> 11)
    if (seen.has(hash)) return false
    seen.add(hash)
    return true
  }
}
