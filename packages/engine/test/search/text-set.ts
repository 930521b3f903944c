// A text collection with dense and sparse vectors, queries, exact answers, and judged relevance, if it is on this machine: below
// ANNAL_DATA, else in ../shared/data next to the repository.
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

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
  /** Scores of the exact sparse results, best first. */
  sparseScores(query: number): Float32Array
  /** Grade of each relevant row; undefined if the query has none. */
  relevant(query: number): ReadonlyMap<number, number> | undefined
}

interface Meta {
  readonly n: number
  readonly d: number
  readonly nq: number
  readonly sparse: { readonly dim: number }
}

export const textSetNames = ['cranfield', 'cisi', 'npl'] as const

/** Published nDCG@10 of BM25, LSA, and their RRF (k = 60, both lists of 100), with exact search. */
export const baselines = {
  cranfield: { bm25: 0.383, lsa: 0.411, rrf: 0.412 },
  cisi: { bm25: 0.413, lsa: 0.381, rrf: 0.409 },
  npl: { bm25: 0.396, lsa: 0.263, rrf: 0.355 },
} as const

const besideRepository = join(dirname(fileURLToPath(import.meta.url)), '../../../../../shared/data')

/** Returns undefined if the set is not on this machine. */
export function readTextSet(name: string): TextSet | undefined {
  const folder = join(process.env.ANNAL_DATA ?? besideRepository, name)
  if (!existsSync(join(folder, 'sparse_base.csr'))) return undefined
  const read = (file: string) => new Uint8Array(readFileSync(join(folder, file))).buffer
  const meta = JSON.parse(readFileSync(join(folder, 'meta.json'), 'utf8')) as Meta
  const base = new Float32Array(read('base.f32'))
  const queries = new Float32Array(read('queries.f32'))
  const scores = new Float32Array(read('sparse_groundtruth_score.f32'))
  const depth = scores.length / meta.nq
  const sparse = readCsr(read('sparse_base.csr'))
  const sparseQuery = readCsr(read('sparse_queries.csr'))
  const relevant = readGrades(folder)
  return {
    name,
    rows: meta.n,
    queries: meta.nq,
    dimension: meta.d,
    sparseDimension: meta.sparse.dim,
    dense: (row) => base.subarray(row * meta.d, (row + 1) * meta.d),
    denseQuery: (query) => queries.subarray(query * meta.d, (query + 1) * meta.d),
    sparse,
    sparseQuery,
    sparseScores: (query) => scores.subarray(query * depth, (query + 1) * depth),
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
  const lines = (file: string) => readFileSync(join(folder, file), 'utf8').trimEnd().split('\n')
  const numbersOf = (file: string) => {
    const ids = lines(file).map((line) => String((JSON.parse(line) as { id: unknown }).id))
    return new Map(ids.map((id, i) => [id, i]))
  }
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

/** Gain of the first ten results, 2^grade - 1 each, divided by that of the best possible ten. */
export function ndcg10(found: readonly number[], relevant: ReadonlyMap<number, number>): number {
  const gain = (grades: readonly number[]) =>
    grades.slice(0, 10).reduce((sum, grade, i) => sum + (2 ** grade - 1) / Math.log2(i + 2), 0)
  const ideal = gain([...relevant.values()].sort((a, b) => b - a))
  return gain(found.map((row) => relevant.get(row) ?? 0)) / ideal
}
