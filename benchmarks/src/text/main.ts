// `npm run bench:text`: searches of a field of texts next to those of libraries, by turns in one process, on seeded texts with the frequencies of words.
// Each turn runs every query of a class once in each of them. Ids of queries for all words are compared first. Exits with code 1 if they differ.
//
//   npm run bench:text -- [--rows 60000] [--vocabulary 200000] [--libraries minisearch,flexsearch,orama] [--rounds 7] [--queries 100] [--seed 1] [--out FILE]
import { writeFileSync } from 'node:fs'
import os from 'node:os'
import { parseArgs } from 'node:util'
import type { SparseField } from '../../../packages/engine/src/vector/field.ts'
import { openWorkerPool } from '../../../packages/engine/src/vector/open-pool.ts'
import { openSparseField } from '../../../packages/engine/src/vector/sparse/field.ts'
import { type Combine, openFlexSearch, openMiniSearch, openOrama, type TextIndex } from './libraries.ts'
import { createRandom, fieldRows, type Texts, wordOf, zipfTexts } from './zipf.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '60000' },
    vocabulary: { type: 'string', default: '200000' },
    libraries: { type: 'string', default: 'minisearch,flexsearch,orama' },
    rounds: { type: 'string', default: '7' },
    queries: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    out: { type: 'string' },
  },
})
const [rows, vocabulary, rounds, queriesPerClass, seed] = [
  values.rows,
  values.vocabulary,
  values.rounds,
  values.queries,
  values.seed,
].map(Number) as [number, number, number, number, number]
const k = 10
const batchRows = 5_000
const openers: { readonly [name: string]: (texts: Texts) => Promise<TextIndex> } = {
  minisearch: openMiniSearch,
  flexsearch: openFlexSearch,
  orama: openOrama,
}

interface QueryClass {
  readonly name: string
  readonly combine: Combine
  readonly queries: readonly (readonly number[])[]
}

const texts = zipfTexts({ rows, vocabulary, seed })
const pool = await openWorkerPool({ threads: 1 })
const { field, postings, seconds } = await fillField()
const indexes: TextIndex[] = [annalIndex(field)]
for (const name of values.libraries.split(',').filter((one) => one !== '')) {
  const open = openers[name]
  if (open === undefined) throw new Error(`no library ${name}`)
  const before = performance.now()
  indexes.push(await open(texts))
  console.error(`${name}: indexed in ${((performance.now() - before) / 1000).toFixed(1)} s`)
}
const classes = queryClasses()
const differences = await compareIds()
const lines: string[] = []
for (const one of classes) lines.push(await measure(one))
const page = report()
console.log(page)
if (values.out !== undefined) writeFileSync(values.out, page)
await field.close()
await pool.close()
process.exitCode = differences === 0 ? 0 : 1

async function fillField() {
  const filled = await openSparseField({ name: 'text' }, pool, 'counts')
  const none = {
    ordinals: new Uint32Array(0),
    counts: new Uint32Array(0),
    indices: new Uint32Array(0),
    values: new Float32Array(0),
  }
  const before = performance.now()
  let total = 0
  for (let from = 0; from < rows; from += batchRows) {
    const batch = fieldRows(texts, from, Math.min(rows, from + batchRows))
    total += batch.indices.length
    await filled.apply(1, batch, none)
  }
  return { field: filled, postings: total, seconds: (performance.now() - before) / 1000 }
}

function annalIndex(searched: SparseField): TextIndex {
  return {
    name: 'annal',
    search: async (words, combine, limit) => {
      const terms = words.map((word) => ({ index: rankOf(word), boost: 1, isRequired: combine === 'all' }))
      const { ordinals } = await searched.search({ terms, k1: 1.2, b: 0.75 }, { k: limit, version: 1 })
      return [...ordinals]
    },
  }
}

/** The rank of a word: see wordOf. */
function rankOf(word: string): number {
  let rank = 0
  for (let i = 0; i < word.length; i++) rank = rank * 26 + word.charCodeAt(i) - 97
  return rank
}

/** Words are frequent if 2 to 20 % of the texts have them, and rare if 0.01 to 0.2 % do. */
function queryClasses(): QueryClass[] {
  const random = createRandom(seed + 1)
  const within = (low: number, high: number) =>
    [...texts.having.keys()].filter(
      (word) => (texts.having[word] ?? 0) >= low * rows && (texts.having[word] ?? 0) <= high * rows,
    )
  const [frequent, rare] = [within(0.02, 0.2), within(0.0001, 0.002)]
  const pick = (from: readonly number[]) => from[Math.floor(random() * from.length)] as number
  const many = (...kinds: (readonly number[])[]) =>
    Array.from({ length: queriesPerClass }, () => {
      const chosen = new Set<number>()
      for (const kind of kinds)
        for (let word = pick(kind); ; word = pick(kind))
          if (!chosen.has(word)) {
            chosen.add(word)
            break
          }
      return [...chosen]
    })
  const mixed = () => {
    const [row] = [Math.floor(random() * rows)]
    const words = [...new Set(texts.words(row))]
    return [words[Math.floor(random() * words.length)] as number, words[Math.floor(random() * words.length)] as number]
  }
  const fromTexts = Array.from({ length: queriesPerClass }, mixed).map((pair) => [...new Set(pair)])
  return [
    { name: 'two words of a text', combine: 'all', queries: fromTexts },
    { name: 'two frequent words', combine: 'all', queries: many(frequent, frequent) },
    { name: 'a frequent and a rare word', combine: 'all', queries: many(frequent, rare) },
    { name: 'two rare words', combine: 'all', queries: many(rare, rare) },
    { name: 'two words of a text', combine: 'any', queries: fromTexts },
    { name: 'two frequent words', combine: 'any', queries: many(frequent, frequent) },
    { name: 'four words, two of them rare', combine: 'any', queries: many(frequent, frequent, rare, rare) },
  ]
}

/** Number of queries for all words whose ids differ in a library. */
async function compareIds(): Promise<number> {
  let different = 0
  for (const { combine, queries } of classes) {
    if (combine !== 'all') continue
    for (const query of queries.slice(0, 10)) {
      const [own, ...others] = await Promise.all(indexes.map((index) => index.search(query.map(wordOf), combine, rows)))
      for (const [i, other] of others.entries()) {
        const same = own !== undefined && own.length === other.length && new Set([...own, ...other]).size === own.length
        if (same) continue
        different++
        console.error(
          `${indexes[i + 1]?.name}: ${other.length} ids for ${query.map(wordOf).join(' ')}, not ${own?.length}`,
        )
      }
    }
  }
  return different
}

async function measure({ name, combine, queries }: QueryClass): Promise<string> {
  const words = queries.map((query) => query.map(wordOf))
  const took = indexes.map((): number[] => [])
  for (let round = -1; round < rounds; round++) {
    for (const [i, index] of indexes.entries()) {
      const before = performance.now()
      for (const query of words) await index.search(query, combine, k)
      // The first round compiles.
      if (round >= 0) took[i]?.push(((performance.now() - before) * 1000) / words.length)
    }
  }
  const medians = took.map(median)
  const [own = Number.NaN, ...others] = medians
  const cells = others.map((micros) => `${micros.toFixed(0)} (${(micros / own).toFixed(1)} x)`)
  return `| ${name} | ${combine} | ${own.toFixed(0)} | ${cells.join(' | ')} |`
}

function median(numbers: number[]): number {
  return numbers.sort((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN
}

function report(): string {
  const names = indexes.map(({ name }) => name)
  const bytes = field.bytes().sparse ?? 0
  return [
    '# Text search',
    '',
    `${rows.toLocaleString('en')} texts of 10 to 60 words, ${vocabulary.toLocaleString('en')} different words, ${postings.toLocaleString('en')} postings, seed ${seed}.`,
    `Microseconds for a query of the ${k} best, median of ${rounds} rounds of ${queriesPerClass} queries, by turns in one process; in brackets as a multiple of ours.`,
    `A search of Annal that reads more than 2^15 postings includes the way to a worker thread and back. minisearch ranks by BM25+, orama by BM25, flexsearch by the position of words.`,
    `Lists: ${(bytes / 2 ** 20).toFixed(0)} MiB, ${(bytes / postings).toFixed(1)} bytes for each posting, filled in ${seconds.toFixed(0)} s.`,
    `${os.cpus()[0]?.model ?? 'unknown processor'}, ${os.availableParallelism()} cores, Node ${process.version}, load ${os.loadavg()[0]?.toFixed(1)}.`,
    `Command: \`npm run bench:text -- --rows ${rows} --libraries ${values.libraries} --rounds ${rounds} --queries ${queriesPerClass}\``,
    '',
    `| query | words | ${names.join(' | ')} |`,
    `|---|---|${names.map(() => '---|').join('')}`,
    ...lines,
    '',
  ].join('\n')
}
