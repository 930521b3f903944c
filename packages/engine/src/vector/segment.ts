// One graph of a field and how it comes to be. The first few rows are kept as float32 around no centre; once there are
// enough to know the centre of the data, the arena is built again around it at the field's own precision, and vacuum builds
// it again around a newer one. Building happens aside: searches go on in the old arena until the new one takes its place.
import type { DenseParams } from '../definition.ts'
import { assert } from '../errors.ts'
import { Arena, at, header, jobItemsMax, none } from './arena.ts'
import { shapeOf } from './shape.ts'
import type { WorkerPool } from './worker-pool.ts'

/** Rows at which the centre is taken. A function of the calls alone, like everything that decides what is built. */
export const settleRows = 256

/** Rows in the order the log gave them out, with the version each was born at. */
export interface Batch {
  readonly ordinals: Uint32Array
  readonly births: Uint32Array
  readonly norms: Float32Array
  readonly vectors: Float32Array<SharedArrayBuffer>
}

export class Segment {
  readonly params: DenseParams
  readonly #pool: WorkerPool
  #arena: Arena
  #settled: boolean
  #reserved = 0
  /** The arena that takes over when the segment settles; made by `reserve`, so that `apply` cannot fail for want of room. */
  #next: Arena | undefined

  constructor(params: DenseParams, pool: WorkerPool, loaded?: { readonly arena: Arena; readonly settled: boolean }) {
    this.params = params
    this.#pool = pool
    this.#settled = loaded?.settled ?? false
    this.#arena = loaded?.arena ?? new Arena(shapeOf(params, 'float32'), pool.module, pool.threads)
    this.#reserved = this.#arena.word(header.end)
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

  /** All its ordinals are below it. */
  get end(): number {
    return this.#arena.word(header.end)
  }

  reserve(end: number): void {
    if (end <= this.#reserved) return
    this.#arena.reserve(end)
    if (!this.#settled) {
      this.#next ??= this.#newArena()
      this.#next.reserve(end)
    }
    this.#reserved = end
  }

  #newArena(): Arena {
    return new Arena(shapeOf(this.params, this.params.precision), this.#pool.module, this.#pool.threads)
  }

  /** Inserts the batch. The caller has waited for walks older than the last growth. */
  async insert(batch: Batch): Promise<void> {
    const n = batch.ordinals.length
    if (n === 0) return
    if (this.#settled || this.rows + n < settleRows) await buildInto(this.#arena, batch, this.#pool)
    else await this.#settle(batch)
  }

  async #settle(batch: Batch): Promise<void> {
    const next = this.#next ?? this.#newArena()
    next.reserve(this.#reserved)
    const all = joined(batchOf(this.#arena), batch, this.params.dimension)
    next.f32.set(meanOf(all.vectors, this.params.dimension), next.centreAddress / 4)
    await buildInto(next, all, this.#pool)
    const old = this.#arena
    this.#arena = next
    this.#next = undefined
    this.#settled = true
    this.#pool.release(old.id)
  }

  /** Ends the rows of the ordinals that have one, as of `version`. */
  remove(ordinals: Uint32Array, version: number): void {
    const arena = this.#arena
    let removed = 0
    for (const ordinal of ordinals) {
      if (!arena.isAlive(ordinal)) continue
      Atomics.store(arena.u32, arena.tailAddress(ordinal) / 4 + 3, version)
      removed++
    }
    arena.setWord(header.rows, arena.word(header.rows) - removed)
    arena.setWord(header.dead, arena.word(header.dead) + removed)
  }

  row(ordinal: number): Float32Array | undefined {
    const arena = this.#arena
    if (arena.birth(ordinal) === undefined) return undefined
    arena.kernel.decodeRow(ordinal)
    const at = arena.ownScratch.query / 4
    return Float32Array.from(arena.f32.subarray(at, at + this.params.dimension))
  }

  close(): void {
    this.#pool.release(this.#arena.id)
    if (this.#next !== undefined) this.#pool.release(this.#next.id)
  }
}

/** Links a batch into an arena, in jobs of at most `jobItemsMax` rows. */
async function buildInto(arena: Arena, batch: Batch, pool: WorkerPool): Promise<void> {
  const dimension = arena.shape.params.dimension
  for (let from = 0; from < batch.ordinals.length; from += jobItemsMax) {
    const to = Math.min(batch.ordinals.length, from + jobItemsMax)
    stage(arena, batch, from, to)
    const vectors = batch.vectors.subarray(from * dimension, to * dimension)
    await pool.apply({ kind: 'apply', arena: arena.handle, dimension, vectors }, helpersFor(pool.threads, to - from))
    arena.setWord(header.rows, arena.word(header.rows) + to - from)
  }
}

/** One thread is left for searches where there is more than one; small batches are not worth waking several. */
function helpersFor(threads: number, items: number): number {
  return items < 8 ? 1 : Math.max(1, threads - 1)
}

/** Lists the items of a job and takes reused ordinals out of the counts of the graph. */
function stage(arena: Arena, batch: Batch, from: number, to: number): void {
  let reused = 0
  let end = arena.word(header.end)
  let entryReused = false
  const entry = arena.word(header.entry)
  for (let i = from; i < to; i++) {
    const ordinal = at(batch.ordinals, i)
    assert(!arena.isAlive(ordinal), `ordinal ${ordinal} is free`)
    if (arena.birth(ordinal) !== undefined) reused++
    if (ordinal === entry) entryReused = true
    const item = arena.itemsAddress / 4 + (i - from) * 3
    arena.u32[item] = ordinal
    arena.u32[item + 1] = at(batch.births, i)
    arena.f32[item + 2] = at(batch.norms, i)
    if (ordinal >= end) end = ordinal + 1
  }
  arena.setWord(header.end, end)
  arena.setWord(header.dead, arena.word(header.dead) - reused)
  arena.setWord(header.linked, arena.word(header.linked) - reused)
  arena.kernel.attach(arena.scratch.length - 1)
  arena.kernel.openJob(to - from)
  if (entryReused) arena.kernel.chooseEntry()
}

/** The living rows of an arena, in the order of their ordinals. */
function batchOf(arena: Arena): Batch {
  const { dimension } = arena.shape.params
  const ordinals: number[] = []
  const end = arena.word(header.end)
  for (let ordinal = 0; ordinal < end; ordinal++) if (arena.isAlive(ordinal)) ordinals.push(ordinal)
  const vectors = new Float32Array(new SharedArrayBuffer(ordinals.length * dimension * 4))
  const from = arena.ownScratch.query / 4
  ordinals.forEach((ordinal, i) => {
    arena.kernel.decodeRow(ordinal)
    vectors.set(arena.f32.subarray(from, from + dimension), i * dimension)
  })
  return {
    ordinals: Uint32Array.from(ordinals),
    births: Uint32Array.from(ordinals, (ordinal) => arena.birth(ordinal) ?? none),
    norms: Float32Array.from(ordinals, (ordinal) => arena.norm(ordinal)),
    vectors,
  }
}

function joined(a: Batch, b: Batch, dimension: number): Batch {
  const n = a.ordinals.length + b.ordinals.length
  const vectors = new Float32Array(new SharedArrayBuffer(n * dimension * 4))
  vectors.set(a.vectors)
  vectors.set(b.vectors, a.vectors.length)
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
  return { ordinals, births, norms, vectors }
}

/** Mean of rows, summed in their order in double precision: the same on every machine. */
function meanOf(vectors: Float32Array, dimension: number): Float32Array {
  const sums = new Float64Array(dimension)
  const rows = vectors.length / dimension
  for (let row = 0; row < rows; row++)
    for (let i = 0; i < dimension; i++) sums[i] = at(sums, i) + at(vectors, row * dimension + i)
  return Float32Array.from(sums, (sum) => sum / rows)
}
