// A text collection with dense and sparse vectors, queries and judged relevance, read from a folder.
import { readFileSync } from 'node:fs'
import path from 'node:path'

export interface SparseRow {
  readonly indices: Int32Array
  readonly values: Float32Array
}

export interface TextSet {
  readonly name: string
  readonly rows: number
  readonly queries: number
  readonly dimension: number
  readonly sparseDimension: number
  dense(row: number): Float32Array
  denseQuery(query: number): Float32Array
  sparse(row: number): SparseRow
  sparseQuery(query: number): SparseRow
  /** Grade of each relevant row; undefined where a query has none. */
  relevant(query: number): ReadonlyMap<number, number> | undefined
}

interface Meta {
  readonly n: number
  readonly d: number
  readonly nq: number
  readonly sparse: { readonly dim: number }
}

export const textSetNames = ['cranfield', 'cisi', 'npl'] as const
export const dataFolder = process.env.ANNAL_DATA ?? '../shared/data'

export function readTextSet(folder: string): TextSet {
  const read = (file: string) => new Uint8Array(readFileSync(path.join(folder, file))).buffer
  // Written together with the rows; a wrong one shows as numbers that do not fit.
  const meta = JSON.parse(readFileSync(path.join(folder, 'meta.json'), 'utf8')) as Meta
  const base = new Float32Array(read('base.f32'))
  const queries = new Float32Array(read('queries.f32'))
  const relevant = readGrades(folder)
  return {
    name: path.basename(folder),
    rows: meta.n,
    queries: meta.nq,
    dimension: meta.d,
    sparseDimension: meta.sparse.dim,
    dense: (row) => base.subarray(row * meta.d, (row + 1) * meta.d),
    denseQuery: (query) => queries.subarray(query * meta.d, (query + 1) * meta.d),
    sparse: readCsr(read('sparse_base.csr')),
    sparseQuery: readCsr(read('sparse_queries.csr')),
    relevant: (query) => relevant.get(query),
  }
}

/** int64 rows, columns, terms; int64 start of each row and the end; int32 indices; float32 weights. */
function readCsr(buffer: ArrayBuffer): (row: number) => SparseRow {
  const [rows = 0n, , terms = 0n] = new BigInt64Array(buffer, 0, 3)
  const n = Number(rows)
  const starts = Array.from(new BigInt64Array(buffer, 24, n + 1), Number)
  const indices = new Int32Array(buffer, 24 + (n + 1) * 8, Number(terms))
  const values = new Float32Array(buffer, 24 + (n + 1) * 8 + Number(terms) * 4, Number(terms))
  return (row) => ({
    indices: indices.subarray(starts[row], starts[row + 1]),
    values: values.subarray(starts[row], starts[row + 1]),
  })
}

function readGrades(folder: string): Map<number, Map<number, number>> {
  const lines = (file: string) => readFileSync(path.join(folder, file), 'utf8').trimEnd().split('\n')
  const numbersOf = (file: string) =>
    new Map(lines(file).map((line, i) => [String((JSON.parse(line) as { id: unknown }).id), i]))
  const rows = numbersOf('docs.jsonl')
  const queries = numbersOf('queries.jsonl')
  const grades = new Map<number, Map<number, number>>()
  for (const line of lines('qrels.tsv').slice(1)) {
    const [query = '', row = '', grade] = line.split('\t')
    const [q, r] = [queries.get(query), rows.get(row)]
    if (q === undefined || r === undefined || Number(grade) <= 0) continue
    grades.set(q, (grades.get(q) ?? new Map()).set(r, Number(grade)))
  }
  return grades
}

/** Gain of the first ten, 2^grade - 1 each, over that of the best possible ten. */
export function ndcg10(found: readonly number[], relevant: ReadonlyMap<number, number>): number {
  const gain = (grades: readonly number[]) =>
    grades.slice(0, 10).reduce((sum, grade, i) => sum + (2 ** grade - 1) / Math.log2(i + 2), 0)
  const ideal = gain([...relevant.values()].sort((a, b) => b - a))
  return gain(found.map((row) => relevant.get(row) ?? 0)) / ideal
}
