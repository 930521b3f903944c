// A secret orthogonal transformation of vectors: inner products, lengths and distances are preserved, the numbers are not. It is a
// random orthogonal matrix in a form that costs d log d: rounds of a random permutation, random signs and rotations of pairs by random
// angles.
import { createHmac } from 'node:crypto'

interface Round {
  readonly order: Uint32Array
  readonly signs: Float64Array
  readonly cosines: Float64Array
  readonly sines: Float64Array
}

export class Rotation {
  readonly #rounds: readonly Round[]
  #from: Float64Array
  #to: Float64Array

  /** Depends only on the secret and the dimension. */
  constructor(secret: Uint8Array, dimension: number) {
    const draw = randomNumbers(secret, `rotation ${dimension}`)
    // After log2(d) rounds every number has met every other; twice as many rounds mix them well.
    const rounds = 2 * Math.ceil(Math.log2(Math.max(2, dimension)))
    this.#rounds = Array.from({ length: rounds }, () => roundOf(dimension, draw))
    this.#from = new Float64Array(dimension)
    this.#to = new Float64Array(dimension)
  }

  /** Rotates one vector in place. */
  turn(vector: Float32Array): void {
    this.#from.set(vector)
    for (const { order, signs, cosines, sines } of this.#rounds) {
      const [from, to] = [this.#from, this.#to]
      for (let i = 0; i < to.length; i++) to[i] = (from[order[i] as number] as number) * (signs[i] as number)
      for (let pair = 0; pair < cosines.length; pair++) {
        const [a, b] = [to[2 * pair] as number, to[2 * pair + 1] as number]
        const [c, s] = [cosines[pair] as number, sines[pair] as number]
        to[2 * pair] = a * c - b * s
        to[2 * pair + 1] = a * s + b * c
      }
      this.#from = to
      this.#to = from
    }
    vector.set(this.#from)
  }
}

function roundOf(dimension: number, draw: () => number): Round {
  const order = Uint32Array.from({ length: dimension }, (_, i) => i)
  for (let i = dimension - 1; i > 0; i--) {
    const j = Math.floor(draw() * (i + 1))
    const [a, b] = [order[i] as number, order[j] as number]
    order[i] = b
    order[j] = a
  }
  const signs = Float64Array.from({ length: dimension }, () => (draw() < 0.5 ? -1 : 1))
  const angles = Array.from({ length: Math.floor(dimension / 2) }, () => draw() * 2 * Math.PI)
  return { order, signs, cosines: Float64Array.from(angles, Math.cos), sines: Float64Array.from(angles, Math.sin) }
}

/** Uniform in [0, 1); the same sequence for the same secret and purpose. */
function randomNumbers(secret: Uint8Array, purpose: string): () => number {
  let block = Buffer.alloc(0)
  let counter = 0
  let offset = 0
  return () => {
    if (offset + 4 > block.length) {
      block = createHmac('sha256', secret).update(`${purpose} ${counter++}`).digest()
      offset = 0
    }
    offset += 4
    return block.readUInt32LE(offset - 4) / 2 ** 32
  }
}
