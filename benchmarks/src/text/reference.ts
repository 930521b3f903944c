// Compares the answers of a text field with the formula of BM25, computed in double precision from the terms of every text, on texts of a file.
//
//   npm run bench:text-reference -- --docs docs.jsonl [--queries queries.jsonl] [--language english] [--limit 100]
//
// Both files have one JSON object per line, with `id`, `text`, and optionally `title`. Without queries, two to four words of every hundredth
// text are used. Each query is searched for any and for all of its words. Exits with code 1 if a hit is missing, or a score differs by more than
// 1e-6 of it.
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { openEngine } from '@annal/engine'
import { analyzerOf, loadAnalyzers } from '../../../packages/engine/src/text/analyzers.ts'
import { bytesOnDisk } from '../bytes-on-disk.ts'
import { readOptions } from '../options.ts'

const values = readOptions({ docs: String, queries: String, language: 'english', limit: 100 })
if (values.docs === undefined) throw new Error('--docs names a file')
const { limit } = values
const [k1, b] = [1.2, 0.75]
const batch = 500
const errorMax = 1e-6

interface Line {
  readonly id: string
  readonly title?: string
  readonly text: string
}

function linesOf(file: string): Line[] {
  const lines = readFileSync(file, 'utf8').split('\n')
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as Line)
}

const docs = linesOf(values.docs)
const texts = docs.map(({ title = '', text }) => (text.startsWith(title) ? text : `${title} ${text}`))
await loadAnalyzers()
const analyzer = analyzerOf({ language: values.language, analyzer: 1 })
const queries =
  values.queries === undefined
    ? texts.flatMap((text, i) =>
        i % 100 === 0
          ? [
              text
                .split(/\s+/)
                .slice(0, 2 + (i % 3))
                .join(' '),
            ]
          : [],
      )
    : linesOf(values.queries).map(({ text }) => text)

/** Terms of each text with their counts, and the texts with each term. */
const counts: Map<string, number>[] = []
const lengths: number[] = []
const having = new Map<string, number[]>()
for (const [row, text] of texts.entries()) {
  const own = new Map<string, number>()
  let length = 0
  for (const { term } of analyzer.tokens(text)) {
    own.set(term, (own.get(term) ?? 0) + 1)
    length++
  }
  for (const term of own.keys()) having.set(term, [...(having.get(term) ?? []), row])
  counts.push(own)
  lengths.push(length)
}
const mean = lengths.reduce((sum, length) => sum + length, 0) / texts.length

function expected(query: string, isAnd: boolean): { readonly row: number; readonly score: number }[] {
  const terms = analyzer.queryTokens(query).map(({ term }) => term)
  const rows = new Set(terms.flatMap((term) => having.get(term) ?? []))
  const found: { row: number; score: number }[] = []
  for (const row of rows) {
    const own = counts[row] as Map<string, number>
    if (isAnd && !terms.every((term) => own.has(term))) continue
    const score = terms.reduce((sum, term) => {
      const [count, n] = [own.get(term) ?? 0, having.get(term)?.length ?? 0]
      const idf = Math.log(1 + (texts.length - n + 0.5) / (n + 0.5))
      return sum + (idf * count * (k1 + 1)) / (count + k1 * (1 - b + (b * (lengths[row] as number)) / mean))
    }, 0)
    found.push({ row, score })
  }
  return found.sort((x, y) => y.score - x.score)
}

const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-reference-'))
const engine = await openEngine({ dataDir, threads: 1, fsync: 'interval' })
const fields = [{ name: 'body', type: 'text' as const, params: { language: values.language } }]
const collection = await engine.database().createCollection({ name: 'texts', fields })
for (let from = 0; from < texts.length; from += batch) {
  const some = texts.slice(from, from + batch)
  await collection.upsert(some.map((body, i) => ({ id: String(from + i), fields: { body } })))
}

let largest = 0
let compared = 0
const faults: string[] = []
for (const query of queries) {
  for (const operator of ['or', 'and'] as const) {
    const { results } = await collection.search({ fields: { body: { query, operator, limit } } })
    const hits = results.body ?? []
    const all = expected(query, operator === 'and')
    if (hits.length !== Math.min(limit, all.length))
      faults.push(`${operator} "${query}": ${hits.length} hits, not ${Math.min(limit, all.length)}`)
    const scores = new Map(all.map(({ row, score }) => [String(row), score]))
    for (const [at, { id, similarity }] of hits.entries()) {
      const own = scores.get(id)
      const error = own === undefined ? Number.POSITIVE_INFINITY : Math.abs(similarity - own) / own
      const errorOfRank = Math.abs(similarity - (all[at]?.score ?? 0)) / similarity
      largest = Math.max(largest, error, errorOfRank)
      compared++
      if (Math.max(error, errorOfRank) > errorMax)
        faults.push(`${operator} "${query}": ${id} has ${similarity}, not ${own}`)
    }
  }
}
const { memory } = collection.describe()
const words = lengths.reduce((sum, length) => sum + length, 0)
const bytes = Object.values(memory).reduce((sum, part) => sum + part, 0)
console.log(
  `${texts.length} texts, ${words} words, ${having.size} terms, ${queries.length} queries for any and for all words`,
)
console.log(
  `${compared} hits compared, largest relative difference ${largest.toExponential(2)}, ${faults.length} faults`,
)
const textBytes = texts.reduce((sum, text) => sum + Buffer.byteLength(text), 0)
await engine.checkpoint()
console.log(
  `texts: ${textBytes} bytes; memory: ${bytes} bytes, ${(bytes / words).toFixed(1)} for each word, ${JSON.stringify(memory)}`,
)
const newest = readdirSync(path.join(dataDir, 'checkpoints')).sort().at(-1) as string
for (const folder of ['wal', path.join('checkpoints', newest)])
  console.log(`${folder}: ${bytesOnDisk(path.join(dataDir, folder))} bytes on disk`)
for (const fault of faults.slice(0, 10)) console.log(fault)
await engine.close()
rmSync(dataDir, { recursive: true, force: true })
process.exitCode = faults.length > 0 ? 1 : 0
