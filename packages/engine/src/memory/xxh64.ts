// xxh64 of bytes: for damage, not for enemies. What leaves the data directory is hashed with SHA-256 besides.
import xxhash from 'xxhash-wasm'

const hasher = await xxhash()

export function xxh64(bytes: Uint8Array, seed = 0n): bigint {
  return hasher.h64Raw(bytes, seed)
}

/** A hash over pieces, as if they were one. */
export function xxh64Stream(seed = 0n): { update(bytes: Uint8Array): void; digest(): bigint } {
  const state = hasher.create64(seed)
  return { update: (bytes) => void state.update(bytes), digest: () => state.digest() }
}
