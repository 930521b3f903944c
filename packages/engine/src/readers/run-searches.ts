// Runs checked searches in a reader's thread, all of one pinned version, as search.ts runs them for the owner: searches of several fields, of
// sparse fields and fields with several vectors, by the vector of a stored object, reordered by original vectors, and with the vectors of the
// hits. What exceeds the work of one turn, waits for a slow disk, or is an error is left to the owner. Loaded when it is first needed.
import { unitRows } from '../input/pooling.ts'
import { writtenOverheadBytes } from '../limits.ts'
import type { DenseRow } from '../model/object.ts'
import { hasLists } from '../model/schema.ts'
import type { SearchHit, SearchResult } from '../model/search-result.ts'
import { comparedVector, vectorForm } from '../model/vector-form.ts'
import type { SharedOriginals } from '../originals/originals-rows.ts'
import { CandidateRanking } from '../search/candidate-ranking.ts'
import { chooseEfs, type EfChooser } from '../search/ef-chooser.ts'
import { FoundHit } from '../search/found-hit.ts'
import { fuseResults } from '../search/fuse.ts'
import { maxSim } from '../search/max-sim.ts'
import { PooledOrder } from '../search/pooled-order.ts'
import { pooledTask } from '../search/pooled-task.ts'
import { type Best, Ranking } from '../search/ranking.ts'
import type { DenseTask, MultiTask, SearchPlanInput, SparseTask, Task, TextTask } from '../search/request.ts'
import { candidatesFor, isRescored, withoutOwn } from '../search/rescore.ts'
import { denseRow, memberRows } from '../search/returned-rows.ts'
import { isUnresolvedByRows } from '../search/run-multi.ts'
import { anySimilarity, clampSimilarities, similarityRangeOf } from '../search/similarity-range.ts'
import type { SharedMatches } from '../sharing/messages.ts'
import type { OriginalComparer } from '../vector/dense/original-comparer.ts'
import { walkEntriesMax } from '../vector/dense/scratch.ts'
import { noHits, type SparseQuery } from '../vector/field.ts'
import { findRows, leastWork, type Work } from './find-hits.ts'
import { findWords } from './find-texts.ts'
import { emptyPlace, HitBuffer } from './hit-buffer.ts'
import type { OriginalFiles, ReadTurn, Slots } from './original-files.ts'
import { copyId, copyRecordText, slotsOf } from './read-objects.ts'
import { type ListsReader, listsOf } from './reader-lists.ts'
import type { ReplicaView } from './replica-view.ts'

/** A checked search, and the matches of its filter as of the pinned version. */
export interface PinnedSearch {
  readonly input: SearchPlanInput
  readonly matches: SharedMatches | undefined
}

/** A search whose ef is chosen. */
interface PreparedSearch extends PinnedSearch, ReturnType<typeof chooseEfs> {}

/** The pinned state that is searched. */
export interface PinnedState {
  readonly view: ReplicaView
  readonly version: number
  readonly files: OriginalFiles
  readonly comparer: OriginalComparer
  /** Chooses ef for searches that state a recall. */
  readonly chooser: EfChooser
  readonly reader: ListsReader
  /** Whether the ids that were looked up so far are those of the version. */
  areIdsUnchanged(): boolean
}

/** Candidates whose original vectors are compared in one turn, and products of their components. The owner has more time. */
const candidatesMax = 512
const productsMax = 2 ** 21

/** Thrown where only the owner can search, and where an object is being changed. Without a stack: they are not faults, and frequent. */
const left = signal('only the owner can run this search')
const changing = signal('an object is being changed')
const hits = new HitBuffer()
const place = emptyPlace()

/** The results, in the order of the searches. They may have up to `bytesMax` bytes together. */
export function runSearches(
  state: PinnedState,
  searches: readonly PinnedSearch[],
  bytesMax: number,
): readonly SearchResult[] | 'again' | 'owner' {
  try {
    return new Turn(state, bytesMax).run(searches)
  } catch (reason) {
    if (reason === left) return 'owner'
    if (reason === changing) return 'again'
    throw reason
  }
}

/** What was found in a field. */
interface Found extends Best {
  /** The members of each hit of a multi-vector field, if vectors are requested. */
  readonly members?: readonly Float32Array[]
}

class Turn {
  readonly #state: PinnedState
  readonly #work: Work = { left: 1 }
  /** By id. */
  readonly #ordinals = new Map<string, number>()
  #bytes: number
  #products = productsMax
  #reads: ReadTurn | undefined

  constructor(state: PinnedState, bytesMax: number) {
    this.#state = state
    this.#bytes = bytesMax
  }

  run(searches: readonly PinnedSearch[]): readonly SearchResult[] {
    for (const { input } of searches) for (const task of input.tasks) this.#findObject(task)
    // Before anything is read by ordinals that may be wrong.
    if (this.#ordinals.size > 0 && !this.#state.areIdsUnchanged()) throw changing
    const prepared = searches.map((search) => this.#prepare(search))
    if (prepared.length > 1) this.#refuseTooMuch(prepared)
    return prepared.map((search) => this.#search(search))
  }

  #prepare({ input, matches }: PinnedSearch): PreparedSearch {
    return { input, matches, ...chooseEfs(input, matches?.count, this.#state.chooser) }
  }

  /** Leaves everything to the owner before the first search runs, because the owner runs all of them again. */
  #refuseTooMuch(searches: readonly PreparedSearch[]): void {
    let work = 0
    let bytes = 0
    for (const { input, matches, tasks } of searches) {
      for (const { kind, fieldIndex, definition, k, ef, scoreThreshold } of tasks) {
        if (kind !== 'dense') continue
        const { exact, boostPercentage, prefilterThreshold } = input
        const search = { exact, boostPercentage, prefilterThreshold, ef: Math.max(ef, k) }
        work += leastWork({ view: this.#state.view, matches }, { ...search, fieldIndex, params: definition.params })
        const rows = matches?.count ?? this.#state.view.words.pinnedRows(fieldIndex)
        if (scoreThreshold === undefined) bytes += writtenOverheadBytes * Math.min(k, rows)
      }
    }
    if (work > this.#work.left || bytes > this.#bytes) throw left
  }

  /** Finds the object whose vector is the query. The owner refuses ids of no object. */
  #findObject({ source }: Task): void {
    if (source.kind === 'vector' || this.#ordinals.has(source.id)) return
    const ordinal = this.#state.view.find(source.id) ?? -1
    if (ordinal < 0) throw left
    this.#ordinals.set(source.id, ordinal)
  }

  #search(search: PreparedSearch): SearchResult {
    const { tasks, recall } = search
    const { includeVectors, includeTexts, fusion, groups } = search.input
    // The owner has the values of filters, and the texts of objects.
    if (groups || includeTexts) throw left
    const lists = tasks.map((task): [string, SearchHit[]] => {
      const found = this.#runTask(task, search)
      return [task.definition.name, this.#createHits(task, found, includeVectors)]
    })
    const results = Object.fromEntries(lists)
    const { view } = this.#state
    const fused = fusion && fuseResults(results, fusion)
    return { results, ...(fused && { fused }), complete: true, ...(recall && { recall }), lsn: view.words.pinnedLsn }
  }

  #runTask(task: Task, search: PinnedSearch): Found {
    const { input } = search
    if (input.explain) throw left
    if (task.kind === 'sparse') return this.#runSparse(task, search)
    if (task.kind === 'text') return this.#runText(task, search)
    const shared = this.#state.view.facts.fields[task.fieldIndex]
    if (task.kind === 'multi') {
      if (input.exact || shared?.originals === undefined) throw left
      return this.#runMulti(task, shared.originals, search)
    }
    if (shared?.originals === undefined || !shared.hasOriginals) return this.#runGraph(task, search)
    // Compares all original vectors.
    if (input.exact) throw left
    if (isRescored(task, input)) return this.#runRescored(task, shared.originals, search)
    const found = this.#runGraph(task, search)
    // Many original vectors must be compared.
    if (hits.isUnresolved && input.rescore !== false) throw left
    return found
  }

  /** See runSparse of the owner. */
  #runSparse(task: SparseTask, { matches }: PinnedSearch): Best {
    const { view, version, reader } = this.#state
    const { fieldIndex, definition, k, source, scoreThreshold } = task
    if (matches?.count === 0) return noHits
    const own = source.kind === 'stored' ? (this.#ordinals.get(source.id) as number) : undefined
    const query = source.kind === 'vector' ? source.query : this.#termsOf(fieldIndex, own as number)
    const lists = listsOf(view, fieldIndex, reader)
    // No object has had a vector in the field.
    if (lists === undefined) return noHits
    const rows = definition.params.model === 'endee_bm25' ? view.words.pinnedRows(fieldIndex) : undefined
    const search = { query, k: own === undefined ? k : k + 1, version, rows, matches }
    const found = lists.search(search, this.#work)
    if (found === 'again') throw changing
    if (found === 'owner') throw left
    if (own === undefined && scoreThreshold === undefined) return found
    return trim(found, { k, without: own, threshold: scoreThreshold })
  }

  #runText({ fieldIndex, k, source, scoreThreshold, options }: TextTask, { matches }: PinnedSearch): Best {
    const { view, version, reader } = this.#state
    if (source.kind === 'stored') throw left
    const search = { fieldIndex, k, query: source.query, options }
    const found = findWords({ view, version, matches }, search, reader, this.#work)
    if (found === 'again') throw changing
    if (found === 'owner') throw left
    if (scoreThreshold === undefined) return found
    return trim(found, { k, without: undefined, threshold: scoreThreshold })
  }

  /** The terms of the object whose vector is the query. */
  #termsOf(fieldIndex: number, ordinal: number): SparseQuery {
    const { view } = this.#state
    view.findAddresses(ordinal, place)
    const terms = view.locate(place) ? view.sparseOf(place) : undefined
    if (terms === undefined) throw changing
    const own = terms.find(({ field }) => field === fieldIndex)
    if (own === undefined) throw left
    // Those of a record that is being replaced can be any bits. Numbers that are not finite could not be weighed.
    if (!own.values.every(Number.isFinite)) throw changing
    return own
  }

  /** See runField of the owner. */
  #runGraph(task: DenseTask, search: PinnedSearch): Best {
    const own = this.#ownOf(task)
    const { k, scoreThreshold } = task
    const query = task.source.kind === 'vector' ? task.source.query : this.#rowOf(task.fieldIndex, own as number)
    const found = this.#findRows({ ...task, k: own === undefined ? k : k + 1 }, query, search)
    clampSimilarities(found.similarities, similarityRangeOf(task.definition.params))
    if (own === undefined && scoreThreshold === undefined) return found
    return trim(found, { k, without: own, threshold: scoreThreshold })
  }

  #findRows(task: DenseTask, query: Float32Array, { input, matches }: PinnedSearch): Best {
    const { view, version } = this.#state
    const { fieldIndex, definition, k } = task
    const { exact, boostPercentage, prefilterThreshold } = input
    const search = {
      ...{ fieldIndex, params: definition.params, query, k, ef: Math.max(task.ef, k) },
      ...{ exact, boostPercentage, prefilterThreshold, scoreThreshold: Number.NEGATIVE_INFINITY, range: anySimilarity },
    }
    if (!findRows({ view, version, matches }, search, this.#work, hits)) throw left
    return {
      ordinals: Uint32Array.from({ length: hits.count }, (_, hit) => hits.ordinal(hit)),
      similarities: Float32Array.from({ length: hits.count }, (_, hit) => hits.similarity(hit)),
    }
  }

  /** See runRescored of the owner. */
  #runRescored(task: DenseTask, originals: SharedOriginals, search: PinnedSearch): Best {
    const own = this.#ownOf(task)
    const { dimension, precision, spaceType } = task.definition.params
    const query = task.source.kind === 'vector' ? task.source.query : this.#comparedOf(task, originals, own as number)
    const wanted = Math.min(walkEntriesMax, candidatesFor(task.k, task.ef, precision) + (own === undefined ? 0 : 1))
    const found = this.#findRows({ ...task, k: wanted, ef: Math.max(task.ef, wanted) }, query, search)
    if (hits.isUnresolved) throw left
    const candidates = own === undefined ? found : trim(found, { k: wanted, without: own, threshold: undefined })
    const { ordinals } = candidates
    if (ordinals.length > candidatesMax) throw left
    const turn = this.#beginReads(originals)
    const { files, comparer } = this.#state
    comparer.begin(query, spaceType)
    const ranking = new CandidateRanking(candidates, task)
    while (!ranking.isDone) {
      this.#takeProducts(dimension)
      const { slot } = this.#slotsOf(task, ordinals[ranking.next] as number)
      const headSum = files.readRowNow(turn, originals, slot, comparer.row)
      if (headSum === undefined) throw left
      const similarity = comparer.compare(headSum)
      // The owner reports a wrong checksum.
      if (Number.isNaN(similarity)) throw left
      ranking.put(similarity)
    }
    const best = ranking.result()
    // More candidates may contain nearer rows.
    if (best.isUnresolved || (found.ordinals.length >= wanted && best.wantedForCopies > wanted)) throw left
    return best
  }

  /** See runMulti of the owner. */
  #runMulti(task: MultiTask, originals: SharedOriginals, search: PinnedSearch): Found {
    const { source, definition, k, scoreThreshold } = task
    const { dimension, spaceType } = definition.params
    const own = source.kind === 'stored' ? this.#ordinals.get(source.id) : undefined
    const members = source.kind === 'vector' ? source.query : this.#originalOf(task, originals, own as number)
    const pooled = pooledTask(task, members)
    const found = withoutOwn(this.#findRows(pooled, pooled.source.query, search), own)
    const mayRepeat = search.input.rescore !== false
    if (mayRepeat && isUnresolvedByRows(task, { found: hits })) throw left
    const order = new PooledOrder(found, task, pooled)
    const candidates = Array.from(found.ordinals, (ordinal) => ({ ordinal, slots: this.#slotsOf(task, ordinal) }))
    const vectors = candidates.reduce((sum, { slots }) => sum + slots.count, 0)
    this.#takeProducts(vectors * members.length)
    const query = spaceType === 'cosine' ? unitRows(members, dimension) : members
    const turn = this.#beginReads(originals)
    const ranking = new Ranking(k, scoreThreshold)
    const read = new Map<number, Float32Array>()
    for (const { ordinal, slots } of candidates) {
      const own = this.#read(turn, originals, slots)
      ranking.offer(ordinal, maxSim(query, own, dimension, spaceType))
      order.add(own)
      if (search.input.includeVectors) read.set(ordinal, own)
    }
    if (mayRepeat && order.isUnresolved) throw left
    const best = ranking.best()
    if (!search.input.includeVectors) return best
    return { ...best, members: Array.from(best.ordinals, (ordinal) => read.get(ordinal) as Float32Array) }
  }

  /** The ordinal of the object whose vector is the query; undefined if the query is a vector. */
  #ownOf({ source, fieldIndex }: DenseTask): number | undefined {
    if (source.kind === 'vector') return undefined
    const own = this.#ordinals.get(source.id) as number
    if (this.#state.view.hasRow(fieldIndex, own, this.#state.version)) return own
    throw left
  }

  #rowOf(fieldIndex: number, ordinal: number): Float32Array {
    const row = this.#state.view.row(fieldIndex, ordinal)
    if (row === undefined) throw left
    return row
  }

  #comparedOf(task: DenseTask, originals: SharedOriginals, ordinal: number): Float32Array {
    const form = this.#state.view.originalsEntry(task.fieldIndex, 'forms', ordinal)
    return comparedVector(this.#originalOf(task, originals, ordinal), form)
  }

  #originalOf(task: Task, originals: SharedOriginals, ordinal: number): Float32Array {
    const slots = this.#slotsOf(task, ordinal)
    return this.#read(this.#beginReads(originals), originals, slots)
  }

  #slotsOf({ fieldIndex }: Task, ordinal: number): Slots {
    const slots = slotsOf(this.#state.view, fieldIndex, ordinal)
    if (slots === undefined) throw left
    return slots
  }

  #beginReads(originals: SharedOriginals): ReadTurn {
    this.#reads ??= this.#state.files.beginTurn(originals)
    if (this.#reads === undefined) throw left
    return this.#reads
  }

  #read(turn: ReadTurn, originals: SharedOriginals, slots: Slots): Float32Array {
    const vectors = this.#state.files.readNow(turn, originals, slots)
    if (vectors === undefined) throw left
    return vectors
  }

  #takeProducts(count: number): void {
    this.#products -= count
    if (this.#products < 0) throw left
  }

  #takeBytes(count: number): void {
    this.#bytes -= count
    if (this.#bytes < 0) throw left
  }

  /** See createHits of the owner. */
  #createHits(task: Task, { ordinals, similarities, members }: Found, includeVectors: boolean): SearchHit[] {
    const { view, version } = this.#state
    const { definition } = task
    const dense = this.#vectorFieldOf(task)
    const spaceType = hasLists(definition) ? 'ip' : definition.params.spaceType
    const list: SearchHit[] = []
    for (const [i, ordinal] of ordinals.entries()) {
      view.findAddresses(ordinal, place)
      if (!view.locate(place)) throw changing
      const vectors = members?.[i]
      this.#takeBytes(writtenOverheadBytes + place.idBytes + place.recordBytes + (vectors?.byteLength ?? 0))
      // Adding 0 turns -0, the negated distance of an equal vector, into 0.
      const similarity = (similarities[i] as number) + 0
      const distance = spaceType === 'cosine' ? 1 - similarity : 0 - similarity
      const hasRow = dense >= 0 && view.hasRow(dense, ordinal, version)
      const norm = hasRow ? view.norm(dense, ordinal) : 1
      const row = includeVectors && hasRow && task.kind !== 'multi' ? this.#givenRow(dense, ordinal, norm) : undefined
      const text = { id: copyId(place), ...copyRecordText(place) }
      const rows = vectors && memberRows(vectors, definition)
      list.push(new FoundHit(text, { similarity, distance, norm, row, members: rows }))
    }
    return list
  }

  /** See vectorFieldOf of the owner. */
  #vectorFieldOf({ kind, fieldIndex }: Task): number {
    const { fields } = this.#state.view.facts.definition
    return kind === 'sparse' || kind === 'text' ? fields.findIndex((field) => field.kind === 'dense') : fieldIndex
  }

  /** See readGivenRows of the owner. */
  #givenRow(fieldIndex: number, ordinal: number, norm: number): DenseRow {
    const { view } = this.#state
    const field = view.facts.definition.fields[fieldIndex]
    if (field?.kind !== 'dense') throw left
    const { dimension, spaceType } = field.params
    this.#takeBytes(dimension * 4)
    const originals = view.facts.fields[fieldIndex]?.originals
    const slots = originals && slotsOf(view, fieldIndex, ordinal)
    if (originals === undefined || slots === undefined)
      return denseRow({ kept: this.#rowOf(fieldIndex, ordinal), form: vectorForm.unit, norm }, spaceType)
    const kept = this.#read(this.#beginReads(originals), originals, slots)
    return denseRow({ kept, form: view.originalsEntry(fieldIndex, 'forms', ordinal), norm }, spaceType)
  }
}

function signal(message: string): Error {
  return Object.assign(Object.create(Error.prototype) as Error, { message })
}

/** The best k, without the ordinal `without` and those below the threshold. */
function trim(
  { ordinals, similarities }: Best,
  cut: { readonly k: number; readonly without: number | undefined; readonly threshold: number | undefined },
): Best {
  const { k, without, threshold = Number.NEGATIVE_INFINITY } = cut
  const kept = [...ordinals.keys()]
    .filter((i) => ordinals[i] !== without && (similarities[i] as number) >= threshold)
    .slice(0, k)
  return {
    ordinals: Uint32Array.from(kept, (i) => ordinals[i] as number),
    similarities: Float32Array.from(kept, (i) => similarities[i] as number),
  }
}
