// Helpers for the tests of memory: seeded random numbers, and sections written and read back.
import { type Section, SectionReader, sourceOf, writeSections } from '../../src/memory/sections.ts'

/** For hash tables. */
export const hashSeed = { low: 0x12345678, high: 0x9abcdef0 }

export function seedOf(name: string): number {
  const given = process.env.ANNAL_SEED
  const seed = given === undefined ? (Date.now() ^ (process.pid << 8)) >>> 0 : Number(given)
  console.log(`# ${name}: ANNAL_SEED=${seed}`)
  return seed
}

/** Numbers from 0 to 1, the same for the same seed. */
export function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x9e3779b9) >>> 0
    let word = Math.imul(state ^ (state >>> 16), 0x21f0aaad)
    word = Math.imul(word ^ (word >>> 15), 0x735a2d97)
    return ((word ^ (word >>> 15)) >>> 0) / 2 ** 32
  }
}

export function sectionBytes(...sections: readonly Section[]): Buffer {
  return Buffer.concat([...writeSections(sections)])
}

export function readerOf(bytes: Uint8Array, pieceBytes = 1_000): SectionReader {
  return new SectionReader(sourceOf(pieces(bytes, pieceBytes)), 'replica')
}

async function* pieces(bytes: Uint8Array, pieceBytes: number): AsyncGenerator<Uint8Array> {
  for (let index = 0; index < bytes.length; index += pieceBytes) yield bytes.subarray(index, index + pieceBytes)
}
