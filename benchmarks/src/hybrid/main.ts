// `node scripts/run.mjs benchmarks/src/hybrid/main.ts`: quality of dense, sparse, and fused searches on judged text collections, of vectors
// and of texts, compared with published figures. Exits with code 1 if a figure of the published terms differs by more than 0.005. Reads
// ANNAL_DATA, else ../shared/data. `--out FILE` for a page of Markdown.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Collection, type Fusion, openEngine, type SearchRequest } from '@annal/engine'
import { ndcg10, readTextSet, type TextSet, textSetNames } from '../../../packages/engine/test/search/text-set.ts'
import { readOptions } from '../options.ts'

const values = readOptions({ out: String })
const pool = 100

/** Exact search, RRF with k = 60 over both lists of 100. */
const published = {
  cranfield: { sparse: 0.383, dense: 0.411, 'RRF k 60': 0.412 },
  cisi: { sparse: 0.413, dense: 0.381, 'RRF k 60': 0.409 },
  npl: { sparse: 0.396, dense: 0.263, 'RRF k 60': 0.355 },
} as const
/** Columns of searches of text fields, and the published figure that each must equal. */
const ofTexts = {
  'BM25, published terms': 'sparse',
  'BM25, english': undefined,
  'RRF, published terms': 'RRF k 60',
  'RRF, english': undefined,
} as const
const textColumns = Object.keys(ofTexts)

const weighted = (method: Fusion['method'], sparse: number): Fusion => ({
  method,
  weights: { dense: 1 - sparse, words: sparse },
  limit: pool,
})
const fusions: Readonly<Record<string, Fusion>> = {
  'RRF k 60': { method: 'rrf', k: 60, limit: pool },
  'RRF, sparse 0.3': weighted('rrf', 0.3),
  'RRF, sparse 0.7': weighted('rrf', 0.7),
  'relative score': { method: 'relative_score', limit: pool },
  'relative, sparse 0.3': weighted('relative_score', 0.3),
  'relative, sparse 0.7': weighted('relative_score', 0.7),
}

const columns = ['sparse', 'dense', ...Object.keys(fusions)]
const rows: string[] = []
const textRows: string[] = []
let missed = false
for (const name of textSetNames) {
  const set = readTextSet(name)
  if (set === undefined) {
    console.error(`${name} is not on this machine (ANNAL_DATA): skipped`)
    continue
  }
  const figures = await judge(set)
  rows.push(`| ${name} | ${columns.map((column) => figures.get(column)?.toFixed(3)).join(' | ')} |`)
  textRows.push(`| ${name} | ${textColumns.map((column) => figures.get(column)?.toFixed(3)).join(' | ')} |`)
  const expected: [string, number][] = Object.entries(published[name])
  for (const [column, same] of Object.entries(ofTexts)) if (same) expected.push([column, published[name][same]])
  for (const [column, figure] of expected) {
    const off = Math.abs((figures.get(column) ?? 0) - figure)
    if (off > 0.005) console.error(`${name}, ${column}: ${figures.get(column)?.toFixed(4)}, published ${figure}`)
    missed ||= off > 0.005
  }
}
const page = [
  '# Hybrid search',
  '',
  'nDCG@10 on judged text collections: sparse is BM25, dense is LSA. Both are searched exactly for 100 hits, which are then fused.',
  'Command: `node scripts/run.mjs benchmarks/src/hybrid/main.ts`',
  '',
  `| set | ${columns.join(' | ')} |`,
  `|---|${columns.map(() => '---|').join('')}`,
  ...rows,
  '',
  '## From texts',
  '',
  'The same of text fields. "Published terms" are those of the sparse vectors, in a field with `language: none`; these figures equal those above.',
  '`english` analyzes the title and text of each document itself, with stems; the published terms lose a plural s at most. RRF has k 60.',
  '',
  `| set | ${textColumns.join(' | ')} |`,
  `|---|${textColumns.map(() => '---|').join('')}`,
  ...textRows,
  '',
].join('\n')
console.log(page)
if (values.out !== undefined) writeFileSync(values.out, page)
process.exitCode = missed ? 1 : 0

async function judge(set: TextSet): Promise<Map<string, number>> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-hybrid-'))
  const engine = await openEngine({ dataDir, fsync: 'none' })
  try {
    const params = { dimension: set.dimension, spaceType: 'cosine', precision: 'float32' } as const
    const fields = [
      { name: 'dense', type: 'vector', params },
      { name: 'words', type: 'sparse', params: { dimension: set.sparseDimension } },
      { name: 'terms', type: 'text', params: { language: 'none' } },
      { name: 'body', type: 'text', params: { language: 'english' } },
    ] as const
    const collection = await engine.database().createCollection({ name: set.name, fields })
    for (let from = 0; from < set.rows; from += 1_000) {
      const objects = Array.from({ length: Math.min(1_000, set.rows - from) }, (_, i) => ({
        id: String(from + i),
        fields: {
          dense: set.dense(from + i),
          words: set.sparse(from + i),
          terms: set.publishedTerms(from + i),
          body: set.text(from + i),
        },
      }))
      await collection.upsert(objects)
    }
    const sums = new Map<string, number>()
    let judged = 0
    for (let query = 0; query < set.queries; query++) {
      const relevant = set.relevant(query)
      if (relevant === undefined) continue
      judged++
      const add = (column: string, hits: readonly { readonly id: string }[]) => {
        const found = hits.map(({ id }) => Number(id))
        sums.set(column, (sums.get(column) ?? 0) + ndcg10(found, relevant))
      }
      const request = {
        dense: { query: set.denseQuery(query), limit: pool },
        words: { query: set.sparseQuery(query), limit: pool },
      }
      for (const [column, fusion] of Object.entries(fusions)) {
        const { results, fused } = await collection.search({ fields: request, fusion, exact: true })
        add(column, fused?.map(({ hit }) => hit) ?? [])
        if (column !== 'RRF k 60') continue
        add('sparse', results.words ?? [])
        add('dense', results.dense ?? [])
      }
      const texts = { terms: set.publishedQueryTerms(query), body: set.textQuery(query) }
      for (const [name, column] of [
        ['terms', 'published terms'],
        ['body', 'english'],
      ] as const) {
        const fields: SearchRequest['fields'] = { dense: request.dense, [name]: { query: texts[name], limit: pool } }
        const fusion: Fusion = { method: 'rrf', k: 60, limit: pool }
        const { results, fused } = await (collection as Collection).search({ fields, fusion, exact: true })
        add(`BM25, ${column}`, results[name] ?? [])
        add(`RRF, ${column}`, fused?.map(({ hit }) => hit) ?? [])
      }
    }
    return new Map([...sums].map(([column, sum]) => [column, sum / judged]))
  } finally {
    await engine.close()
    rmSync(dataDir, { recursive: true })
  }
}
