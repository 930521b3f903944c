// Texts as words, and their hash: HalfSipHash-1-3 keyed by the collection's own seed, so that nobody outside can choose
// ids that fall on one slot. The message is the zero-padded words and then the length. Hashes are on disk in tables.

/** Two secret words. The same in every replay, therefore part of the collection's definition. */
export interface HashSeed {
  readonly low: number
  readonly high: number
}

const encoder = new TextEncoder()

/** Room for one text at a time as UTF-8, zero padded to whole words, after words that belong to its owner. */
export class TextWords {
  readonly words: Uint32Array
  readonly #bytes: Uint8Array
  readonly #start: number
  readonly #bytesMax: number

  constructor(bytesMax: number, wordsBefore = 0) {
    this.words = new Uint32Array(wordsBefore + Math.ceil(bytesMax / 4) + 1)
    this.#bytes = new Uint8Array(this.words.buffer)
    this.#start = wordsBefore * 4
    this.#bytesMax = bytesMax
  }

  /** Gives the number of bytes with those of the words before, or -1 when the text is too long or ill-formed. */
  encode(text: string): number {
    const length = text.length
    if (length > this.#bytesMax) return -1
    const bytes = this.#bytes
    const start = this.#start
    for (let at = 0; at < length; at++) {
      const code = text.charCodeAt(at)
      if (code > 0x7f) return this.#encodeWide(text)
      bytes[start + at] = code
    }
    return this.#padded(start + length)
  }

  /** The first bytes, valid until the next text. */
  bytes(length: number): Uint8Array {
    return this.#bytes.subarray(0, length)
  }

  #encodeWide(text: string): number {
    if (!text.isWellFormed()) return -1
    const { read, written } = encoder.encodeInto(text, this.#bytes.subarray(this.#start, this.#start + this.#bytesMax))
    return read === text.length ? this.#padded(this.#start + written) : -1
  }

  #padded(length: number): number {
    this.#bytes.fill(0, length, length + 4)
    return length
  }
}

/** The hash of the first `length` bytes of `words`, the last word zero padded. */
export function hashWords(words: Uint32Array, length: number, seed: HashSeed): number {
  let v0 = seed.low | 0
  let v1 = seed.high | 0
  let v2 = 0x6c796765 ^ v0
  let v3 = 0x74656462 ^ v1
  const count = (length + 3) >>> 2
  for (let at = 0; at < count + 4; at++) {
    const word = at < count ? words[at]! | 0 : at === count ? length : 0
    if (at === count + 1) v2 ^= 0xff
    v3 ^= word
    v0 = (v0 + v1) | 0
    v1 = ((v1 << 5) | (v1 >>> 27)) ^ v0
    v0 = (v0 << 16) | (v0 >>> 16)
    v2 = (v2 + v3) | 0
    v3 = ((v3 << 8) | (v3 >>> 24)) ^ v2
    v0 = (v0 + v3) | 0
    v3 = ((v3 << 7) | (v3 >>> 25)) ^ v0
    v2 = (v2 + v1) | 0
    v1 = ((v1 << 13) | (v1 >>> 19)) ^ v2
    v2 = (v2 << 16) | (v2 >>> 16)
    v0 ^= word
  }
  return (v1 ^ v3) >>> 0
}
