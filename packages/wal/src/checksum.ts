// xxh32 and xxh64 over bytes. They detect damage, not tampering; data that leaves the data directory carries SHA-256
// instead.
import xxhash from 'xxhash-wasm'

const xx = await xxhash()

/**
 * The hash copies its input into WebAssembly memory, which never gets smaller. Input in steps keeps that memory at this
 * size.
 */
const stepBytes = 1024 * 1024

/** The 32-bit hash of the bytes. */
export function xxh32(bytes: Uint8Array, seed: number): number {
  return xx.h32Raw(bytes, seed)
}

/** The 64-bit hash of the bytes. */
export function xxh64(bytes: Uint8Array): bigint {
  return bytes.length <= stepBytes ? xx.h64Raw(bytes) : xxh64Pieces([bytes])
}

/** Hashes the pieces as one byte sequence. */
export function xxh64Pieces(pieces: Iterable<Uint8Array>): bigint {
  const state = xx.create64()
  for (const piece of pieces) {
    for (let offset = 0; offset < piece.length; offset += stepBytes)
      state.update(piece.subarray(offset, offset + stepBytes))
  }
  return state.digest()
}
