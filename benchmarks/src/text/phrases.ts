// `npm run bench:text-phrases -- --docs FILE [--rows 60000] [--language english] [--queries 50] [--rounds 5] [--turn 200] [--seed 1]`: searches and
// counts of phrases of two frequent words next to those of texts with both words anywhere, by turns in one process, and the first count of each phrase,
// for which texts are analyzed. Exits with code 1 if the number of texts with a phrase is not the one that is found without an index.

import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { openEngine, type TextQuery } from '@annal/engine'
import { seededRandom } from '@annal/wal/testing'
import { analyzerOf, loadAnalyzers } from '../../../packages/engine/src/text/analyzers.ts'
import { readOptions } from '../options.ts'
import { megabytes } from './libraries.ts'
import { textsOf } from './texts.ts'
import { measureByTurns } from './turns.ts'

const values = readOptions({
  docs: String,
  rows: 60_000,
  language: 'english',
  queries: 50,
  rounds: 5,
  turn: 200,
  seed: 1,
})
if (values.docs === undefined) throw new Error('--docs names a file')
const turns = { rounds: values.rounds, turnMs: values.turn, clock: 'cpu' as const }
const [frequentMin, frequentMax] = [0.02, 0.2]
const batch = 500
const limit = 10

interface Phrase {
  readonly words: readonly [string, string]
  /** Texts that have it, found without an index. */
  readonly rows: number
}

const texts = textsOf(values.docs, values.rows)
await loadAnalyzers()
const analyzer = analyzerOf({ language: values.language, analyzer: 1 })
const termsOf = Array.from({ length: texts.rows }, (_, row) => {
  const terms: string[] = []
  analyzer.forEachToken(texts.text(row), (term, position) => {
    terms[position] = term
  })
  return terms
})
const random = seededRandom(values.seed).next
const pick = <T>(from: readonly T[]): T => from[Math.floor(random() * from.length)] as T
const isFrequent = (word: string) => {
  const share = (texts.having.get(word) ?? 0) / texts.rows
  return share >= frequentMin && share <= frequentMax && analyzer.queryTokens(word).length === 1
}
const frequent = [...texts.having.keys()].filter(isFrequent)
const classes: readonly { readonly name: string; readonly phrases: readonly Phrase[] }[] = [
  { name: 'two frequent words that follow each other in a text', phrases: phrases(neighbors) },
  { name: 'two frequent words', phrases: phrases(() => [pick(frequent), pick(frequent)]) },
]

function phrases(choose: () => readonly [string, string]): readonly Phrase[] {
  return Array.from({ length: values.queries }, () => {
    const words = choose()
    const [first, second] = words.map((word) => analyzer.queryTokens(word)[0]?.term)
    const rows = termsOf.filter((terms) => terms.some((term, i) => term === first && terms[i + 1] === second)).length
    return { words, rows }
  })
}

function neighbors(): readonly [string, string] {
  for (;;) {
    const words = texts.words(Math.floor(random() * texts.rows))
    const at = Math.floor(random() * words.length)
    const [first = '', second = ''] = words.slice(at, at + 2)
    if (first !== second && isFrequent(first) && isFrequent(second)) return [first, second]
  }
}

function cpuMicros(): number {
  const { user, system } = process.cpuUsage()
  return user + system
}

const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-phrases-'))
const engine = await openEngine({ dataDir, threads: 1, fsync: 'interval' })
const fields = [{ name: 'body', type: 'text' as const, params: { language: values.language } }]
const collection = await engine.database().createCollection({ name: 'texts', fields })
for (let from = 0; from < texts.rows; from += batch) {
  const rows = Array.from({ length: Math.min(batch, texts.rows - from) }, (_, i) => from + i)
  await collection.upsert(rows.map((row) => ({ id: String(row), fields: { body: texts.text(row) } })))
}

const search = (query: TextQuery) => collection.search({ fields: { body: { query, limit } } })
const count = (query: TextQuery) => collection.count({ match: { body: { query } } })
const asWords = ({ words }: Phrase): TextQuery => ({ must: [words.join(' ')] })
const asPhrase = ({ words }: Phrase): TextQuery => ({ must: [{ phrase: words.join(' ') }] })

let faults = 0
const lines: string[] = []
for (const { name, phrases } of classes) {
  let both = 0
  await collection.rebuild()
  const begun = cpuMicros()
  for (const phrase of phrases) await count(asPhrase(phrase))
  const first = (cpuMicros() - begun) / phrases.length
  for (const phrase of phrases) {
    const found = await count(asPhrase(phrase))
    both += (await count(asWords(phrase))).count
    const { results } = await search(asPhrase(phrase))
    if (found.count === phrase.rows && results.body?.length === Math.min(limit, phrase.rows)) continue
    faults++
    console.error(`"${phrase.words.join(' ')}": ${found.count} texts, not ${phrase.rows}`)
  }
  const rows = phrases.reduce((sum, { rows }) => sum + rows, 0)
  for (const [what, run] of [
    [`the ${limit} best`, search],
    ['count', count],
  ] as const) {
    const forms = [asWords, asPhrase]
    const { micros, ratios } = await measureByTurns(turns, forms.length, async (form) => {
      for (const phrase of phrases) await run((forms[form] as typeof asWords)(phrase))
      return { queries: phrases.length }
    })
    const [words, phrase] = micros.map((one) => one.toFixed(0))
    const texts = `${Math.round(both / phrases.length)} | ${Math.round(rows / phrases.length)}`
    const firstTime = run === count ? first.toFixed(0) : ''
    lines.push(`| ${name} | ${what} | ${texts} | ${words} | ${phrase} | ${ratios[1]?.toFixed(1)} x | ${firstTime} |`)
  }
}
console.log(`${texts.description} Microseconds of CPU time for each query, median of ${turns.rounds} turns.\n`)
console.log(
  '| phrase | | texts with both words | texts with the phrase | both words | phrase | phrase / words | first time |',
)
console.log('|---|---|---|---|---|---|---|---|')
console.log(lines.join('\n'))
const { memory } = collection.describe()
const bytes = Object.values(memory).reduce((sum, part) => sum + part, 0)
console.log(
  `\nMemory: ${megabytes(bytes)}, of which records ${megabytes(memory.objects ?? 0)}. Node ${process.version}.`,
)
await engine.close()
rmSync(dataDir, { recursive: true, force: true })
process.exitCode = faults > 0 ? 1 : 0
