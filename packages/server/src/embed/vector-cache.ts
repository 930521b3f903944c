// Vectors of texts that were sent before, by the hash of the text, so that a repeated import or query calls nobody.
import { createHash } from 'node:crypto'
import type { EmbedPurpose } from '@annal/engine'

/** Bytes of an entry besides its numbers, measured. */
const entryBytes = 250

export class VectorCache {
  readonly #bytesMax: number
  /** In the order of their last use. */
  readonly #vectors = new Map<string, Float32Array>()
  #bytes = 0

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  get bytes(): number {
    return this.#bytes
  }

  get(key: string): Float32Array | undefined {
    const vector = this.#vectors.get(key)
    if (vector === undefined) return undefined
    this.#vectors.delete(key)
    this.#vectors.set(key, vector)
    return vector
  }

  put(key: string, vector: Float32Array): void {
    const size = vector.byteLength + entryBytes
    if (size > this.#bytesMax || this.#vectors.has(key)) return
    this.#vectors.set(key, vector)
    this.#bytes += size
    for (const [oldest, { byteLength }] of this.#vectors) {
      if (this.#bytes <= this.#bytesMax) return
      this.#vectors.delete(oldest)
      this.#bytes -= byteLength + entryBytes
    }
  }
}

/** The text itself is not kept. */
export function cacheKey(
  { name, model }: { readonly name: string; readonly model: string },
  purpose: EmbedPurpose,
  text: string,
): string {
  const hash = createHash('sha256')
  for (const part of [name, model, purpose]) hash.update(`${Buffer.byteLength(part)}\n`).update(part)
  return hash.update(text).digest('base64')
}
