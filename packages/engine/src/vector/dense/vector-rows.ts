// Vectors one after another: some or all rows of one array or of two, without copying them.
import { elementAt } from '../element-at.ts'

export class VectorRows {
  readonly dimension: number
  readonly #vectors: Float32Array
  /** The selected rows of the array, in order; all if undefined. */
  readonly #chosen: readonly number[] | undefined
  /** Rows that come before. */
  readonly #before: VectorRows | undefined

  constructor(vectors: Float32Array, dimension: number, chosen?: readonly number[], before?: VectorRows) {
    this.dimension = dimension
    this.#vectors = vectors
    this.#chosen = chosen
    this.#before = before
  }

  get length(): number {
    return (this.#before?.length ?? 0) + (this.#chosen?.length ?? this.#vectors.length / this.dimension)
  }

  /** These rows after others. */
  after(before: VectorRows): VectorRows {
    return new VectorRows(this.#vectors, this.dimension, this.#chosen, before)
  }

  /** A view, not a copy. */
  row(index: number): Float32Array {
    const before = this.#before?.length ?? 0
    if (this.#before !== undefined && index < before) return this.#before.row(index)
    const row = this.#chosen === undefined ? index - before : elementAt(this.#chosen, index - before)
    return this.#vectors.subarray(row * this.dimension, (row + 1) * this.dimension)
  }

  /** Copies the rows from `from` up to but not including `to`. */
  copy(from: number, to: number, into: Float32Array): void {
    if (this.#before === undefined && this.#chosen === undefined) {
      into.set(this.#vectors.subarray(from * this.dimension, to * this.dimension))
      return
    }
    for (let index = from; index < to; index++) into.set(this.row(index), (index - from) * this.dimension)
  }
}
