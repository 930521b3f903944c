// Compares a query with rows of files of original vectors in the calling thread: the kernel verifies the checksum of a row and computes its
// similarity where the row was read to. One per thread, with a few pages of memory of its own.
import { dimensionMax } from '../../limits.ts'
import { metricNumbers } from '../../model/choices.ts'
import type { SpaceType } from '../../model/schema.ts'
import { instantiateKernel, type Kernel } from './kernel.ts'

const pageBytes = 2 ** 16
/** Enough for a query and a row of the largest dimension, next to the page of the kernel itself. */
const pagesMax = 1 + Math.ceil((2 * (dimensionMax * 4 + 32)) / pageBytes)
const kernelPages = 1
const checksumBytes = 8

export class OriginalComparer {
  readonly #kernel: Kernel
  readonly #memory: WebAssembly.Memory
  #dimension = 0
  #metric = 0
  #query: Float32Array = new Float32Array(0)
  #rowAt = 0
  #row: Uint8Array = new Uint8Array(0)

  constructor(module: WebAssembly.Module) {
    this.#memory = new WebAssembly.Memory({ initial: kernelPages, maximum: pagesMax, shared: true })
    this.#kernel = instantiateKernel(module, this.#memory)
  }

  /** Sets the query. Rows to be compared are expected in `row` afterwards. */
  begin(query: Float32Array, spaceType: SpaceType): void {
    if (query.length !== this.#dimension) this.#makeRoom(query.length)
    this.#query.set(query)
    this.#metric = metricNumbers[spaceType]
  }

  /** The place of a row: the checksum before it, the vector, and its checksum. */
  get row(): Uint8Array {
    return this.#row
  }

  /** Similarity of the vector in `row` to the query; NaN if its checksum is wrong. `headSum` is the checksum of the header of its file. */
  compare(headSum: bigint): number {
    return this.#kernel.compareOriginal(kernelPages * pageBytes, this.#rowAt, this.#dimension, this.#metric, headSum)
  }

  #makeRoom(dimension: number): void {
    const queryAt = kernelPages * pageBytes
    const vectorBytes = dimension * 4
    // The vector is after a checksum of 8 bytes, and 16-byte aligned.
    const rowAt = queryAt + Math.ceil(vectorBytes / 16) * 16 + 8
    const rowBytes = vectorBytes + 2 * checksumBytes
    const missing = rowAt + rowBytes - this.#memory.buffer.byteLength
    if (missing > 0) this.#memory.grow(Math.ceil(missing / pageBytes))
    const { buffer } = this.#memory
    this.#query = new Float32Array(buffer, queryAt, dimension)
    this.#row = new Uint8Array(buffer, rowAt, rowBytes)
    this.#rowAt = rowAt
    this.#dimension = dimension
  }
}

const comparers = new WeakMap<WebAssembly.Module, OriginalComparer>()

/** The comparer of the calling thread. What is compared in one turn of the event loop is not mixed with anything else. */
export function comparerOf(module: WebAssembly.Module): OriginalComparer {
  const known = comparers.get(module)
  if (known !== undefined) return known
  const comparer = new OriginalComparer(module)
  comparers.set(module, comparer)
  return comparer
}
