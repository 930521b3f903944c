// The bytes of a sparse field outside memory (docs/formats/sparse.md): versions of rows, then the lists by ascending index, block by block.
// Addresses are not written, so the bytes depend on the calls only. Input may be damaged or hostile: it is not used before it is certain that
// a search cannot leave it.
//
//   field    magic "ANNALSF1" | version u32 | model u32 | largest index allowed u32 | end u32 | rows u32 | indices u32
//            | birth u32, death u32 for each ordinal below end | lists
//   texts    magic "ANNALTF1" | version u32 | total length of the live rows, low u32, high u32 | end u32 | ... as above
//   list     index u32 | live rows u32 | blocks u32 | 0 u32 | blocks
//   block    postings u32 | 0 u32 | ordinal u32 for each posting | weight f32 for each posting

import { EngineError } from '../../errors.ts'
import type { ByteSource } from '../../memory/sections.ts'
import { numberOf, sparseModels } from '../../model/choices.ts'
import type { SparseFieldSchema } from '../../model/schema.ts'
import { elementAt } from '../element-at.ts'
import type { SparseCut } from './cut.ts'
import { startTotals } from './field-totals.ts'
import { blockPostingsMax, type Postings } from './lists.ts'
import { alive, type SparseMemory, sparseOrdinalsMax } from './memory.ts'
import { isPackedCount, lengthOf } from './packed-counts.ts'
import type { SparseState } from './state.ts'
import { restorePostings } from './term-lists.ts'

const magics = {
  weights: [0x414e4e41, 0x3146534c], // "ANNALSF1"
  counts: [0x414e4e41, 0x3146544c], // "ANNALTF1"
} as const
const formatVersion = 1
const headWords = 8
const listHeadWords = 4
const blockHeadWords = 2
const pieceWords = 16 * 1024

/** What the file says of its field. */
export type FieldHead =
  | { readonly form: 'weights'; readonly definition: SparseFieldSchema }
  | { readonly form: 'counts'; readonly definition: { readonly name: string } }

/** Pieces that the caller may keep, each as of the cut. */
export function* dumpSparse(head: FieldHead, cut: SparseCut): Generator<Uint8Array> {
  const { end, rows, indices } = cut
  let piece = new Uint32Array(pieceWords)
  let used = 0
  const room = function* (wanted: number): Generator<Uint8Array> {
    if (used + wanted <= pieceWords) return
    yield new Uint8Array(piece.buffer, 0, used * 4)
    piece = new Uint32Array(pieceWords)
    used = 0
  }
  const put = (...words: number[]) => {
    piece.set(words, used)
    used += words.length
  }
  put(...magics[head.form], formatVersion, ...formWords(head, cut.length), end, rows, indices.length)
  for (let ordinal = 0; ordinal < end; ordinal++) {
    yield* room(2)
    put(cut.birth(ordinal), cut.death(ordinal))
  }
  for (const index of indices) {
    yield* room(listHeadWords)
    const list = cut.list(index)
    put(index, list.rows, list.blocks, 0)
    for (const { ordinals, weights } of list.postings()) {
      yield* room(blockHeadWords + 2 * ordinals.length)
      put(ordinals.length, 0)
      piece.set(ordinals, used)
      piece.set(new Uint32Array(weights.buffer, weights.byteOffset, weights.length), used + ordinals.length)
      used += 2 * ordinals.length
    }
  }
  yield new Uint8Array(piece.buffer, 0, used * 4)
}

/** Two words that differ between the forms. */
function formWords(head: FieldHead, length: number): [number, number] {
  if (head.form === 'counts') return [length >>> 0, Math.floor(length / 2 ** 32)]
  const { model, dimension } = head.definition.params
  return [numberOf(sparseModels, model), dimension - 1]
}

/** The inverse of dumpSparse, into an empty state. Throws `snapshot_damaged` or `format_too_new`. */
export async function loadSparse(field: FieldHead, state: SparseState, source: ByteSource): Promise<void> {
  const { name } = field.definition
  const words = new WordReader(source, name)
  const head = await words.take(headWords)
  const [first, second, version = 0, low = 0, high = 0, end = 0, rows = 0, terms = 0] = head
  const magic = magics[field.form]
  if (first !== magic[0] || second !== magic[1]) throw words.damaged('magic')
  if (version > formatVersion) {
    const details = { field: name, value: version, limit: formatVersion }
    throw new EngineError('format_too_new', `field format ${version} is newer than ${formatVersion}`, details)
  }
  const length = field.form === 'counts' ? low + high * 2 ** 32 : 0
  const [model, largest] = formWords(field, length)
  if (low !== model || high !== largest || end > sparseOrdinalsMax || rows > end)
    throw words.damaged('a header of another field')
  await loadVersions(words, state.memory, end)
  const lengths = field.form === 'counts' ? new TextLengths(state.memory, end) : undefined
  const last = field.form === 'counts' ? 2 ** 32 - 1 : largest
  for (let i = 0, previous = -1; i < terms; i++) {
    const [index = 0, live = 0, blocks = 0] = await words.take(listHeadWords)
    if (index <= previous || index > last || blocks === 0) throw words.damaged(`the list of index ${index}`)
    previous = index
    const loaded = await loadBlocks(words, blocks, end)
    const postings = loaded.reduce((sum, block) => sum + block.ordinals.length, 0)
    if (live > postings) throw words.damaged(`the count of index ${index}`)
    if (lengths !== undefined && !lengths.take(loaded)) throw words.damaged(`a count of index ${index}`)
    const term = state.vocabulary.findOrAdd(index)
    restorePostings(state, term, loaded, live)
  }
  await words.expectEnd()
  if (lengths !== undefined && lengths.total !== length) throw words.damaged('the total length')
  state.end = end
  state.rows = rows
  state.length = length
  if (field.form === 'counts' && end > 0) startTotals(state.memory.u32, 0, { rows, length })
}

/** The lengths of the rows of a text field, as their postings state them. */
class TextLengths {
  readonly #memory: SparseMemory
  readonly #lengths: Uint32Array
  /** Total of the live rows. */
  total = 0

  constructor(memory: SparseMemory, end: number) {
    this.#memory = memory
    this.#lengths = new Uint32Array(end)
  }

  /** False if a posting has no count, or another length than its row has. */
  take(blocks: readonly Postings[]): boolean {
    return blocks.every(({ ordinals, weights }) =>
      ordinals.every((ordinal, i) => this.#takePosting(ordinal, elementAt(weights, i))),
    )
  }

  #takePosting(ordinal: number, weight: number): boolean {
    if (!isPackedCount(weight)) return false
    const length = lengthOf(weight)
    const known = elementAt(this.#lengths, ordinal)
    if (known !== 0) return known === length
    this.#lengths[ordinal] = length
    if (this.#memory.death(ordinal) === alive) this.total += length
    return true
  }
}

async function loadVersions(words: WordReader, memory: SparseMemory, end: number): Promise<void> {
  for (let from = 0; from < end; from += pieceWords) {
    const to = Math.min(end, from + pieceWords)
    const versions = await words.take((to - from) * 2)
    memory.reserve(to, 0, 0)
    for (let ordinal = from; ordinal < to; ordinal++) {
      memory.putVersions(
        ordinal,
        elementAt(versions, (ordinal - from) * 2),
        elementAt(versions, (ordinal - from) * 2 + 1),
      )
    }
  }
}

async function loadBlocks(words: WordReader, count: number, end: number): Promise<Postings[]> {
  const blocks: Postings[] = []
  for (let i = 0, previous = -1; i < count; i++) {
    const [postings = 0] = await words.take(blockHeadWords)
    if (postings === 0 || postings > blockPostingsMax) throw words.damaged('the size of a block')
    const body = await words.take(postings * 2)
    const ordinals = body.subarray(0, postings)
    const weights = new Float32Array(body.buffer, body.byteOffset + postings * 4, postings)
    for (const ordinal of ordinals) {
      if (ordinal <= previous || ordinal >= end) throw words.damaged('the order of a block')
      previous = ordinal
    }
    if (!weights.every(Number.isFinite)) throw words.damaged('a weight')
    blocks.push({ ordinals, weights })
  }
  return blocks
}

/** Reads words from chunks of any size. */
class WordReader {
  readonly #source: ByteSource
  readonly #name: string
  #words = new Uint32Array(0)
  #used = 0
  #remaining: Uint8Array = new Uint8Array(0)
  #taken = 0

  constructor(source: ByteSource, name: string) {
    this.#source = source
    this.#name = name
  }

  damaged(what: string): EngineError {
    return new EngineError('snapshot_damaged', `field "${this.#name}": ${what} is damaged at byte ${this.#taken * 4}`, {
      field: this.#name,
      value: what,
    })
  }

  /** The next words; the caller may keep them. */
  async take(count: number): Promise<Uint32Array<ArrayBuffer>> {
    while (this.#words.length - this.#used < count) if (!(await this.#next())) throw this.damaged('the length')
    const taken = this.#words.subarray(this.#used, this.#used + count)
    this.#used += count
    this.#taken += count
    return taken
  }

  async expectEnd(): Promise<void> {
    if (this.#words.length > this.#used || this.#remaining.length > 0) throw this.damaged('data after the field')
    await this.#source.end()
  }

  async #next(): Promise<boolean> {
    const value = await this.#source.piece()
    if (value === undefined) return false
    const left = this.#words.subarray(this.#used)
    const bytes = new Uint8Array(left.length * 4 + this.#remaining.length + value.length)
    bytes.set(new Uint8Array(left.buffer, left.byteOffset, left.length * 4))
    bytes.set(this.#remaining, left.length * 4)
    bytes.set(value, left.length * 4 + this.#remaining.length)
    const whole = bytes.length - (bytes.length % 4)
    this.#words = new Uint32Array(bytes.buffer, 0, whole / 4)
    this.#remaining = bytes.subarray(whole)
    this.#used = 0
    return true
  }
}
