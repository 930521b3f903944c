// A sparse field: rows by ordinal, searched exactly by dot product over inverted lists, changed one event at a time. Removed rows stay in
// the lists until no search can see them; searches distinguish them by version. If the model says so, weights of a query are multiplied by
// the rarity of their indices, from counts as of the searched version.

import { runToEnd } from '@annal/wal'
import { assert, EngineError } from '../../errors.ts'
import type { ByteSource } from '../../memory/sections.ts'
import { xxh64Stream } from '../../memory/xxh64.ts'
import type { SparseFieldSchema } from '../../model/schema.ts'
import { elementAt } from '../element-at.ts'
import type { DenseHits, FieldCut, PreparedCut, SparseField, SparseQuery, SparseRows, SparseSearch } from '../field.ts'
import { InFlight } from '../in-flight.ts'
import type { WorkerPool } from '../pool.ts'
import { ListsMemory } from './attached.ts'
import { IndicesAhead, SparseCut } from './cut.ts'
import { dumpSparse, loadSparse } from './file.ts'
import { compileSparseKernel } from './kernel.ts'
import { postingBytesFirst, postingBytesRewritten, postingBytesUsual } from './lists.ts'
import { forEachPosting } from './postings.ts'
import { readDescriptor, type WeighedList, writeDescriptor } from './query.ts'
import { emptyState, type SparseState } from './state.ts'
import { TermChanges } from './term-changes.ts'
import { addPostings, removePostings } from './term-lists.ts'

export async function openSparseField(definition: SparseFieldSchema, pool: WorkerPool): Promise<SparseField> {
  return new InvertedField(definition, pool, await compileSparseKernel(), emptyState())
}

/** The inverse of a cut. */
export async function loadSparseField(
  definition: SparseFieldSchema,
  pool: WorkerPool,
  source: ByteSource,
): Promise<SparseField> {
  const state = emptyState()
  await loadSparse(definition, state, source)
  return new InvertedField(definition, pool, await compileSparseKernel(), state)
}

/** Changes of an event to the counts that weigh a query, with TermChanges; they apply from the next version on. */
interface PendingCounts {
  rows: number
}

/** Terms counted in one turn of the event loop. */
const turnTerms = 2 ** 16

const noHits: DenseHits = {
  ordinals: new Uint32Array(0),
  similarities: new Float32Array(0),
  visited: 0,
  distances: 0,
}

/** The query is in its descriptor. */
const noQuery = new Float32Array(0)

class InvertedField implements SparseField {
  readonly definition: SparseFieldSchema
  readonly #pool: WorkerPool
  readonly #module: WebAssembly.Module
  /** What the pool knows of the field. Undefined: the field has no memory yet. */
  #shared: ListsMemory | undefined
  readonly #state: SparseState
  readonly #running = new InFlight<Promise<unknown>>()
  readonly #preparing = new Set<IndicesAhead>()
  readonly #cuts = new Set<SparseCut>()
  #version = 0
  #pending: PendingCounts | undefined
  readonly #changes = new TermChanges()
  #closed = false

  constructor(definition: SparseFieldSchema, pool: WorkerPool, module: WebAssembly.Module, state: SparseState) {
    this.definition = definition
    this.#pool = pool
    this.#state = state
    this.#module = module
    this.#attach()
  }

  /** Announces the memory to the workers as soon as there is one. */
  #attach(): void {
    const { memory } = this.#state.memory
    if (memory === undefined || this.#shared !== undefined) return
    this.#shared = new ListsMemory(memory, this.#module, () => this.#state.memory.used)
    this.#pool.attach(this.#shared)
  }

  get rows(): number {
    return this.#state.rows + (this.#pending?.rows ?? 0)
  }

  reserve(end: number, postings: number): void {
    const { memory } = this.#state
    // Each posting may start a list, or make its block and directory be written again, up to twice as large; there are at most as many of
    // these as use the current memory.
    const worst = postings * postingBytesFirst + Math.min(postings * postingBytesRewritten, 2 * memory.used)
    memory.reserve(end, postings * postingBytesUsual, worst)
    this.#attach()
  }

  async apply(version: number, rows: SparseRows | undefined, removed: SparseRows): Promise<void> {
    this.#refuseWhenClosed()
    await this.#applyCountsInTurns()
    this.#version = version
    const counts: PendingCounts = { rows: 0 }
    this.#pending = counts
    if (rows !== undefined) await this.#insert(version, rows, counts)
    for (const ordinal of removed.ordinals) {
      assert(this.#state.memory.hasRow(ordinal), `ordinal ${ordinal} has a row`)
      this.#beforeVersionsChange(ordinal)
      this.#state.memory.bury(ordinal, version)
    }
    counts.rows -= removed.ordinals.length
    for (const index of removed.indices) this.#changes.add(this.#state.vocabulary.find(index), -1)
  }

  async #insert(version: number, rows: SparseRows, counts: PendingCounts): Promise<void> {
    const { memory, vocabulary } = this.#state
    memory.reclaim()
    const end = 1 + rows.ordinals.reduce((most, ordinal) => Math.max(most, ordinal), -1)
    memory.reserve(end, 0, 0)
    this.#attach()
    for (const ordinal of rows.ordinals) {
      assert(!memory.hasRow(ordinal), `ordinal ${ordinal} is free`)
      this.#beforeVersionsChange(ordinal)
      memory.setBirth(ordinal, version)
    }
    this.#state.end = Math.max(this.#state.end, end)
    counts.rows += rows.ordinals.length
    await forEachPosting(rows, ({ index, ordinals, weights }) => {
      this.#beforeListChanges(index)
      const term = vocabulary.findOrAdd(index)
      if (!vocabulary.hasPostings(term)) this.#beforeIndexChanges(index)
      addPostings(this.#state, term, { ordinals, weights })
      this.#changes.add(term, ordinals.length)
    })
  }

  /** Applies the counts of the previous event, which searches see from now on. */
  #applyCounts(): void {
    this.#applySomeCounts(Number.POSITIVE_INFINITY)
  }

  /** Like #settle, but yields to other work if there are many. */
  async #applyCountsInTurns(): Promise<void> {
    const pending = this.#pending
    // Another search may have started with it as well, and a synchronous caller may have completed it.
    while (pending !== undefined && this.#pending === pending) {
      if (this.#applySomeCounts(turnTerms)) return
      await new Promise<void>((resume) => setImmediate(resume))
    }
  }

  /** Returns whether nothing is left. */
  #applySomeCounts(termsMax: number): boolean {
    if (this.#pending === undefined) return true
    const { vocabulary } = this.#state
    const isDone = this.#changes.take(termsMax, (term, change) => {
      this.#beforeListChanges(vocabulary.indexOf(term))
      vocabulary.setRows(term, vocabulary.rows(term) + change)
    })
    if (!isDone) return false
    this.#state.rows += this.#pending.rows
    this.#pending = undefined
    return true
  }

  async purge(rows: SparseRows): Promise<void> {
    await this.#applyCountsInTurns()
    const { memory, vocabulary } = this.#state
    memory.reclaim()
    await forEachPosting(rows, ({ index, ordinals }) => {
      const term = vocabulary.find(index)
      assert(term >= 0, `index ${index} of a row has a list`)
      this.#beforeListChanges(index)
      if (removePostings(this.#state, term, ordinals)) return
      this.#beforeIndexChanges(index)
      vocabulary.remove(term)
    })
  }

  async search(query: SparseQuery, options: SparseSearch): Promise<DenseHits> {
    this.#refuseWhenClosed()
    if (options.version >= this.#version && this.#pending !== undefined) await this.#applyCountsInTurns()
    const { memory } = this.#state
    const lists = this.#weigh(query)
    if (lists.length === 0) return noHits
    const descriptor = writeDescriptor(memory, lists, { ...options, allowed: options.allowed?.words })
    const leave = memory.enter()
    const found = this.#pool.submit({
      kind: 'sparse',
      memory: this.#shared?.id ?? 0,
      query: noQuery,
      k: options.k,
      version: options.version,
      descriptor: descriptor.address,
    })
    const place = this.#running.add(found)
    try {
      await found
      const { ordinals, similarities, scored, postings } = readDescriptor(memory, descriptor)
      return { ordinals, similarities, visited: postings, distances: scored }
    } finally {
      leave()
      memory.free(descriptor.address, descriptor.bytes)
      this.#running.remove(place)
    }
  }

  /** The lists of the query's indices, with weights of the model. Weights that are not above 0 are ignored. */
  #weigh({ indices, values }: SparseQuery): WeighedList[] {
    const { lists, vocabulary, rows } = this.#state
    const weighed: WeighedList[] = []
    indices.forEach((index, i) => {
      const value = elementAt(values, i)
      const term = value > 0 ? vocabulary.find(index) : -1
      if (term < 0 || !vocabulary.hasPostings(term)) return
      const weight = this.definition.params.model === 'endee_bm25' ? value * rarity(rows, vocabulary.rows(term)) : value
      const single = vocabulary.single(term)
      if (single === undefined) {
        const directory = vocabulary.directory(term)
        const list = { directory, blocks: lists.blocks(directory) }
        weighed.push({ list, weight, magnitude: lists.magnitude(directory) })
      } else weighed.push({ list: single, weight, magnitude: Math.abs(single.weight) })
    })
    return weighed
  }

  prepareCut(): PreparedCut {
    const ahead = new IndicesAhead(this.#state)
    this.#preparing.add(ahead)
    return {
      isDelta: false,
      copyAhead: (rest) => ahead.sort(rest),
      isStale: () => false,
      take: () => {
        this.#preparing.delete(ahead)
        return this.#cut(ahead.finish())
      },
      release: () => {
        ahead.release()
        this.#preparing.delete(ahead)
      },
    }
  }

  #cut(indices: Uint32Array): FieldCut {
    this.#applyCounts()
    const cut = new SparseCut(this.#state, indices)
    this.#cuts.add(cut)
    return {
      isDelta: false,
      pieces: dumpSparse(this.definition, cut),
      written: () => undefined,
      release: () => {
        this.#cuts.delete(cut)
        cut.release()
      },
    }
  }

  #beforeListChanges(index: number): void {
    for (const cut of this.#cuts) cut.beforeListChanges(index)
  }
  /** Must be called before the index gets its first posting or loses its last. */
  #beforeIndexChanges(index: number): void {
    for (const ahead of this.#preparing) ahead.beforeChange(index)
  }
  #beforeVersionsChange(ordinal: number): void {
    for (const cut of this.#cuts) cut.beforeVersionsChange(ordinal)
  }

  *digestInSteps(): Generator<void, bigint> {
    const { vocabulary } = this.#state
    const cut = this.#cut(vocabulary.indicesOf(0, vocabulary.end).sort())
    try {
      const hash = xxh64Stream()
      for (const piece of cut.pieces) {
        hash.update(piece)
        yield
      }
      return hash.digest()
    } finally {
      cut.release()
    }
  }

  digest(): bigint {
    return runToEnd(this.digestInSteps())
  }

  bytes(): { readonly [part: string]: number } {
    return { sparse: this.#state.memory.bytes + this.#state.vocabulary.bytes() + this.#changes.bytes() }
  }

  #refuseWhenClosed(): void {
    if (this.#closed) throw new EngineError('closed', `field "${this.definition.name}" is closed`)
  }

  async close(): Promise<void> {
    if (this.#closed) return
    this.#closed = true
    await Promise.allSettled([...this.#running])
    if (this.#shared !== undefined) this.#pool.release(this.#shared)
  }
}

/** Weight of an index that `having` of `rows` rows have: ln(1 + (rows - having + 0.5) / (having + 0.5)). */
export function rarity(rows: number, having: number): number {
  return Math.log1p((rows - having + 0.5) / (having + 0.5))
}
