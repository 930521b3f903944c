// Keeps a bounded sample of the queries that a field received. Later queries replace earlier ones at random places, so that the sample
// follows the traffic. It lives in memory only.
import { createRandom } from './random.ts'

/** More queries make a curve more exact than the set of queries itself is. */
const queriesMax = 1_000
const bytesMax = 4 * 2 ** 20
/** Once full, the sample represents about this many times its size of the newest queries. */
const windows = 8

/** The queries of one field, of equal length. */
export class QuerySample {
  readonly #random = createRandom(1)
  readonly #queries: Float32Array[] = []
  readonly #max: number
  #seen = 0

  constructor(dimension: number) {
    this.#max = Math.max(1, Math.min(queriesMax, Math.floor(bytesMax / 4 / dimension)))
  }

  /** Number of queries that were received so far. */
  get seen(): number {
    return Math.round(this.#seen)
  }

  get size(): number {
    return this.#queries.length
  }

  get bytes(): number {
    return this.#queries.reduce((sum, query) => sum + query.byteLength, 0)
  }

  /** Copies the query if it becomes part of the sample. It stands for `weight` queries. */
  add(query: Float32Array, weight = 1): void {
    this.#seen += weight
    if (this.#queries.length < this.#max) {
      this.#queries.push(query.slice())
      return
    }
    const places = Math.min(this.#seen, windows * this.#max) / weight
    this.#queries[Math.floor(this.#random() * Math.max(places, this.#max))]?.set(query)
  }

  /** Counts queries that are not known. */
  skip(queries: number): void {
    this.#seen += queries
  }

  /** At most `count` of the queries, evenly spread. They are copies. */
  take(count: number): Float32Array[] {
    const size = Math.min(count, this.#queries.length)
    return Array.from({ length: size }, (_, i) =>
      (this.#queries[Math.floor((i * this.#queries.length) / size)] as Float32Array).slice(),
    )
  }
}
