// xxh32 and xxh64 over bytes. They find damage, not tampering: what leaves the data directory carries SHA-256 instead.
import xxhash from 'xxhash-wasm'

const xx = await xxhash()

/** The hash copies its input into its own memory, which never shrinks; feeding it in steps keeps that memory this small. */
const stepBytes = 1024 * 1024

export function xxh32(bytes: Uint8Array, seed: number): number {
  return xx.h32Raw(bytes, seed)
}

export function xxh64(bytes: Uint8Array): bigint {
  return bytes.length <= stepBytes ? xx.h64Raw(bytes) : xxh64Pieces([bytes])
}

/** The hash of the pieces as if they were one. */
export function xxh64Pieces(pieces: Iterable<Uint8Array>): bigint {
  const state = xx.create64()
  for (const piece of pieces) {
    for (let at = 0; at < piece.length; at += stepBytes) state.update(piece.subarray(at, at + stepBytes))
  }
  return state.digest()
}
