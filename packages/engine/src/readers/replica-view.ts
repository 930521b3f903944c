// A replica as a reader sees it: its words, its chunks, its arenas. News of the owner is applied before a version is read that needs it.
import { heapChunkBytes } from '../memory/byte-heap.ts'
import type { SharedBytes } from '../memory/chunks.ts'
import { headBytes } from '../replica/object-store.ts'
import { BoardWords } from '../sharing/board.ts'
import { type ChunkList, chunkLists, type ReaderNews, type SharedReplicaFacts } from '../sharing/messages.ts'
import type { ArenaHandle } from '../vector/dense/attached.ts'
import type { FieldSegment } from '../vector/field.ts'
import { attachSegments, type ReaderArena, type ReaderSegment } from './reader-arena.ts'

/** What changes in a replica while it serves. */
export type ReplicaNews = Extract<ReaderNews, { readonly kind: 'chunks' | 'segments' | 'grown' }>

/** Entries of one chunk of a column. */
const columnShift = 16
const columnMask = 0xffff
/** Columns hold addresses in units of 8 bytes. */
const unitsShift = Math.log2(heapChunkBytes / 8)
const unitsMask = heapChunkBytes / 8 - 1

interface Chunk {
  readonly bytes: SharedBytes
  readonly words: Uint32Array
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
}

export class ReplicaView {
  readonly facts: SharedReplicaFacts
  readonly words: BoardWords
  readonly #attach: (handle: ArenaHandle) => ReaderArena
  readonly #chunks: Record<ChunkList, Chunk[]> = { idAddresses: [], ids: [], recordAddresses: [], records: [] }
  readonly #handles: (readonly FieldSegment[])[]
  readonly #segments: ReaderSegment[][]

  constructor(facts: SharedReplicaFacts, attach: (handle: ArenaHandle) => ReaderArena) {
    this.facts = facts
    this.words = new BoardWords(facts.fields.length, facts.words)
    this.#attach = attach
    for (const list of chunkLists) this.#takeChunks(list, 0, facts.chunks[list])
    this.#handles = facts.fields.map(({ segments }) => segments)
    this.#segments = facts.fields.map(() => [])
  }

  get board(): number {
    return this.facts.board
  }

  take(news: ReplicaNews): void {
    if (news.kind === 'chunks') this.#takeChunks(news.list, news.from, news.chunks)
    else if (news.kind === 'segments') this.#takeSegments(news.field, news.segments)
    else for (const segments of this.#segments) for (const { arena } of segments) arena.refresh()
  }

  #takeChunks(list: ChunkList, from: number, chunks: readonly SharedBytes[]): void {
    const known = this.#chunks[list]
    for (const [i, bytes] of chunks.entries())
      known[from + i] = { bytes, words: new Uint32Array(bytes.buffer, bytes.byteOffset, bytes.byteLength >>> 2) }
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

  /** Finds the addresses of an object of a pinned version. Call it for all hits before `locate`, so that the loads do not wait for each other. */
  findAddresses(ordinal: number, place: ObjectPlace): void {
    const { idAddresses, recordAddresses } = this.#chunks
    const [chunk, entry] = [ordinal >>> columnShift, ordinal & columnMask]
    place.idUnit = idAddresses[chunk]?.words[entry] ?? 0
    place.recordUnit = recordAddresses[chunk]?.words[entry] ?? 0
  }

  /**
   * Finds the parts of an object at its addresses. False: there is no whole object, because its filter is being replaced now. Every length
   * is checked, so that copying never leaves a chunk.
   */
  locate(place: ObjectPlace): boolean {
    const { idUnit, recordUnit } = place
    const id = this.#chunks.ids[idUnit >>> unitsShift]
    const record = this.#chunks.records[recordUnit >>> unitsShift]
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
    return true
  }
}
