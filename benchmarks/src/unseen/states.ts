// `node scripts/run.mjs benchmarks/src/unseen/states.ts [--cases a,b] [--sets flat-100] [--precisions float32,int8] [--rows 8000] [--queries 50]
// [--seed 1]`: recall at default settings in unusual states of a field, against exact search in double precision: under filters of any
// selectivity, alone, with the nearest rows or without them; for many results; after deletions, insertions, and repeated updates.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Collection, type Filter, openEngine, type Precision } from '@annal/engine'
import { seededRandom } from '@annal/wal/testing'
import { listOf, readOptions } from '../options.ts'
import { makeSet, type UnseenSet } from './sets.ts'
import { recallOf, similarities, truthOf } from './truth.ts'

const values = readOptions({
  cases: 'all',
  sets: 'flat-100',
  precisions: 'float32,int8',
  rows: 8_000,
  queries: 50,
  seed: 1,
})
const batch = 1_000

/** What is true of a row at the moment. */
interface Row {
  /** Rank by similarity to the first query, as a share of all rows. */
  readonly rank: number
  /** Independent of the vector. */
  readonly chance: number
  isAlive: boolean
}

interface Search {
  readonly name: string
  readonly filter?: Filter
  readonly allows?: (row: Row) => boolean
  readonly k?: number
  readonly ef?: number
}

const shares = [0.5, 0.1, 0.01, 0.001]
const searches: Readonly<Record<string, readonly Search[]>> = {
  plain: [{ name: 'no filter' }],
  random: shares.map((share) => ({
    name: `random ${share}`,
    filter: [{ chance: { $lt: share } }],
    allows: ({ chance }) => chance < share,
  })),
  near: shares.map((share) => ({
    name: `nearest to one point ${share}`,
    filter: [{ rank: { $lt: share } }],
    allows: ({ rank }) => rank < share,
  })),
  far: shares.map((share) => ({
    name: `farthest from it ${share}`,
    filter: [{ rank: { $gte: 1 - share } }],
    allows: ({ rank }) => rank >= 1 - share,
  })),
  many: [
    { name: 'k 100, ef 10', k: 100, ef: 10 },
    { name: 'k 100', k: 100 },
    { name: 'k 500, ef 10', k: 500, ef: 10 },
    { name: 'k 10, ef 10', ef: 10 },
  ],
}
const changes: Readonly<Record<string, (collection: Collection, state: State) => Promise<void>>> = {
  deleted: async (collection, { rows }) => {
    const gone = rows.flatMap((_, i) => (i % 2 === 1 ? [i] : []))
    await collection.delete(gone.map(String))
    for (const i of gone) (rows[i] as Row).isAlive = false
  },
  reinserted: async (collection, state) => {
    const gone = state.rows.flatMap((row, i) => (row.isAlive ? [] : [i]))
    await insert(collection, state, gone)
    for (const i of gone) (state.rows[i] as Row).isAlive = true
  },
  updated: async (collection, state) => {
    const some = Array.from({ length: 100 }, (_, i) => i)
    for (let round = 0; round < 50; round++) await insert(collection, state, some)
  },
}

interface State {
  readonly set: UnseenSet
  readonly rows: readonly Row[]
}

console.log('| set | precision | state | search | recall | plans | ms |\n|---|---|---|---|---|---|---|')
for (const name of listOf(values.sets))
  for (const precision of listOf(values.precisions) as Precision[]) await measure(name, precision)

async function measure(name: string, precision: Precision): Promise<void> {
  const set = makeSet(name, values)
  const all = Array.from({ length: values.queries }, (_, query) => similarities(set, query))
  const state = { set, rows: rowsOf(all[0] as Float64Array) }
  const dir = await mkdtemp(join(tmpdir(), 'annal-unseen-'))
  const engine = await openEngine({ dataDir: dir, fsync: 'none', threads: 1 })
  try {
    const params = { dimension: set.dimension, spaceType: set.metric, precision }
    const fields = [{ name: 'v', type: 'vector', params }] as const
    const collection = await engine.database().createCollection({ name: 'rows', fields })
    await insert(collection, state, [...state.rows.keys()])
    await report(collection, state, all, [name, precision, 'inserted'])
    for (const [change, apply] of Object.entries(changes)) {
      if (!isChosen(change)) continue
      await apply(collection, state)
      await report(collection, state, all, [name, precision, change])
    }
  } finally {
    await engine.close()
    await rm(dir, { recursive: true })
  }
}

function isChosen(name: string): boolean {
  return values.cases === 'all' || listOf(values.cases).includes(name)
}

function rowsOf(first: Float64Array): Row[] {
  const { next } = seededRandom(values.seed + 1)
  const rank = new Float64Array(first.length)
  const order = [...first.keys()].sort((a, b) => (first[b] as number) - (first[a] as number))
  for (const [place, row] of order.entries()) rank[row] = place / order.length
  return Array.from(rank, (one) => ({ rank: one, chance: next(), isAlive: true }))
}

async function insert(collection: Collection, { set, rows }: State, which: readonly number[]): Promise<void> {
  const { base, dimension } = set
  for (let from = 0; from < which.length; from += batch)
    await collection.upsert(
      which.slice(from, from + batch).map((i) => ({
        id: `${i}`,
        filter: { rank: (rows[i] as Row).rank, chance: (rows[i] as Row).chance },
        fields: { v: base.subarray(i * dimension, (i + 1) * dimension) },
      })),
    )
}

async function report(
  collection: Collection,
  state: State,
  all: readonly Float64Array[],
  title: readonly string[],
): Promise<void> {
  for (const [kind, list] of Object.entries(searches)) {
    if (!isChosen(kind)) continue
    for (const search of list) {
      const { recall, plans, ms } = await recallOfSearch(collection, state, all, search)
      console.log(`| ${[...title, search.name, recall.toFixed(3), plans, ms.toFixed(2)].join(' | ')} |`)
    }
  }
}

async function recallOfSearch(
  collection: Collection,
  { set, rows }: State,
  all: readonly Float64Array[],
  { filter, allows = () => true, k = 10, ef }: Search,
): Promise<{ readonly recall: number; readonly plans: string; readonly ms: number }> {
  const { queries, dimension } = set
  const plans = new Set<string>()
  let [sum, ms] = [0, 0]
  for (const [i, one] of all.entries()) {
    const query = queries.subarray(i * dimension, (i + 1) * dimension)
    const request = { fields: { v: { query, limit: k, ...(ef !== undefined && { ef }) } }, ...(filter && { filter }) }
    const started = performance.now()
    const { results, explain } = await collection.search({ ...request, explain: true })
    ms += performance.now() - started
    plans.add(explain?.fields.v?.plan ?? '')
    const isAllowed = (row: number) => (rows[row] as Row).isAlive && allows(rows[row] as Row)
    sum += recallOf(
      (results.v ?? []).map(({ id }) => Number(id)),
      truthOf(one, k, isAllowed),
    )
  }
  return { recall: sum / all.length, plans: [...plans].join(', '), ms: ms / all.length }
}
