// A replica as a reader sees it: its words, its chunks, its arenas, its inverted lists. News of the owner is applied before a version is read
// that needs it.
import { chooseFrom, findKind } from '../calibration/table.ts'
import { idBytesMax } from '../limits.ts'
import { heapChunkBytes } from '../memory/byte-heap.ts'
import type { SharedBytes } from '../memory/chunks.ts'
import { type PagesShape, PagesView } from '../memory/hash-pages.ts'
import { hashWords, TextWords } from '../memory/id-hash.ts'
import { TermNames, type termsMove } from '../memory/term-names.ts'
import type { SharedTerms } from '../memory/term-table.ts'
import type { SearchRecall } from '../model/calibration.ts'
import type { OriginalsList } from '../originals/originals-rows.ts'
import { headBytes, type SparseTermsOfField, sparseStart, sparseTermsIn } from '../replica/object-record.ts'
import type { RecallSearch } from '../search/ef-chooser.ts'
import { chunkList, fieldListOf, type ReaderNews, type SharedReplicaFacts, termNamesList } from '../sharing/messages.ts'
import { VersionHeader } from '../sharing/version-header.ts'
import type { ArenaHandle } from '../vector/dense/attached.ts'
import { elementAt } from '../vector/element-at.ts'
import type { FieldSegment, SharedLists, TermsList } from '../vector/field.ts'
import { attachSegments, type ReaderArena, type ReaderSegment } from './reader-arena.ts'

/** What changes in a replica while it serves. */
export type ReplicaNews = Extract<
  ReaderNews,
  { readonly kind: 'chunks' | 'segments' | 'lists' | 'ids' | 'terms' | 'definition' | 'calibration' | 'grown' }
>

/** Entries of one chunk of a column. */
const columnShift = 16
const columnMask = 0xffff
/** Columns hold addresses in units of 8 bytes. */
const unitsShift = Math.log2(heapChunkBytes / 8)
const unitsMask = heapChunkBytes / 8 - 1

interface Chunk {
  readonly bytes: SharedBytes
  readonly words: Uint32Array
  /** Of chunks of LSNs. */
  readonly numbers: Float64Array | undefined
}

/** Where the parts of an object are: chunks, and offsets of bytes in them. Reused for every hit. */
export interface ObjectPlace {
  /** Addresses in units of 8 bytes. 0: there is none. */
  idUnit: number
  recordUnit: number
  id: SharedBytes
  idOffset: number
  idBytes: number
  record: SharedBytes
  metaOffset: number
  metaBytes: number
  filterBytes: number
  /** Bytes of the whole record. */
  recordBytes: number
}

/** The id of the last lookup. */
const wanted = new TextWords(idBytesMax)

export class ReplicaView {
  #facts: SharedReplicaFacts
  readonly words: VersionHeader
  readonly #attach: (handle: ArenaHandle) => ReaderArena
  /** By number of the list. */
  readonly #chunks: Chunk[][] = []
  readonly #pages = new PagesView((chunk) => this.#chunks[chunkList.idPages]?.[chunk]?.words)
  #idShape: PagesShape
  readonly #names = new TermNames((list, chunk) => this.#chunks[termNamesList[list]]?.[chunk]?.words)
  #terms: SharedTerms | undefined
  readonly #handles: (readonly FieldSegment[])[]
  readonly #segments: ReaderSegment[][]
  readonly #lists: (SharedLists | undefined)[]
  #growths = 0

  constructor(facts: SharedReplicaFacts, attach: (handle: ArenaHandle) => ReaderArena) {
    this.#facts = facts
    this.words = new VersionHeader(facts.fields.length, facts.words)
    this.#attach = attach
    for (const [list, chunks] of facts.chunks.entries()) this.#takeChunks(list, 0, chunks)
    this.#idShape = facts.idShape
    this.#terms = facts.terms
    this.#handles = facts.fields.map(({ segments }) => segments)
    this.#segments = facts.fields.map(() => [])
    this.#lists = facts.fields.map(({ lists }) => lists)
  }

  get facts(): SharedReplicaFacts {
    return this.#facts
  }

  /** Chooses ef for a search of the pinned version that states a recall, as the owner does. */
  chooseEf(search: Pick<RecallSearch, 'fieldIndex' | 'k' | 'rescore' | 'target' | 'matches'>): SearchRecall {
    const { calibration } = this.facts
    // One of another form is of no use.
    const kind = calibration?.form === 1 ? findKind(calibration, search) : undefined
    return chooseFrom(kind, { ...search, rows: this.words.pinnedRows(search.fieldIndex) })
  }

  get header(): number {
    return this.facts.header
  }

  take(news: ReplicaNews): void {
    if (news.kind === 'definition') this.#facts = { ...this.#facts, definition: news.definition }
    else if (news.kind === 'calibration') this.#facts = { ...this.#facts, calibration: news.table }
    else if (news.kind === 'chunks') this.#takeChunks(news.list, news.from, news.chunks)
    else if (news.kind === 'segments') this.#takeSegments(news.field, news.segments)
    else if (news.kind === 'lists') this.#lists[news.field] = news.lists
    else if (news.kind === 'ids') this.#idShape = news.shape
    else if (news.kind === 'terms') this.#terms = news.terms
    else this.#grow()
  }

  #grow(): void {
    this.#growths++
    for (const segments of this.#segments) for (const { arena } of segments) arena.refresh()
  }

  /** How often memories of the replica have grown. */
  get growths(): number {
    return this.#growths
  }

  /** What the owner announced of the inverted lists of a field. */
  lists(field: number): SharedLists | undefined {
    return this.#lists[field]
  }

  /** The words of a chunk of a field. Undefined: it was not announced yet. */
  fieldWords(field: number, list: TermsList, chunk: number): Uint32Array | undefined {
    return this.#chunks[fieldListOf(field, list)]?.[chunk]?.words
  }

  #takeChunks(list: number, from: number, chunks: readonly SharedBytes[]): void {
    const known = this.#chunks[list] ?? []
    this.#chunks[list] = known
    for (const [i, bytes] of chunks.entries()) {
      const words = new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 2)
      const numbers = list === chunkList.lsns ? new Float64Array(bytes.buffer) : undefined
      known[from + i] = { bytes, words, numbers }
    }
  }

  #takeSegments(field: number, segments: readonly FieldSegment[]): void {
    this.#handles[field] = segments
    // Arenas that were replaced are dropped now; the others are kept.
    this.#segments[field] = this.#segments[field]?.length ? this.#attachField(field) : []
  }

  /** The segments of a field. They are attached when they are first needed. */
  segments(field: number): readonly ReaderSegment[] {
    const attached = this.#segments[field] ?? []
    if (attached.length === this.#handles[field]?.length) return attached
    this.#segments[field] = this.#attachField(field)
    return this.#segments[field]
  }

  #attachField(field: number): ReaderSegment[] {
    return attachSegments(this.#handles[field] ?? [], this.#segments[field] ?? [], this.#attach)
  }

  /** Whether a search as of a pinned version sees a row of the ordinal in a dense field. */
  hasRow(field: number, ordinal: number, version: number): boolean {
    const place = this.#rowAt(field, ordinal)
    return place?.arena.has(place.ordinal, version) === true
  }

  /** The norm of a row that the version has. */
  norm(field: number, ordinal: number): number {
    const place = this.#rowAt(field, ordinal)
    return place?.arena.norm(place.ordinal) ?? 1
  }

  /** A copy of a row that the version has, at the precision of the field. */
  row(field: number, ordinal: number): Float32Array<ArrayBuffer> | undefined {
    const place = this.#rowAt(field, ordinal)
    return place?.arena.row(place.ordinal)
  }

  #rowAt(field: number, ordinal: number): { readonly arena: ReaderArena; readonly ordinal: number } | undefined {
    const segmentRows = this.facts.fields[field]?.segmentRows ?? 0
    const segment = this.segments(field)[Math.floor(ordinal / segmentRows)]
    return segment && { arena: segment.arena, ordinal: ordinal % segmentRows }
  }

  /** Finds the addresses of an object of a pinned version. Call it for all hits before `locate`, so that the loads do not wait for each other. */
  findAddresses(ordinal: number, place: ObjectPlace): void {
    const [chunk, entry] = [ordinal >>> columnShift, ordinal & columnMask]
    place.idUnit = this.#chunks[chunkList.idAddresses]?.[chunk]?.words[entry] ?? 0
    place.recordUnit = this.#chunks[chunkList.recordAddresses]?.[chunk]?.words[entry] ?? 0
  }

  /**
   * Finds the parts of an object at its addresses. False: there is no whole object, because its filter is being replaced now. Every length
   * is checked, so that copying never leaves a chunk.
   */
  locate(place: ObjectPlace): boolean {
    const { idUnit, recordUnit } = place
    const id = this.#chunks[chunkList.ids]?.[idUnit >>> unitsShift]
    const record = this.#chunks[chunkList.records]?.[recordUnit >>> unitsShift]
    if (idUnit === 0 || recordUnit === 0 || id === undefined || record === undefined) return false
    const idAt = (idUnit & unitsMask) * 8
    const idBytes = id.words[idAt >>> 2] ?? 0
    const recordAt = (recordUnit & unitsMask) * 8
    const word = recordAt >>> 2
    const bytes = record.words[word] ?? 0
    const metaBytes = record.words[word + 1] ?? 0
    const filterBytes = record.words[word + 2] ?? 0
    if (headBytes + metaBytes + filterBytes > bytes || recordAt + 4 + bytes > record.bytes.length) return false
    if (idAt + 4 + idBytes > id.bytes.length) return false
    place.id = id.bytes
    place.idOffset = idAt + 4
    place.idBytes = idBytes
    place.record = record.bytes
    place.metaOffset = recordAt + 4 + headBytes
    place.metaBytes = metaBytes
    place.filterBytes = filterBytes
    place.recordBytes = bytes
    return true
  }

  /** The LSN of an object of a pinned version. While filters are replaced, it is of no use. */
  lsnAt(ordinal: number): number {
    const lsn = this.#chunks[chunkList.lsns]?.[ordinal >>> columnShift]?.numbers?.[ordinal & columnMask] ?? 0
    return Math.max(lsn, this.facts.lsnCreated)
  }

  /**
   * The ordinal of an id, or -1. Undefined: only the owner can find it. While ids change, what it finds is of no use. The id must be
   * well-formed, and not too long.
   */
  find(id: string): number | undefined {
    const length = wanted.encode(id)
    if (length <= 0) return -1
    const shape = this.#idShape
    const hash = hashWords(wanted.words, length, this.facts.idSeed)
    const ordinal = this.#pages.find(shape, hash, (candidate) => this.#hasId(candidate, length))
    return ordinal < 0 && shape.isChained ? undefined : ordinal
  }

  /** The number of a term of a text field, or -1: no object of the pinned version has it. */
  findTerm(field: number, term: string, settle: () => void): number | typeof termsMove {
    return this.#terms === undefined ? -1 : this.#names.find(this.#terms, { key: field, term }, settle)
  }

  /** Whether the id of the ordinal is the wanted one. */
  #hasId(ordinal: number, length: number): boolean {
    const unit = this.#chunks[chunkList.idAddresses]?.[ordinal >>> columnShift]?.words[ordinal & columnMask] ?? 0
    const chunk = unit === 0 ? undefined : this.#chunks[chunkList.ids]?.[unit >>> unitsShift]
    const at = (unit & unitsMask) * 2
    if (chunk?.words[at] !== length) return false
    // The rest of the last word is zero in both.
    for (let i = 0; i < length; i += 4) if (chunk.words[at + 1 + i / 4] !== wanted.words[i / 4]) return false
    return true
  }

  /** The sparse terms of an object that was located. Undefined: its record is not whole. */
  sparseOf({ record, metaOffset, metaBytes, filterBytes, recordBytes }: ObjectPlace): SparseTermsOfField[] | undefined {
    const start = metaOffset - headBytes
    const fields = elementAt(new Uint32Array(record.buffer, record.byteOffset + start + 8, 1), 0)
    if (fields === 0) return []
    return sparseTermsIn(record.slice(start + sparseStart(metaBytes + filterBytes), start + recordBytes), fields)
  }

  /** An entry of the original vectors of an ordinal; 0 if there is none. */
  originalsEntry(field: number, list: OriginalsList, ordinal: number): number {
    const chunk = this.#chunks[fieldListOf(field, list)]?.[ordinal >>> columnShift]
    return (list === 'forms' ? chunk?.bytes : chunk?.words)?.[ordinal & columnMask] ?? 0
  }
}
