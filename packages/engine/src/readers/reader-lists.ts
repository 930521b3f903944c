// The inverted lists of one sparse field in a reader's thread: weighs a query, and runs it in the reader's own area of the field's memory. Loaded
// when it is first needed.

import type { Best } from '../search/ranking.ts'
import type { SharedMatches } from '../sharing/messages.ts'
import type { SharedLists, SparseQuery, TermsList, TextQuery } from '../vector/field.ts'
import { instantiateSparseKernel, type SparseKernel } from '../vector/sparse/kernel.ts'
import { blockPostingsMax } from '../vector/sparse/lists.ts'
import { searchAreaBytes } from '../vector/sparse/memory.ts'
import { type AllowedBits, descriptorBytes, fillDescriptor, readDescriptor } from '../vector/sparse/query.ts'
import { changing, type SparseViews, TermView, type WeighedList, weighLists } from '../vector/sparse/term-view.ts'
import { postingsOfTexts, type TextImpacts, weighTexts } from '../vector/sparse/text-lists.ts'
import { synchronized } from '../vector/synchronized.ts'
import { takeWork, type Work } from './find-hits.ts'
import type { ReplicaView } from './replica-view.ts'

/** More postings would keep the other work of the thread waiting; the owner has threads for them. */
const postingsMax = 2 ** 20

/** What lists need of the thread that reads them. */
export interface ListsReader {
  /** The number of the reader. */
  readonly number: number
  /** Everything that was read so far was read before what is loaded next. */
  settle(): void
}

/** A checked search of the pinned version. */
export interface ListsSearch {
  readonly query: SparseQuery | TextQuery
  readonly k: number
  readonly version: number
  /** Number of rows as of the version if rare indices count more; otherwise undefined. Texts do not need it. */
  readonly rows: number | undefined
  /** The matches of the filter as of the version; undefined without a filter. */
  readonly matches: SharedMatches | undefined
}

/** The lists of each field that was searched. */
const attached = new WeakMap<ReplicaView, (ReaderLists | undefined)[]>()

/** The lists of a field; undefined if it has none. */
export function listsOf(view: ReplicaView, field: number, reader: ListsReader): ReaderLists | undefined {
  const shared = view.lists(field)
  if (shared === undefined) return undefined
  const fields = attached.get(view) ?? []
  attached.set(view, fields)
  const known = fields[field] ?? new ReaderLists(view, field, reader)
  fields[field] = known
  known.use(shared)
  return known
}

class ReaderLists implements SparseViews {
  readonly #view: ReplicaView
  readonly #field: number
  readonly #reader: ListsReader
  #shared: SharedLists | undefined
  #kernel: SparseKernel | undefined
  #terms: TermView | undefined
  #growths = -1
  /** The bitmap that is in the memory, and where. */
  #lent: { readonly words: Uint32Array; readonly place: AllowedBits } | undefined
  u32 = new Uint32Array(new SharedArrayBuffer(0))
  f32 = new Float32Array(this.u32.buffer)
  f64 = new Float64Array(this.u32.buffer)

  constructor(view: ReplicaView, field: number, reader: ListsReader) {
    this.#view = view
    this.#field = field
    this.#reader = reader
  }

  /** Takes what the owner announced. */
  use(shared: SharedLists): void {
    const before = this.#shared
    this.#shared = shared
    if (before?.handle.id !== shared.handle.id)
      this.#kernel = instantiateSparseKernel(shared.handle.module, shared.handle.memory)
    if (before?.areas !== shared.areas) this.#lent = undefined
    if (before?.vocabulary !== shared.vocabulary) {
      const words = (list: TermsList) => (chunk: number) => this.#view.fieldWords(this.#field, list, chunk)
      const chunks = { terms: words('terms'), termPages: words('termPages') }
      this.#terms = new TermView(shared.vocabulary, chunks, () => this.#reader.settle())
    }
    if (this.#growths === this.#view.growths) return
    this.#growths = this.#view.growths
    this.#refresh(shared)
  }

  #refresh({ handle }: SharedLists): void {
    const { buffer } = synchronized(handle.memory)
    this.u32 = new Uint32Array(buffer)
    this.f32 = new Float32Array(buffer)
    this.f64 = new Float64Array(buffer)
  }

  /** 'again': the owner changed what was read. 'owner': the search takes more work or space than there is. */
  search(search: ListsSearch, work: Work): Best | 'again' | 'owner' {
    const [shared, terms, kernel] = [this.#shared, this.#terms, this.#kernel]
    if (shared === undefined || terms === undefined || kernel === undefined) return 'owner'
    try {
      return this.#run(shared, terms, kernel, search, work)
    } catch (error) {
      // Lists of an event that is being applied can be in memory that was added a moment ago, when V8 has not reported the new size to this
      // thread yet.
      if (!(error instanceof WebAssembly.RuntimeError || error instanceof RangeError)) throw error
      this.#refresh(shared)
      return this.#run(shared, terms, kernel, search, work)
    }
  }

  #run(
    { areas }: SharedLists,
    terms: TermView,
    kernel: SparseKernel,
    { query, k, version, rows, matches }: ListsSearch,
    work: Work,
  ): Best | 'again' | 'owner' {
    const weighed = this.#weigh(terms, query, { version, rows })
    if (weighed === changing) return 'again'
    const { lists, impacts } = weighed
    if (lists.length === 0) return { ordinals: new Uint32Array(0), similarities: new Float32Array(0) }
    const postings = impacts === undefined ? postingsIn(lists) : postingsOfTexts({ lists, impacts })
    if (descriptorBytes(lists, k, impacts) > searchAreaBytes || !takeWork(work, postings / postingsMax)) return 'owner'
    const { number } = this.#reader
    const address = areas.searches + number * searchAreaBytes
    const bitmap = { address: areas.bitmaps + (number * areas.bits) / 8, bits: areas.bits }
    const allowed = matches && this.#lend(matches.words, bitmap)
    fillDescriptor(this, address, lists, { k, version, allowed, impacts })
    kernel.search(address)
    return readDescriptor(this, address)
  }

  #weigh(
    terms: TermView,
    query: SparseQuery | TextQuery,
    { version, rows }: Pick<ListsSearch, 'version' | 'rows'>,
  ): { readonly lists: readonly WeighedList[]; readonly impacts?: TextImpacts } | typeof changing {
    const placeOf = (index: number) => terms.placeOf(index)
    if ('terms' in query) return weighTexts(query, version, this, placeOf) ?? { lists: [] }
    const lists = weighLists(query, { version, rows }, this, placeOf)
    return lists === changing ? changing : { lists }
  }

  /** Copies a bitmap to the memory, unless it is there already. */
  #lend(words: Uint32Array, { address, bits }: AllowedBits): AllowedBits {
    if (this.#lent?.words === words) return this.#lent.place
    const place = { address, bits: Math.min(bits, words.length * 32) }
    this.u32.set(words.subarray(0, place.bits / 32), address / 4)
    this.#lent = { words, place }
    return place
  }
}

/** At least as many as the lists have. */
function postingsIn(lists: readonly WeighedList[]): number {
  let postings = 0
  for (const { list } of lists) postings += 'ordinal' in list ? 1 : list.blocks * blockPostingsMax
  return postings
}
