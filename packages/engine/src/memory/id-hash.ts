// Ids as words, and their hash: HalfSipHash-1-3 keyed by the collection's own seed, so that nobody outside can choose ids
// that fall on one slot. The message is the zero-padded words and then the length. Written to disk inside id tables.
import { idBytesMax } from '../limits.ts'

/** Two secret words. The same in every replay, therefore part of the collection's definition. */
export interface HashSeed {
  readonly low: number
  readonly high: number
}

const text = new Uint8Array(idBytesMax + 4)
/** The words of the last id that `encodeId` took, zero padded. */
export const idWords = new Uint32Array(text.buffer)
const encoder = new TextEncoder()

/** Puts the id's UTF-8 bytes into `idWords` and gives their number, or -1 when it cannot be an id. */
export function encodeId(id: string): number {
  const length = id.length
  if (length === 0 || length > idBytesMax) return -1
  for (let at = 0; at < length; at++) {
    const code = id.charCodeAt(at)
    if (code > 0x7f) return encodeWide(id)
    text[at] = code
  }
  pad(length)
  return length
}

/** A view of the bytes of the last id, valid until the next. */
export function idBytes(length: number): Uint8Array {
  return text.subarray(0, length)
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

function encodeWide(id: string): number {
  if (!id.isWellFormed()) return -1
  const { read, written } = encoder.encodeInto(id, text.subarray(0, idBytesMax))
  if (read !== id.length) return -1
  pad(written)
  return written
}

function pad(length: number): void {
  text.fill(0, length, length + 4)
}
