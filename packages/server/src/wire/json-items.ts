// Reads a JSON body with a list while it arrives. Each entry is returned as soon as it is complete, with its vectors already
// converted to numbers, and is not kept. Every length is limited on the way, so a body is rejected at the byte that exceeds a
// limit. assembly/scan.ts follows the bytes; JSON.parse checks the text of each entry, which is short without its vectors.
import { isAscii, isUtf8 } from 'node:buffer'
import { invalidArgument, ServerError } from '../errors.ts'
import { itemTextBytesMax, jsonBodyDepthMax, jsonNumberBytesMax, vectorNumbersMax } from '../limits.ts'
import { parseJsonText, tooDeep } from './json-body.ts'
import { instance } from './kernel.ts'
import { floatMax, floatRoom, ScannedNumbers } from './numbers.ts'

/** Names of the list, and the keys under which its entries contain numbers. */
export interface ListShape {
  /** The key of the list in a body that is an object. */
  readonly listKey: string
  /** Name of the list in errors. */
  readonly name: string
  /** Keys of an entry under which arrays of numbers are vectors. */
  readonly vectorKeys: ReadonlySet<string>
}

interface Scanner {
  readonly memory: { readonly buffer: ArrayBuffer }
  scan(from: number, end: number): number
  readTo(): number
  textTo(): number
  numbersUpTo(): number
  tokenTo(): number
}

/** Addresses as in assembly/scan.ts. */
const stateAt = 256
const stateBytes = 68
const inputAt = 65_536
const textAt = 196_608
const numbersAt = 393_216
const pieceBytes = 65_536
const state = {
  depth: 264,
  listAt: 272,
  listDepth: 276,
  keyDepth: 280,
  extracting: 284,
  spaced: 292,
  count: 304,
  wrongAt: 308,
  depthMax: 312,
  numberBytesMax: 316,
  numbersMax: 320,
} as const
const event = {
  more: 0,
  key: 1,
  separator: 2,
  listStart: 3,
  listEnd: 4,
  numbersEnd: 5,
  hardNumber: 6,
  broken: 16,
  tooDeep: 17,
  numberTooLong: 18,
  notANumber: 19,
  tooManyNumbers: 20,
} as const

const scanner = await compiledScanner()

async function compiledScanner() {
  const exports = await instance<Scanner>('scan')
  if (exports === undefined) throw new Error('kernel/scan.wasm is missing; build the package')
  const { buffer } = exports.memory
  const bytes = new Uint8Array(buffer)
  return { ...exports, bytes, words: new Int32Array(buffer), numbers: new Float64Array(buffer) }
}

function word(offset: number): number {
  return scanner.words[offset >> 2]!
}

function setWord(offset: number, value: number): void {
  scanner.words[offset >> 2] = value
}

/** Reads one body. Call `push` for each piece, then `end`. */
export class JsonItems {
  readonly #shape: ListShape
  readonly #onItem: (item: unknown) => void
  readonly #state = new Uint8Array(stateBytes)
  #carry = Buffer.alloc(0)
  #root = new Text()
  #item = new Text()
  #text = this.#root
  #vectors: ScannedNumbers[] = []
  readonly #numbers = new Numbers()
  #key = ''
  #items = 0
  #listed = false
  #bytes = 0

  constructor(shape: ListShape, onItem: (item: unknown) => void) {
    this.#shape = shape
    this.#onItem = onItem
    const words = new Int32Array(this.#state.buffer)
    const put = (offset: number, value: number): void => {
      words[(offset - stateAt) >> 2] = value
    }
    put(state.listDepth, -1)
    put(state.keyDepth, 1)
    put(state.depthMax, jsonBodyDepthMax)
    put(state.numberBytesMax, jsonNumberBytesMax)
    put(state.numbersMax, vectorNumbersMax)
  }

  /**
   * Accepts the next bytes. Throws ServerError invalid_json, invalid_argument, limit_exceeded; do not call it again after that.
   */
  push(bytes: Buffer): void {
    this.#bytes += bytes.length
    for (let offset = 0; offset < bytes.length; offset += pieceBytes)
      this.#scan(bytes.subarray(offset, offset + pieceBytes))
  }

  /** Ends the body. Returns what surrounds the list, or the whole body if it has no list. */
  end(): { readonly listed: boolean; readonly root: unknown } {
    if (this.#bytes === 0) return { listed: false, root: undefined }
    const depth = new Int32Array(this.#state.buffer)[(state.depth - stateAt) >> 2]!
    if (depth !== 0 || this.#carry.length > 0) throw this.#broken()
    const root = this.#parsed(this.#root, 'body')
    const { listKey } = this.#shape
    if (this.#listed && !Array.isArray(root) && !Array.isArray((root as Record<string, unknown>)[listKey]))
      throw this.#listedTwice()
    return { listed: this.#listed, root }
  }

  #scan(piece: Buffer): void {
    const { bytes } = scanner
    bytes.set(this.#state, stateAt)
    bytes.set(this.#carry, inputAt)
    bytes.set(piece, inputAt + this.#carry.length)
    const end = inputAt + this.#carry.length + piece.length
    bytes[end] = 0
    for (let offset = inputAt; ; ) {
      const found = scanner.scan(offset, end)
      offset = scanner.readTo()
      const textTo = scanner.textTo()
      if (textTo > textAt) this.#write(bytes.subarray(textAt, textTo))
      const numbersTo = scanner.numbersUpTo()
      if (numbersTo > numbersAt) this.#numbers.add(scanner.numbers.subarray(numbersAt / 8, numbersTo / 8))
      if (found === event.more) {
        this.#carry = offset === end ? noBytes : Buffer.from(bytes.subarray(offset, end))
        break
      }
      if (found === event.hardNumber) offset = this.#hardNumber(offset)
      else this.#handle(found)
    }
    this.#state.set(bytes.subarray(stateAt, stateAt + stateBytes))
  }

  #handle(found: number): void {
    if (found === event.key) this.#chosen(this.#text.lastString())
    else if (found === event.numbersEnd) this.#vectorEnd()
    else if (found === event.separator) this.#itemEnd(false)
    else if (found === event.listStart) this.#listStart()
    else if (found === event.listEnd) this.#listEnd()
    else throw this.#refusal(found)
  }

  /** Handles a key of an entry or of the body: decides how its value is read. */
  #chosen(written: string | undefined): void {
    if (written === undefined) throw this.#broken()
    this.#key = written
    if (this.#text === this.#root && written === this.#shape.listKey) setWord(state.listAt, 1)
    else if (this.#shape.vectorKeys.has(written)) setWord(state.extracting, 1)
  }

  #listStart(): void {
    if (this.#listed) throw this.#listedTwice()
    this.#listed = true
    const depth = word(state.depth)
    setWord(state.listDepth, depth)
    setWord(state.keyDepth, depth + 1)
    setWord(state.listAt, -1)
    setWord(state.spaced, 0)
    this.#write(opening)
    this.#text = this.#item
  }

  #listEnd(): void {
    this.#itemEnd(true)
    setWord(state.listDepth, -1)
    setWord(state.keyDepth, 1)
    this.#text = this.#root
    this.#write(closing)
  }

  #itemEnd(isLast: boolean): void {
    if (!(isLast && this.#items === 0 && this.#item.isBlank)) {
      const path = this.#path()
      this.#items += 1
      const item = this.#parsed(this.#item, path)
      this.#onItem(item)
    }
    this.#item.clear()
    this.#vectors = []
    setWord(state.spaced, 0)
  }

  /** The end of an array of numbers. The text contains the index of the array in a form that clients cannot write there. */
  #vectorEnd(): void {
    const exact = this.#text.endsInIndicesKey()
    this.#write(Buffer.from(`${this.#vectors.length}]`, 'latin1'))
    this.#vectors.push(this.#numbers.take(exact, word(state.wrongAt)))
  }

  /** A number that only JSON.parse reads exactly. Returns where to continue. */
  #hardNumber(from: number): number {
    const to = scanner.tokenTo()
    const value = JSON.parse(Buffer.from(scanner.bytes.subarray(from, to)).toString('latin1')) as number
    const count = word(state.count)
    if (!(Math.abs(value) < floatMax) && word(state.wrongAt) < 0) setWord(state.wrongAt, count)
    setWord(state.count, count + 1)
    this.#numbers.add(Float64Array.of(value))
    return to
  }

  #write(text: Uint8Array): void {
    if (this.#text.add(text)) return
    const field = this.#path()
    const message = `${field} takes more than ${itemTextBytesMax} bytes in addition to its vectors`
    throw new ServerError('limit_exceeded', message, { field, limit: itemTextBytesMax })
  }

  #parsed(text: Text, path: string): unknown {
    const value = parseJsonText(text.read(path), 'body')
    if (this.#vectors.length === 0 || typeof value !== 'object' || value === null) return value
    for (const key of this.#shape.vectorKeys) {
      if (!Object.hasOwn(value, key)) continue
      const holder = value as Record<string, unknown>
      holder[key] = revived(holder[key], this.#vectors)
    }
    return value
  }

  /** Path of the current entry. */
  #path(): string {
    return this.#text === this.#root ? 'body' : `${this.#shape.name}[${this.#items}]`
  }

  #listedTwice(): ServerError {
    const { listKey } = this.#shape
    return invalidArgument(`the body has two values for ${listKey}`, { field: listKey })
  }

  #broken(): ServerError {
    return new ServerError('invalid_json', 'the body is not valid JSON', { field: 'body' })
  }

  #refusal(found: number): ServerError {
    if (found === event.tooDeep) return tooDeep('body')
    if (found === event.broken) return this.#broken()
    const path = this.#path()
    if (found === event.numberTooLong) {
      const message = `a number in ${path} has more than ${jsonNumberBytesMax} characters`
      return new ServerError('limit_exceeded', message, { field: path, limit: jsonNumberBytesMax })
    }
    const field = path === 'body' ? this.#key : `${path}.${this.#key}`
    if (found === event.tooManyNumbers) {
      const message = `${field} has an array of more than ${vectorNumbersMax} numbers`
      return new ServerError('limit_exceeded', message, { field, limit: vectorNumbersMax })
    }
    return invalidArgument(`${field} has an array of numbers whose element ${word(state.count)} is not a number`, {
      field,
    })
  }
}

const noBytes = Buffer.alloc(0)
const opening = Buffer.from('[')
const closing = Buffer.from(']')

/** Replaces the placeholders in the text by the numbers. */
function revived(value: unknown, vectors: readonly ScannedNumbers[]): unknown {
  if (Array.isArray(value)) {
    if (value.length === 1 && typeof value[0] === 'number') return vectors[value[0]]
    return value.map((element: unknown) => revived(element, vectors))
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, revived(inner, vectors)]))
}

const quote = 0x22
const backslash = 0x5c

/** Text that grows while it is read, up to the limit of one entry. */
class Text {
  #bytes = Buffer.allocUnsafe(4_096)
  #length = 0

  /** Returns false if the bytes do not fit. */
  add(bytes: Uint8Array): boolean {
    const length = this.#length + bytes.length
    if (length > itemTextBytesMax) return false
    if (length > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.min(itemTextBytesMax, Math.max(length, 2 * this.#bytes.length)))
      this.#bytes.copy(larger, 0, 0, this.#length)
      this.#bytes = larger
    }
    this.#bytes.set(bytes, this.#length)
    this.#length = length
    return true
  }

  clear(): void {
    this.#length = 0
  }

  get isBlank(): boolean {
    return this.#length === 0 || (this.#length === 1 && this.#bytes[0] === 0x20)
  }

  read(path: string): string {
    const bytes = this.#bytes.subarray(0, this.#length)
    if (isAscii(bytes)) return bytes.toString('latin1')
    if (!isUtf8(bytes)) throw new ServerError('invalid_json', `${path} is not valid UTF-8`, { field: path })
    return bytes.toString('utf8')
  }

  /** The value of the string that ends here; undefined if it is not a string. */
  lastString(): string | undefined {
    let from = this.#length - 2
    for (; from >= 0; from--) {
      if (this.#bytes[from] !== quote) continue
      let escapes = 0
      while (from > escapes && this.#bytes[from - 1 - escapes] === backslash) escapes++
      if (escapes % 2 === 0) break
    }
    const written = this.#bytes.subarray(from, this.#length)
    if (from < 0) return undefined
    if (!written.includes(backslash)) return written.toString('utf8', 1, written.length - 1)
    try {
      return JSON.parse(written.toString('utf8')) as string
    } catch {
      return undefined
    }
  }

  /** Whether the array that begins here contains the positions of a sparse vector. */
  endsInIndicesKey(): boolean {
    const tail = this.#bytes.toString('latin1', Math.max(0, this.#length - 16), this.#length)
    return /indices" ?: ?\[ ?$/.test(tail)
  }
}

/** The numbers of one array, which may arrive in several pieces. */
class Numbers {
  #values = new Float64Array(0)
  #count = 0

  add(values: Float64Array): void {
    const count = this.#count + values.length
    if (count > this.#values.length) {
      const larger = new Float64Array(Math.max(count, 2 * this.#values.length))
      larger.set(this.#values.subarray(0, this.#count))
      this.#values = larger
    }
    this.#values.set(values, this.#count)
    this.#count = count
  }

  take(exact: boolean, infiniteAt: number): ScannedNumbers {
    const values = this.#values.subarray(0, this.#count)
    this.#count = 0
    if (exact) return new ScannedNumbers(values.slice(), infiniteAt)
    const floats = floatRoom(values.length)
    floats.set(values)
    return new ScannedNumbers(floats, infiniteAt)
  }
}
