// One graph of a field and how it comes to be. The first few rows are kept as float32 around no centre; once there are
// enough to know the centre of the data, the arena is built again around it at the field's own precision, and vacuum builds
// it again around a newer one. Building happens aside: searches go on in the old arena until the new one takes its place.

import { setImmediate as nextTurn } from 'node:timers/promises'
import { assert } from '../../errors.ts'
import type { DenseSchemaParams } from '../../model/schema.ts'
import { elementAt } from '../element-at.ts'
import { stagingBytes, type WorkerPool } from '../pool.ts'
import { Arena } from './arena.ts'
import { ArenaCut, LinksAhead } from './arena-cut.ts'
import { jobItemsMax } from './arena-plan.ts'
import { entersNowhere, isCutOff } from './cut-off.ts'
import { header, marked, none } from './header.ts'
import { work } from './kernel.ts'
import { shapeOf } from './shape.ts'
import { VectorRows } from './vector-rows.ts'

/** Rows at which the centre is taken. A function of the calls alone, like everything that decides what is built. */
export const settleRows = 256
/** Ordinals the first arena has room for; where one of them is beyond, the segment settles on the rows it has. */
const firstOrdinals = 4096

/** Rows in the order the log gave them out, with the version each was born at. */
export interface Batch {
  readonly ordinals: Uint32Array
  readonly births: Uint32Array
  readonly norms: Float32Array
  readonly vectors: VectorRows
}

export class Segment {
  readonly params: DenseSchemaParams
  readonly #pool: WorkerPool
  readonly #cuts = new Set<ArenaCut>()
  #arena: Arena
  #settled: boolean
  #isCutOff: boolean
  #reserved = 0
  /** The arena that takes over when the segment settles; made by `reserve`, so that `apply` cannot fail for want of room. */
  #next: Arena | undefined

  constructor(
    params: DenseSchemaParams,
    pool: WorkerPool,
    loaded?: { readonly arena: Arena; readonly settled: boolean },
  ) {
    this.params = params
    this.#pool = pool
    this.#settled = loaded?.settled ?? false
    this.#arena = loaded?.arena ?? new Arena(shapeOf(params, 'float32'), pool.module, pool.attachments)
    pool.attach(this.#arena)
    this.#reserved = this.#arena.word(header.end)
    this.#isCutOff = loaded !== undefined && isCutOff(this.#arena)
  }

  /** The segment as it is now, for as long as it is not released. Nothing may be applied meanwhile. */
  cut(ahead: LinksAhead | undefined): { readonly cut: ArenaCut; release(): void } {
    // The arena is another when the segment settled meanwhile; then it is small.
    const links = ahead?.arena === this.#arena ? ahead : new LinksAhead(this.#arena)
    const cut = new ArenaCut(links, this.#settled)
    this.#cuts.add(cut)
    return { cut, release: () => void this.#cuts.delete(cut) }
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

  /** Whether walks miss a part of the rows (cut-off.ts). */
  get isCutOff(): boolean {
    return this.#isCutOff
  }

  /** All its ordinals are below it. */
  get end(): number {
    return this.#arena.word(header.end)
  }

  reserve(end: number): void {
    if (end <= this.#reserved) return
    this.#arena.reserve(this.#settled ? end : Math.min(end, firstOrdinals))
    // Rows are never more than ordinals, so below `settleRows` of those nothing settles, and a small field takes one memory, not two.
    if (!this.#settled && end >= settleRows) {
      this.#next ??= this.#newArena()
      this.#next.reserve(end)
    }
    this.#reserved = end
  }

  #newArena(): Arena {
    return new Arena(shapeOf(this.params, this.params.precision), this.#pool.module, this.#pool.attachments)
  }

  /** Inserts the batch. The caller has waited for walks older than the last growth. */
  async insert(batch: Batch): Promise<void> {
    const n = batch.ordinals.length
    if (n === 0) return
    for (const cut of this.#cuts) if (cut.isOf(this.#arena)) cut.beforeRowsChange(batch.ordinals)
    const last = batch.ordinals.reduce((most, ordinal) => Math.max(most, ordinal), 0)
    if (this.#settled || (this.rows + n < settleRows && last < firstOrdinals)) await this.#add(batch)
    else await this.#settle(batch)
  }

  async #add(batch: Batch): Promise<void> {
    const arena = this.#arena
    const unmended = arena.word(header.unmended)
    await buildInto(arena, batch, this.#pool, () => {
      this.#isCutOff ||= entersNowhere(arena)
    })
    // Rows that cannot be reached were joined again.
    if (this.#isCutOff && arena.word(header.unmended) < unmended + batch.ordinals.length)
      this.#isCutOff = isCutOff(arena)
  }

  async #settle(batch: Batch): Promise<void> {
    const next = this.#next ?? this.#newArena()
    next.reserve(this.#reserved)
    this.#pool.attach(next)
    const old = this.#arena
    // Removed rows, too: searches under way look at versions that have them.
    const kept = await batchOf(old, new Set(batch.ordinals))
    const all = kept.ordinals.length === 0 ? batch : joined(kept, batch)
    const isOnce = (this.params.rules ?? 1) > 1 ? firstOfEach() : () => true
    next.f32.set(await meanOf(all.vectors, isOnce), next.centreAddress / 4)
    await buildInto(next, all, this.#pool)
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

  /** Ends the rows of the ordinals that have one, as of `version`. */
  async remove(ordinals: Uint32Array, version: number): Promise<void> {
    const arena = this.#arena
    for (const cut of this.#cuts) if (cut.isOf(arena)) cut.beforeRowsChange(ordinals)
    let removed = 0
    for (const ordinal of ordinals) {
      if (!arena.isAlive(ordinal)) continue
      setDeath(arena, ordinal, version)
      removed++
    }
    countRemoved(arena, removed)
    const dead = arena.word(header.dead)
    if (dead > sweepDeadMin && dead > arena.word(header.linked) * sweepDeadShare) await sweep(arena, this.#pool)
  }

  /** Whether a search as of `version` sees a row there. */
  has(ordinal: number, version: number): boolean {
    const birth = this.#arena.birth(ordinal)
    if (birth === undefined || birth > version) return false
    return deathOf(this.#arena, ordinal) > version
  }

  /** Living rows that no search can reach. */
  unreachable(): number {
    this.#arena.kernel.attach(this.#arena.ownThread)
    return this.#arena.kernel.countUnreachable()
  }
  /** Removed rows that walks still pass through. */
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

  /** Ordinals the row is linked to at the base of the graph. */
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
 * Links a batch into an arena: first its vectors become rows, as many at a time as there is room for, then all are linked. `staged` is
 * called before each job.
 */
async function buildInto(arena: Arena, batch: Batch, pool: WorkerPool, staged?: () => void): Promise<void> {
  for (let from = 0; from < batch.ordinals.length; from += jobItemsMax) {
    const to = Math.min(batch.ordinals.length, from + jobItemsMax)
    let before = stage(arena, batch, from, to)
    staged?.()
    const atHandMax = Math.floor(stagingBytes / 4 / arena.shape.params.dimension)
    for (let first = 0; first < to - from; first += atHandMax) {
      const job = {
        before,
        first,
        atHand: Math.min(atHandMax, to - from - first),
        links: first + atHandMax >= to - from,
      }
      await runStaged(arena, batch, { from, to }, job, pool)
      before = work.idle
    }
    arena.setWord(header.rows, arena.word(header.rows) + to - from)
  }
}

async function runStaged(
  arena: Arena,
  batch: Batch,
  { from, to }: { readonly from: number; readonly to: number },
  { before, first, atHand, links }: { before: number; first: number; atHand: number; links: boolean },
  pool: WorkerPool,
): Promise<void> {
  const { dimension } = arena.shape.params
  await pool.runJob(arena, ({ buffer, offset }) => {
    const staged = new Float32Array(buffer, offset, atHand * dimension)
    batch.vectors.copy(from + first, from + first + atHand, staged)
    arena.setWord(header.jobVectors, offset)
    arena.kernel.openJob(before, to - from, first, atHand, links ? 1 : 0)
  })
}

/** Takes every removed row out of the graph, in a job of its own. */
async function sweep(arena: Arena, pool: WorkerPool): Promise<void> {
  await pool.runJob(arena, () => arena.kernel.openJob(work.sweep, 0, 0, 0, 1))
}

/** Rows reused at once at which sweeping all removed rows is cheaper than repairing around each. */
const sweepReusedShare = 1 / 64
/** Removed rows in the graph at which walks are slow enough to sweep without any reuse. */
const sweepDeadShare = 1 / 5
const sweepDeadMin = 256

/** Lists the items of a job and takes reused ordinals out of the counts. Returns how the graph is to be repaired before. */
function stage(arena: Arena, batch: Batch, from: number, to: number): number {
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
  // Rows that a sweep has taken out already are no longer counted as dead.
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

/** The rows of an arena in the order of their ordinals, but for those whose ordinals are given to others. */
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

function joined(a: Batch, b: Batch): Batch {
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

/** Mean of the rows that count, summed in their order in double precision: the same on every machine. */
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

/** Numbers looked at in one turn of the event loop: a few milliseconds. Counted, since the fold asks no clock. */
const turnFloats = 2 ** 18

class FloatTurns {
  #floats = 0

  /** Whether the turn is over with so many more; then the next one begins. */
  isOver(floats: number): boolean {
    this.#floats += floats
    if (this.#floats < turnFloats) return false
    this.#floats = 0
    return true
  }
}

/**
 * Which rows are not a copy of an earlier one, asked in their order: thousands of copies would draw the centre to themselves, and
 * codes tell rows apart by the side of it they are on. Copies are rows of one length whose values are the same in 63rds of the
 * largest, as far as a hash of 53 bits tells: a row too few in a mean does no harm.
 */
function firstOfEach(): (row: Float32Array) => boolean {
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
