// Encodes texts as words and hashes them: HalfSipHash-1-3 with the collection's secret seed, so that an attacker cannot
// choose ids with colliding hashes. The message is the zero-padded words followed by the length. Hashes are stored on
// disk in tables.

/** Two secret words. They must be the same in every replay, so they are part of the collection's definition. */
export interface HashSeed {
  readonly low: number
  readonly high: number
}

const encoder = new TextEncoder()

/** A buffer for one text at a time as UTF-8, zero padded to whole words, after words that belong to its owner. */
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

  /** Returns the number of bytes including the words before the text, or -1 when the text is too long or ill-formed. */
  encode(text: string): number {
    const length = text.length
    if (length > this.#bytesMax) return -1
    const bytes = this.#bytes
    const start = this.#start
    for (let index = 0; index < length; index++) {
      const code = text.charCodeAt(index)
      if (code > 0x7f) return this.#encodeWide(text)
      bytes[start + index] = code
    }
    return this.#pad(start + length)
  }

  /** The first bytes, valid until the next call of `encode`. */
  bytes(length: number): Uint8Array {
    return this.#bytes.subarray(0, length)
  }

  #encodeWide(text: string): number {
    if (!text.isWellFormed()) return -1
    const { read, written } = encoder.encodeInto(text, this.#bytes.subarray(this.#start, this.#start + this.#bytesMax))
    return read === text.length ? this.#pad(this.#start + written) : -1
  }

  #pad(length: number): number {
    this.#bytes.fill(0, length, length + 4)
    return length
  }
}

/** Returns the hash of the first `length` bytes of `words`, whose last word is zero padded. */
export function hashWords(words: Uint32Array, length: number, seed: HashSeed): number {
  let v0 = seed.low | 0
  let v1 = seed.high | 0
  let v2 = 0x6c796765 ^ v0
  let v3 = 0x74656462 ^ v1
  const count = (length + 3) >>> 2
  for (let index = 0; index < count + 4; index++) {
    const word = index < count ? words[index]! | 0 : index === count ? length : 0
    if (index === count + 1) v2 ^= 0xff
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
