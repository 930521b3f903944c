// Writes queries and answers to the slots of the ring and reads them back. The owner and the workers use the same code, each with
// views of its own.
import { elementAt } from '../element-at.ts'
import { type AttachedMemory, type Found, type Query, queryBytesMax } from '../pool.ts'
import { type Ring, slot, slotAt, slotsMax } from './ring.ts'

const kinds = { search: 1, scanListed: 2, scanRange: 3, sparse: 4 } as const

const payloadWords = queryBytesMax / 4

export class SlotCodec {
  readonly #words: Int32Array<SharedArrayBuffer>
  /** Views of each payload: the query from its start, listed ordinals after the query. */
  readonly #floats: readonly Float32Array<SharedArrayBuffer>[]
  readonly #ordinals: readonly Uint32Array<SharedArrayBuffer>[]
  /** Similarities of an answer are in the second half of the payload, ordinals in the first. */
  readonly #similarities: readonly Float32Array<SharedArrayBuffer>[]

  constructor({ words, payload }: Ring) {
    const slots = Array.from({ length: slotsMax }, (_, index) => index * queryBytesMax)
    this.#words = words
    this.#floats = slots.map((from) => new Float32Array(payload, from, payloadWords))
    this.#ordinals = slots.map((from) => new Uint32Array(payload, from, payloadWords))
    this.#similarities = slots.map((from) => new Float32Array(payload, from + queryBytesMax / 2, payloadWords / 2))
  }

  writeQuery(index: number, query: Query, isBrief: boolean): void {
    const w = this.#words
    const from = slotAt(index)
    elementAt(this.#floats, index).set(query.query)
    w[from + slot.memory] = query.memory
    w[from + slot.dimension] = query.query.length
    w[from + slot.k] = query.k
    w[from + slot.version] = query.version
    w[from + slot.brief] = isBrief ? 1 : 0
    w[from + slot.left] = 0
    if (query.kind === 'search') {
      w[from + slot.kind] = kinds.search
      w[from + slot.ef] = query.ef
      w[from + slot.rerank] = query.rerank
      w[from + slot.bitmap] = query.bitmap
      w[from + slot.bits] = query.bits
      w[from + slot.compared] = query.compared
    } else if (query.kind === 'sparse') {
      w[from + slot.kind] = kinds.sparse
      w[from + slot.bitmap] = query.descriptor
    } else if (query.listed !== undefined) {
      w[from + slot.kind] = kinds.scanListed
      w[from + slot.listed] = query.listed.length
      elementAt(this.#ordinals, index).set(query.listed, query.query.length)
    } else {
      w[from + slot.kind] = kinds.scanRange
      w[from + slot.from] = query.from
      w[from + slot.to] = query.to
    }
  }

  /** The vectors and lists of the query are views of the slot. */
  readQuery(index: number): Query {
    const from = slotAt(index)
    const kind = this.#word(from + slot.kind)
    const dimension = this.#word(from + slot.dimension)
    const memory = this.#word(from + slot.memory)
    const query = elementAt(this.#floats, index).subarray(0, dimension)
    const k = this.#word(from + slot.k)
    const version = this.#word(from + slot.version)
    if (kind === kinds.search) {
      const ef = this.#word(from + slot.ef)
      const rerank = this.#word(from + slot.rerank)
      const compared = this.#word(from + slot.compared)
      const bitmap = this.#word(from + slot.bitmap)
      const bits = this.#word(from + slot.bits)
      return { kind: 'search', memory, query, k, version, ef, rerank, compared, bitmap, bits }
    }
    if (kind === kinds.sparse) {
      const descriptor = this.#word(from + slot.bitmap)
      return { kind: 'sparse', memory, query, k, version, descriptor }
    }
    if (kind === kinds.scanListed) {
      const end = dimension + this.#word(from + slot.listed)
      const listed = elementAt(this.#ordinals, index).subarray(dimension, end)
      return { kind: 'scan', memory, query, k, version, listed, from: 0, to: 0 }
    }
    const range = { from: this.#word(from + slot.from), to: this.#word(from + slot.to) }
    return { kind: 'scan', memory, query, k, version, listed: undefined, ...range }
  }

  memoryOf(index: number): number {
    return this.#word(slotAt(index) + slot.memory)
  }

  isBrief(index: number): boolean {
    return this.#word(slotAt(index) + slot.brief) === 1
  }

  /** Writes the answer of the last query of `attached`, which found `count` hits. */
  writeAnswer(index: number, attached: AttachedMemory, count: number): void {
    const w = this.#words
    const from = slotAt(index)
    attached.copyHits(count, elementAt(this.#ordinals, index), elementAt(this.#similarities, index))
    w[from + slot.found] = count
    w[from + slot.unresolved] = attached.isUnresolved ? 1 : 0
    w[from + slot.visited] = attached.takeVisited()
    w[from + slot.distances] = attached.takeDistances()
  }

  readAnswer(index: number): Found {
    const from = slotAt(index)
    const count = this.#word(from + slot.found)
    return {
      ordinals: Uint32Array.from(elementAt(this.#ordinals, index).subarray(0, count)),
      similarities: Float32Array.from(elementAt(this.#similarities, index).subarray(0, count)),
      visited: this.#word(from + slot.visited),
      distances: this.#word(from + slot.distances),
      isUnresolved: this.#word(from + slot.unresolved) === 1,
    }
  }

  #word(index: number): number {
    return elementAt(this.#words, index) >>> 0
  }
}
