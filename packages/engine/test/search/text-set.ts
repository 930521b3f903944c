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
  /** The document without a repeated title. */
  text(row: number): string
  textQuery(query: number): string
  /** The terms of `sparse` in the order of the text, each as often as it occurs, between spaces. */
  publishedTerms(row: number): string
  publishedQueryTerms(query: number): string
  /** Scores of the exact sparse results, best first. */
  sparseScores(query: number): Float32Array
  /** Grade of each relevant row; undefined if the query has none. */
  relevant(query: number): ReadonlyMap<number, number> | undefined
}

interface Document {
  readonly title?: string
  readonly text: string
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
  const documents = readLines<Document>(folder, 'docs.jsonl')
  const queryLines = readLines<Document>(folder, 'queries.jsonl')
  const vocabulary = new Set(readFileSync(join(folder, 'sparse_vocab.txt'), 'utf8').trimEnd().split('\n'))
  const document = (row: number): Document => documents[row] as Document
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
    text: (row) => withTitle(document(row)),
    textQuery: (query) => (queryLines[query] as Document).text,
    // The published terms count a title twice where the text begins with it.
    publishedTerms: (row) => publishedTerms(`${document(row).title ?? ''} ${document(row).text}`, vocabulary),
    publishedQueryTerms: (query) => publishedTerms((queryLines[query] as Document).text, vocabulary),
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

function readLines<Line>(folder: string, file: string): Line[] {
  const lines = readFileSync(join(folder, file), 'utf8').trimEnd().split('\n')
  return lines.map((line) => JSON.parse(line) as Line)
}

function withTitle({ title = '', text }: Document): string {
  return text.startsWith(title) ? text : `${title} ${text}`
}

/** What `sparse` has of a text: words in lower case, most without a plural s, if they are in the vocabulary. */
function publishedTerms(text: string, vocabulary: ReadonlySet<string>): string {
  const words = text.toLowerCase().match(/[a-z0-9]+/g) ?? []
  return words
    .filter((word) => word !== 'other' && word !== 'these')
    .map((word) => (word.length > 3 && /(?<![siu])s$/.test(word) ? word.slice(0, -1) : word))
    .filter((word) => vocabulary.has(word))
    .join(' ')
}

function readGrades(folder: string): Map<number, Map<number, number>> {
  const numbersOf = (file: string) =>
    new Map(readLines<{ readonly id: unknown }>(folder, file).map(({ id }, i) => [String(id), i]))
  const rows = numbersOf('docs.jsonl')
  const queries = numbersOf('queries.jsonl')
  const grades = new Map<number, Map<number, number>>()
  const lines = readFileSync(join(folder, 'qrels.tsv'), 'utf8').trimEnd().split('\n')
  for (const line of lines.slice(1)) {
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
