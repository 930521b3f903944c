// Reads a MessagePack body with a list while it arrives. The bytes of each entry are returned as soon as they are complete, and
// are valid until the next bytes are pushed. Announced counts are compared with the bytes that can still arrive and with the
// limits, so a body is rejected at the byte that exceeds a limit.
import { freeBuffer } from '@annal/wal'
import { ServerError } from '../errors.ts'
import { itemTextBytesMax, msgpackDepthMax, vectorNumbersMax } from '../limits.ts'
import { float32Bytes, float32Head, float32Run } from './float-run.ts'
import { broken, type Head, headOf } from './msgpack-scan.ts'

/** Where a body has its list, and its limits. */
export interface MsgpackListShape {
  /** Position of the list: the body itself, the only element of the body, or the value of a key of a body that is a map. */
  readonly list: 'body' | 'element' | { readonly key: string }
  /** Maximum size of one entry. */
  readonly itemBytesMax: number
  /** Called when the list begins. Throws if there are too many entries. */
  readonly onCount: (count: number) => void
}

/** A longer entry reserves space for all bytes that may follow. Reserved space takes no memory until bytes arrive. */
const windowBytesMax = 8_388_608

/** Size of each number including its head; 0 for other heads. */
const numberBytes = Uint8Array.from({ length: 256 }, (_, head) => {
  if (head < 0x80 || head >= 0xe0) return 1
  if (head < 0xca || head > 0xd3) return 0
  return 1 + [4, 8, 1, 2, 4, 8, 1, 2, 4, 8][head - 0xca]!
})

/** Reads one body. Call `push` for each piece and `next` for the entries, then `end`. */
export class MsgpackItems {
  readonly #shape: MsgpackListShape
  /** Maximum size of the body. */
  readonly #bytesMax: number
  #window = Buffer.allocUnsafeSlow(131_072)
  #filled = 0
  /** Position in the body where the window begins. All other positions are relative to it. */
  #base = 0
  /** The offset of the next head, possibly beyond the received bytes. */
  #at = 0
  /** The number of missing values in each open container. */
  readonly #open: number[] = []
  /** Containers around an entry of the list, while the list is open. */
  #listDepth = -1
  #listed = false
  /** Where the list begins in the body, and its length once it has ended. */
  #listFrom = 0
  #listBytes = 0
  #listIsNext: boolean
  #itemAt = 0
  #keyAt = -1
  /** Whether the value that ends at `#at` is not counted yet. */
  #ending = false
  #isMap = false
  #done = false
  #first = Buffer.alloc(0)
  readonly #ready: { readonly from: number; readonly to: number }[] = []

  constructor(shape: MsgpackListShape, bytesMax: number) {
    this.#shape = shape
    this.#bytesMax = bytesMax
    this.#listIsNext = shape.list === 'body'
  }

  /** Accepts the next bytes, which invalidates the entries returned before. Throws ServerError invalid_msgpack or limit_exceeded. */
  push(bytes: Buffer): void {
    // Bytes after the first value are ignored.
    if (this.#done) return
    if (this.#base + this.#filled === 0) this.#first = Buffer.from(bytes.subarray(0, 16))
    this.#drop()
    this.#makeRoom(bytes.length)
    bytes.copy(this.#window, this.#filled)
    this.#filled += bytes.length
    this.#scan()
  }

  /** The bytes of the next complete entry. */
  next(): Buffer | undefined {
    const range = this.#ready.shift()
    return range && this.#window.subarray(range.from, range.to)
  }

  /** Ends the body. Returns whether it had a list, and its first bytes for the error message if it had none. */
  end(): { readonly listed: boolean; readonly first: Buffer } {
    if (!this.#done) throw broken('ends in the middle of a value', this.#base + this.#filled)
    return { listed: this.#listed, first: this.#first }
  }

  /** Frees the received bytes, and with them every entry. */
  free(): void {
    freeBuffer(this.#window.buffer)
  }

  /** Drops the bytes that are no longer needed. */
  #drop(): void {
    const { length: depth } = this.#open
    const inItem = this.#listDepth >= 0 && (depth > this.#listDepth || (this.#ending && depth === this.#listDepth))
    const from = this.#keyAt >= 0 ? this.#keyAt : inItem ? this.#itemAt : Math.min(this.#at, this.#filled)
    if (from === 0) return
    this.#window.copyWithin(0, from, this.#filled)
    this.#filled -= from
    this.#base += from
    this.#at -= from
    this.#itemAt -= from
    if (this.#keyAt >= 0) this.#keyAt -= from
  }

  #makeRoom(more: number): void {
    const needed = this.#filled + more
    if (needed <= this.#window.length) return
    const room = needed > windowBytesMax ? this.#bytesMax - this.#base : 2 * needed
    const larger = Buffer.allocUnsafeSlow(Math.max(needed, room))
    this.#window.copy(larger, 0, 0, this.#filled)
    this.free()
    this.#window = larger
  }

  #scan(): void {
    while (!this.#done) {
      if (this.#ending) {
        if (this.#at > this.#filled) return
        this.#ending = false
        this.#valueEnd()
        continue
      }
      this.#skipNumbers()
      const head = headOf(this.#window, { offset: this.#at, end: this.#filled, base: this.#base })
      if (head === undefined) return
      this.#begin(head)
    }
  }

  /** Skips numbers, because almost all values are numbers of vectors. Leaves the last one of an array. */
  #skipNumbers(): void {
    const depth = this.#open.length
    if (this.#listDepth < 0 || depth <= this.#listDepth) return
    let offset = this.#at
    let left = this.#open[depth - 1]!
    if (this.#window[offset] === float32Head) {
      const run = float32Run(this.#window, { from: offset, end: this.#filled, count: left - 1 })
      offset += run * float32Bytes
      left -= run
    }
    for (; left > 1 && offset < this.#filled; left--) {
      const bytes = numberBytes[this.#window[offset]!]!
      if (bytes === 0 || offset + bytes > this.#filled) break
      offset += bytes
    }
    this.#at = offset
    this.#open[depth - 1] = left
    this.#checkItem()
  }

  #begin({ bytes, payload, children, isArray }: Head): void {
    const depth = this.#open.length
    if (depth === this.#listDepth) this.#itemAt = this.#at
    if (depth === 1 && this.#isMap && this.#listDepth < 0 && this.#open[0]! % 2 === 0) this.#keyAt = this.#at
    this.#at += bytes + payload
    const offset = this.#base + this.#at
    if (offset > this.#bytesMax) throw broken('ends in the middle of a value', this.#bytesMax)
    if (children > this.#bytesMax - offset)
      throw broken(`announces ${children} values, more than the remaining bytes can hold`, offset)
    if (payload > itemTextBytesMax) throw tooMuch('a string or binary', payload, itemTextBytesMax)
    if (this.#listDepth < 0) this.#checkOutside(offset)
    if (this.#listIsNext && isArray) this.#listBegins(depth, children)
    else if (depth === 0) this.#rootBegins(children, isArray)
    else if (children > 2 * vectorNumbersMax) throw tooMuch('an array', children, vectorNumbersMax)
    else this.#listIsNext = false
    if (this.#done) return
    if (children === 0) {
      this.#ending = true
      return
    }
    this.#open.push(children)
    if (this.#open.length > msgpackDepthMax) throw broken(`nests deeper than ${msgpackDepthMax} levels`, offset)
  }

  #listBegins(depth: number, count: number): void {
    this.#listIsNext = false
    this.#listed = true
    this.#shape.onCount(count)
    if (count === 0) return
    this.#listDepth = depth + 1
    this.#listFrom = this.#base + this.#at
  }

  /** Keys and values next to the list are few; without this bound a body of nothing but keys would be read to its end. */
  #checkOutside(offset: number): void {
    const outside = offset - this.#listBytes
    if (outside > itemTextBytesMax) throw tooMuch('a length outside its list', outside, itemTextBytesMax)
  }

  /** If no list can follow, the reader of the body reports the error. */
  #rootBegins(children: number, isArray: boolean): void {
    const { list } = this.#shape
    this.#isMap = typeof list === 'object' && !isArray && children > 0
    this.#listIsNext = list === 'element' && isArray && children === 1
    this.#done = !this.#isMap && !this.#listIsNext
  }

  /** Counts a value that ended, and its container if it was the last value in it. */
  #valueEnd(): void {
    for (;;) {
      const depth = this.#open.length
      if (depth === this.#listDepth) this.#itemEnd()
      else if (depth === 1 && this.#keyAt >= 0) this.#keyEnd()
      if (depth === 0) {
        this.#done = true
        return
      }
      const left = this.#open[depth - 1]! - 1
      this.#open[depth - 1] = left
      if (left > 0) return
      this.#open.pop()
      if (depth === this.#listDepth) {
        this.#listDepth = -1
        this.#listBytes = this.#base + this.#at - this.#listFrom
      }
    }
  }

  #itemEnd(): void {
    this.#checkItem()
    this.#ready.push({ from: this.#itemAt, to: this.#at })
  }

  #checkItem(): void {
    const length = this.#at - this.#itemAt
    if (length > this.#shape.itemBytesMax) throw tooMuch('an entry', length, this.#shape.itemBytesMax)
  }

  #keyEnd(): void {
    const { list } = this.#shape
    const written = this.#window.subarray(this.#keyAt, this.#at)
    this.#keyAt = -1
    if (typeof list !== 'object' || !isText(written, list.key)) return
    if (this.#listed) throw broken(`has two values for ${list.key}`, this.#base + this.#at)
    this.#listIsNext = true
  }
}

/** Whether MessagePack bytes, head included, are this text. */
function isText(written: Buffer, key: string): boolean {
  const head = written[0]!
  const headBytes = head >= 0xa0 && head <= 0xbf ? 1 : head === 0xd9 ? 2 : head === 0xda ? 3 : head === 0xdb ? 5 : -1
  return headBytes > 0 && written.toString('utf8', headBytes) === key
}

function tooMuch(what: string, value: number, limit: number): ServerError {
  const message = `the MessagePack body has ${what} of ${value}, more than ${limit}`
  return new ServerError('limit_exceeded', message, { field: 'body', value, limit })
}
