// Keeps the most similar of many rows.
import type { DenseHits } from '../vector/field.ts'

export type Best = Pick<DenseHits, 'ordinals' | 'similarities'>

interface Scored {
  readonly ordinal: number
  readonly similarity: number
}

/** Keeps the k most similar rows. Similarities are compared as they are returned, in single precision; ties are ordered by ordinal. */
export class Ranking {
  readonly #k: number
  #kept: Scored[] = []
  #least: number

  constructor(k: number, scoreThreshold = Number.NEGATIVE_INFINITY) {
    this.#k = k
    this.#least = scoreThreshold
  }

  offer(ordinal: number, exact: number): void {
    const similarity = Math.fround(exact)
    if (!(similarity >= this.#least)) return
    this.#kept.push({ ordinal, similarity })
    if (this.#kept.length >= this.#k + Math.max(256, this.#k)) this.#cut()
  }

  best(): Best {
    this.#cut()
    return {
      ordinals: Uint32Array.from(this.#kept, ({ ordinal }) => ordinal),
      similarities: Float32Array.from(this.#kept, ({ similarity }) => similarity),
    }
  }

  #cut(): void {
    this.#kept.sort((a, b) => b.similarity - a.similarity || a.ordinal - b.ordinal)
    this.#kept.length = Math.min(this.#kept.length, this.#k)
    if (this.#kept.length === this.#k) this.#least = Math.max(this.#least, (this.#kept.at(-1) as Scored).similarity)
  }
}
