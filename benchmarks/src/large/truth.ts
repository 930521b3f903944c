// The exact results of some queries over batches of rows, kept in a file, so that an interrupted load continues.
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'

interface Kept {
  /** Batches that were compared. */
  batches: number
  /** For each query its best rows, best first. */
  readonly best: { readonly row: number; readonly similarity: number }[][]
}

export class Truth {
  readonly #path: string
  readonly #k: number
  readonly #queries: Float32Array
  readonly #dimension: number
  readonly #kept: Kept

  constructor(path: string, k: number, queries: Float32Array, dimension: number) {
    this.#path = path
    this.#k = k
    this.#queries = queries
    this.#dimension = dimension
    const none = { batches: 0, best: Array.from({ length: queries.length / dimension }, () => []) }
    this.#kept = existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : none
  }

  get batches(): number {
    return this.#kept.batches
  }

  /** Row numbers of the best of a query, best first. */
  best(query: number): readonly number[] {
    return (this.#kept.best[query] ?? []).map(({ row }) => row)
  }

  /** Compares the next batch, whose first row has the number `first`. All vectors have unit length. */
  add(rows: Float32Array, first: number): void {
    const d = this.#dimension
    for (const [q, best] of this.#kept.best.entries())
      for (let row = 0; row * d < rows.length; row++) {
        const similarity = productOf(this.#queries, q * d, rows, row * d, d)
        if (best.length === this.#k && similarity <= (best[this.#k - 1]?.similarity ?? 0)) continue
        best.push({ row: first + row, similarity })
        best.sort((a, b) => b.similarity - a.similarity)
        if (best.length > this.#k) best.pop()
      }
    this.#kept.batches++
  }

  save(): void {
    writeFileSync(`${this.#path}.tmp`, JSON.stringify(this.#kept))
    renameSync(`${this.#path}.tmp`, this.#path)
  }
}

function productOf(a: Float32Array, fromA: number, b: Float32Array, fromB: number, dimension: number): number {
  let [s0, s1, s2, s3] = [0, 0, 0, 0]
  for (let i = 0; i < dimension; i += 4) {
    s0 += (a[fromA + i] as number) * (b[fromB + i] as number)
    s1 += (a[fromA + i + 1] as number) * (b[fromB + i + 1] as number)
    s2 += (a[fromA + i + 2] as number) * (b[fromB + i + 2] as number)
    s3 += (a[fromA + i + 3] as number) * (b[fromB + i + 3] as number)
  }
  return s0 + s1 + s2 + s3
}
