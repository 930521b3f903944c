// One graph of a field and how it is built. The first few rows are kept as float32 without a center. Once there are enough rows to compute
// the center of the data, the arena is built again around it at the precision of the field, and a vacuum builds it again around a new
// center. Searches continue in the old arena until the new one replaces it.
import type { DenseSchemaParams } from '../../model/schema.ts'
import type { WorkerPool } from '../pool.ts'
import { type Arena, newArena } from './arena.ts'
import { ArenaChanges } from './arena-changes.ts'
import { ArenaCut, LinksAhead } from './arena-cut.ts'
import type { DeltaAhead } from './arena-delta.ts'
import { type Batch, beginHeads, buildInto } from './build-batch.ts'
import { entersNowhere, isCutOff } from './cut-off.ts'
import { header, marked, none } from './header.ts'
import { work } from './kernel.ts'
import { countRemoved, deathOf, setDeath } from './row-deaths.ts'
import { batchOf, centerOf, joinBatches } from './settle-rows.ts'
import { type ShapeOptions, shapeOf } from './shape.ts'

/** Number of rows at which the center is computed. Like everything that determines what is built, it depends on the calls only. */
const settleRows = 256
/** Number of ordinals of the first arena. If an ordinal exceeds it, the segment settles on the rows that it has. */
const firstOrdinals = 4096

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
    next.f32.set(await centerOf(all.vectors, this.params.rules ?? 1), next.centerAddress / 4)
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

/** Share of removed rows in the graph from which walks are slow enough to sweep without any reuse. */
const sweepDeadShare = 1 / 5
const sweepDeadMin = 256
