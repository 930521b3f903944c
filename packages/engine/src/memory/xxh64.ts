// xxh64 of bytes: it detects damage, not attacks. Data that leaves the data directory is also hashed with SHA-256.
import xxhash from 'xxhash-wasm'

const hasher = await xxhash()

export function xxh64(bytes: Uint8Array, seed = 0n): bigint {
  return hasher.h64Raw(bytes, seed)
}

/** Hashes pieces as one byte sequence. */
export function xxh64Stream(seed = 0n): { update(bytes: Uint8Array): void; digest(): bigint } {
  const state = hasher.create64(seed)
  return { update: (bytes) => void state.update(bytes), digest: () => state.digest() }
}
