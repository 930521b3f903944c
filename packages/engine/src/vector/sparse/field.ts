// A sparse field: rows by ordinal, searched exactly by dot product over inverted lists, changed one event at a time. Removed rows stay in
// the lists until no search can see them; searches distinguish them by version. If the model says so, weights of a query are multiplied by
// the rarity of their indices, from counts as of the searched version. Reader threads search in the same memory; see term-view.ts.

import { runToEnd, yieldToOthers } from '@annal/wal'
import { assert, EngineError } from '../../errors.ts'
import type { ByteSource } from '../../memory/sections.ts'
import { xxh64Stream } from '../../memory/xxh64.ts'
import type { SparseFieldSchema } from '../../model/schema.ts'
import { elementAt } from '../element-at.ts'
import {
  type DenseHits,
  type FieldCut,
  type FieldTotals,
  noHits,
  type PreparedCut,
  type SharedLists,
  type SparseField,
  type SparseQuery,
  type SparseRows,
  type SparseSearch,
  type TextQuery,
} from '../field.ts'
import { InFlight } from '../in-flight.ts'
import type { WorkerPool } from '../pool.ts'
import { ListsMemory } from './attached.ts'
import { IndicesAhead, SparseCut } from './cut.ts'
import { storeTotals, totalsAsOf } from './field-totals.ts'
import { dumpSparse, type FieldHead, loadSparse } from './file.ts'
import { compileSparseKernel, instantiateSparseKernel, type SparseKernel } from './kernel.ts'
import { postingBytesFirst, postingBytesRewritten, postingBytesUsual } from './lists.ts'
import type { OtherReads } from './memory.ts'
import { lengthOf } from './packed-counts.ts'
import type { PostingForm } from './posting-form.ts'
import { forEachPosting } from './postings.ts'
import { type Descriptor, readDescriptor, writeDescriptor } from './query.ts'
import { emptyState, type SparseState } from './state.ts'
import { addPostings, removePostings, removeRow } from './term-lists.ts'
import { changing, rowsAt, type TermPlace, type WeighedList, weighLists } from './term-view.ts'
import { postingsOfTexts, type TextImpacts, weighTexts } from './text-lists.ts'

/** A sparse field, or a text field: form `counts`. */
export async function openSparseField(
  definition: SparseFieldSchema,
  pool: WorkerPool,
  form?: 'weights',
): Promise<SparseField>
export async function openSparseField(
  definition: TextDefinition,
  pool: WorkerPool,
  form: 'counts',
): Promise<SparseField>
export async function openSparseField(
  definition: SparseFieldSchema | TextDefinition,
  pool: WorkerPool,
  form: PostingForm = 'weights',
): Promise<SparseField> {
  const state = emptyState(form, readersOf(pool), pool.listsBytesMax)
  return new InvertedField(headOf(definition, form), pool, await compileSparseKernel(), state)
}

/** The inverse of a cut. */
export async function loadSparseField(
  definition: SparseFieldSchema,
  pool: WorkerPool,
  source: ByteSource,
  form?: 'weights',
): Promise<SparseField>
export async function loadSparseField(
  definition: TextDefinition,
  pool: WorkerPool,
  source: ByteSource,
  form: 'counts',
): Promise<SparseField>
export async function loadSparseField(
  definition: SparseFieldSchema | TextDefinition,
  pool: WorkerPool,
  source: ByteSource,
  form: PostingForm = 'weights',
): Promise<SparseField> {
  const head = headOf(definition, form)
  const state = emptyState(form, readersOf(pool), pool.listsBytesMax)
  await loadSparse(head, state, source)
  if (state.end > 0) state.memory.makeAreas(state.end)
  return new InvertedField(head, pool, await compileSparseKernel(), state)
}

/** What the lists of texts need of the definition of their field. */
interface TextDefinition {
  readonly name: string
}

function headOf(definition: SparseFieldSchema | TextDefinition, form: PostingForm): FieldHead {
  if (form === 'counts') return { form, definition }
  assert('params' in definition, 'weights have a definition of a sparse field')
  return { form, definition }
}

function readersOf({ attachments, threads }: WorkerPool): number {
  return attachments - threads
}

/** A text query that may read more postings is run by a worker. */
const postingsHereMax = 2 ** 15

/** Removed postings counted in one turn of the event loop. */
const turnPostings = 2 ** 16

interface QueryLists {
  readonly lists: readonly WeighedList[]
  readonly impacts?: TextImpacts
}

const noLists: QueryLists = { lists: [] }

/** Whether a worker would take longer to begin than the search takes. */
function isShort({ lists, impacts }: QueryLists): boolean {
  return impacts !== undefined && postingsOfTexts({ lists, impacts }) <= postingsHereMax
}

/** The query is in its descriptor. */
const noQuery = new Float32Array(0)

class InvertedField implements SparseField {
  readonly #head: FieldHead
  readonly #pool: WorkerPool
  readonly #module: WebAssembly.Module
  /** What the pool knows of the field. Undefined: the field has no memory yet. */
  #shared: ListsMemory | undefined
  /** Undefined until a search runs in this thread. */
  #kernel: SparseKernel | undefined
  readonly #state: SparseState
  readonly #running = new InFlight<Promise<unknown>>()
  readonly #preparing = new Set<IndicesAhead>()
  readonly #cuts = new Set<SparseCut>()
  /** The version of the event being applied, or of the newest one. */
  #version = 0
  /** Number of rows before that event. */
  #rowsBefore: number
  #lists: SharedLists | undefined
  #closed = false

  constructor(head: FieldHead, pool: WorkerPool, module: WebAssembly.Module, state: SparseState) {
    this.#head = head
    this.#pool = pool
    this.#state = state
    this.#module = module
    this.#rowsBefore = state.rows
    this.#attach()
  }

  get definition(): { readonly name: string } {
    return this.#head.definition
  }

  /** Announces the memory to the workers as soon as there is one. */
  #attach(): void {
    const { memory } = this.#state.memory
    if (memory === undefined || this.#shared !== undefined) return
    this.#shared = new ListsMemory(memory, this.#module, () => this.#state.memory.used)
    this.#pool.attach(this.#shared)
  }

  get rows(): number {
    return this.#state.rows
  }

  set others(others: OtherReads | undefined) {
    this.#state.memory.others = others
  }

  get chunks(): SparseField['chunks'] {
    return this.#state.vocabulary.chunks
  }

  /** The same value until it changes. */
  get shared(): SharedLists | undefined {
    const { areas } = this.#state.memory
    const handle = this.#shared?.handle
    if (areas === undefined || handle === undefined) return undefined
    const vocabulary = this.#state.vocabulary.shared
    const known = this.#lists
    const isSame = known?.vocabulary === vocabulary && known.areas === areas
    if (!isSame) this.#lists = { handle, areas, vocabulary }
    return this.#lists
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
    const before = this.#state.rows
    this.#begin(version)
    this.#rowsBefore = before
    if (rows !== undefined) await this.#insert(version, rows)
    await this.#countRemoved(version, removed.indices)
    for (const ordinal of removed.ordinals) {
      assert(this.#state.memory.hasRow(ordinal), `ordinal ${ordinal} has a row`)
      this.#beforeVersionsChange(ordinal)
      this.#state.memory.bury(ordinal, version)
    }
    this.#state.rows = before + (rows?.ordinals.length ?? 0) - removed.ordinals.length
    if (this.#head.form === 'counts') this.#countLengths(version, rows, removed)
  }

  #countLengths(version: number, rows: SparseRows | undefined, removed: SparseRows): void {
    const state = this.#state
    state.length += (rows === undefined ? 0 : lengthOfRows(rows)) - lengthOfRows(removed)
    if (rows === undefined && removed.ordinals.length === 0) return
    storeTotals(state.memory.u32, version, { rows: state.rows, length: state.length })
  }

  #begin(version: number): void {
    this.#version = version
    this.#state.memory.version = version
  }

  async #insert(version: number, rows: SparseRows): Promise<void> {
    const { memory, vocabulary } = this.#state
    memory.reclaim()
    const end = 1 + rows.ordinals.reduce((most, ordinal) => Math.max(most, ordinal), -1)
    memory.reserve(end, 0, 0)
    memory.makeAreas(end)
    this.#attach()
    for (const ordinal of rows.ordinals) {
      assert(!memory.hasRow(ordinal), `ordinal ${ordinal} is free`)
      this.#beforeVersionsChange(ordinal)
      memory.setBirth(ordinal, version)
    }
    this.#state.end = Math.max(this.#state.end, end)
    await forEachPosting(rows, ({ index, ordinals, weights }) => {
      this.#beforeListChanges(index)
      const term = vocabulary.findOrAdd(index)
      if (!vocabulary.hasPostings(term)) this.#beforeIndexChanges(index)
      addPostings(this.#state, term, { ordinals, weights }, version)
    })
  }

  /** Before the rows are removed, because the only row of a term counts itself. */
  async #countRemoved(version: number, indices: Uint32Array): Promise<void> {
    for (const [i, index] of indices.entries()) {
      this.#beforeListChanges(index)
      removeRow(this.#state, this.#state.vocabulary.find(index), version)
      if (i % turnPostings === turnPostings - 1) await yieldToOthers()
    }
  }

  async purge(version: number, rows: SparseRows): Promise<void> {
    const { memory, vocabulary } = this.#state
    memory.version = version
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

  async search(query: SparseQuery | TextQuery, options: SparseSearch): Promise<DenseHits> {
    this.#refuseWhenClosed()
    const found = this.#weigh(query, options.version)
    if (found.lists.length === 0) return noHits
    return isShort(found) ? this.#searchHere(found, options) : this.#searchInPool(found, options)
  }

  searchAtOnce(query: TextQuery, options: SparseSearch): DenseHits | undefined {
    this.#refuseWhenClosed()
    const found = this.#weigh(query, options.version)
    if (found.lists.length === 0) return noHits
    return isShort(found) ? this.#searchHere(found, options) : undefined
  }

  #describe({ lists, impacts }: QueryLists, options: SparseSearch): Descriptor {
    return writeDescriptor(this.#state.memory, lists, { ...options, impacts, allowed: options.allowed?.words })
  }

  #searchHere(lists: QueryLists, options: SparseSearch): DenseHits {
    const { memory } = this.#state
    assert(memory.memory !== undefined, 'lists are in a memory')
    this.#kernel ??= instantiateSparseKernel(this.#module, memory.memory)
    const descriptor = this.#describe(lists, options)
    try {
      this.#kernel.search(descriptor.address)
      return this.#hitsOf(descriptor)
    } finally {
      memory.free(descriptor.address, descriptor.bytes)
    }
  }

  async #searchInPool(lists: QueryLists, options: SparseSearch): Promise<DenseHits> {
    const { memory } = this.#state
    const { k, version, caller } = options
    const descriptor = this.#describe(lists, options)
    const leave = memory.enter()
    const found = this.#pool.submit({
      kind: 'sparse',
      memory: this.#shared?.id ?? 0,
      query: noQuery,
      k,
      version,
      descriptor: descriptor.address,
      caller,
    })
    const place = this.#running.add(found)
    try {
      await found
      return this.#hitsOf(descriptor)
    } finally {
      leave()
      memory.free(descriptor.address, descriptor.bytes)
      this.#running.remove(place)
    }
  }

  #hitsOf({ address }: Descriptor): DenseHits {
    const { ordinals, similarities, scored, postings } = readDescriptor(this.#state.memory, address)
    return { ordinals, similarities, visited: postings, distances: scored }
  }

  #weigh(query: SparseQuery | TextQuery, version: number): QueryLists {
    const { memory } = this.#state
    const placeOf = (index: number) => this.#placeOf(index)
    if (this.#head.form === 'counts') {
      assert('terms' in query, 'a query of texts has terms')
      if (memory.memory === undefined) return noLists
      const weighed = weighTexts(query, version, memory, placeOf)
      assert(weighed !== changing, 'searches begin with the newest version')
      return weighed ?? noLists
    }
    assert(!('terms' in query), 'a query of weights has values')
    const isWeighed = this.#head.definition.params.model === 'endee_bm25'
    const rows = version < this.#version ? this.#rowsBefore : this.#state.rows
    const lists = weighLists(query, { version, rows: isWeighed ? rows : undefined }, memory, placeOf)
    assert(lists !== changing, 'searches begin with the newest version')
    return { lists }
  }

  markRows(index: number, version: number, bitmap: Uint32Array): void {
    this.#refuseWhenClosed()
    const place = this.#placeOf(index)
    if (place === undefined) return
    const { memory, lists } = this.#state
    if ('ordinal' in place) memory.markVisible(Uint32Array.of(place.ordinal), version, bitmap)
    else
      for (const block of lists.blocksOf(place.directory))
        memory.markVisible(lists.postings(block).ordinals, version, bitmap)
  }

  rowsHaving(index: number, version: number): number {
    this.#refuseWhenClosed()
    const place = this.#placeOf(index)
    const rows = place === undefined ? 0 : rowsAt(this.#state.memory, place, version)
    assert(rows !== undefined, 'counts are read as of the newest version')
    return rows
  }

  totals(version: number): FieldTotals {
    this.#refuseWhenClosed()
    const { memory } = this.#state
    if (memory.memory === undefined) return { rows: 0, length: 0 }
    const totals = totalsAsOf(memory.u32, version)
    assert(totals !== undefined, 'totals are read as of the newest version')
    return totals
  }

  get end(): number {
    return this.#state.end
  }

  #placeOf(index: number): TermPlace {
    const { vocabulary } = this.#state
    const term = vocabulary.find(index)
    if (term < 0 || !vocabulary.hasPostings(term)) return undefined
    return vocabulary.single(term) ?? { directory: vocabulary.directory(term) }
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
    const cut = new SparseCut(this.#state, indices)
    this.#cuts.add(cut)
    return {
      isDelta: false,
      pieces: dumpSparse(this.#head, cut),
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
    return { sparse: this.#state.memory.bytes + this.#state.vocabulary.bytes() }
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

/** Total length of rows of texts: each posting has the length of its row, and a row without terms has the length 0. */
function lengthOfRows({ counts, values }: SparseRows): number {
  let total = 0
  let posting = 0
  for (const terms of counts) {
    if (terms > 0) total += lengthOf(elementAt(values, posting))
    posting += terms
  }
  return total
}
