// `npm run bench:unseen -- [--sets a,b] [--precisions float32,int8] [--rows 20000] [--queries 200] [--seed 1] [--ef 128] [--recalls .9,.99]
// [--hnswlib] [--least .9] [--batch 1000]`: recall of sets that no real set resembles (sets.ts), against exact search in double precision: at one ef, with
// `rescore`, at stated recalls, and that of hnswlib at the same ef. `--sets all` takes all of them, `--sets tight` those whose names begin so.
// `--least` prints only sets with a lower recall. Searches that repeat a row or return fewer than k are reported, too.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Collection, openEngine, type Precision } from '@annal/engine'
import { openHnswlib } from '../ann/peers/hnswlib.ts'
import { listOf, readOptions } from '../options.ts'
import { answersKept, normalizeRows } from '../sets/dataset.ts'
import { makeSet, setNames, type UnseenSet } from './sets.ts'
import { recallOf, similarities, type Truth, truthOf } from './truth.ts'

const values = readOptions({
  sets: 'all',
  precisions: 'float32,float16,int16,int8,int4,int2,binary',
  rows: 20_000,
  queries: 200,
  seed: 1,
  ef: 128,
  k: 10,
  batch: 1_000,
  recalls: '.9,.99',
  hnswlib: false,
  least: 2,
})
const { k, ef, batch } = values
const recalls = listOf(values.recalls).map(Number)

const titles = [
  'set',
  'precision',
  `ef ${ef}`,
  'ms',
  'originals read',
  'rescored',
  ...recalls.map((recall) => `recall ${recall}`),
  'hnswlib',
]
console.log(`| ${titles.join(' | ')} |\n|${'---|'.repeat(titles.length)}`)
for (const name of chosenSets()) await measure(name)

function chosenSets(): readonly string[] {
  if (values.sets === 'all') return setNames
  return listOf(values.sets).flatMap((part) =>
    setNames.includes(part) ? [part] : setNames.filter((name) => name.startsWith(part)),
  )
}

async function measure(name: string): Promise<void> {
  const set = makeSet(name, values)
  const all = Array.from({ length: values.queries }, (_, query) => similarities(set, query))
  const truth = all.map((one) => truthOf(one, k))
  const peer = values.hnswlib ? (await hnswlibRecall(set, all)).toFixed(3) : ''
  for (const precision of listOf(values.precisions) as Precision[]) {
    const dir = await mkdtemp(join(tmpdir(), 'annal-unseen-'))
    const engine = await openEngine({ dataDir: dir, fsync: 'none', threads: 1 })
    try {
      const collection = await engine.database().createCollection({
        name: 'rows',
        fields: [{ name: 'v', type: 'vector', params: { dimension: set.dimension, spaceType: set.metric, precision } }],
      })
      await load(collection, set)
      const started = performance.now()
      const plain = await recallAt(collection, set, truth, { ef })
      const ms = (performance.now() - started) / values.queries
      const reads = await originalsRead(collection, set)
      const rescored = await recallAt(collection, set, truth, { ef }, { rescore: true })
      const stated: number[] = []
      if (recalls.length > 0) await collection.calibrate({ field: 'v', limit: k })
      for (const recall of recalls) stated.push(await recallAt(collection, set, truth, { recall }))
      const figures = [plain, rescored, ...stated]
      if (Math.min(...figures) < values.least) {
        const [first, ...others] = figures.map((one) => one.toFixed(3))
        console.log(`| ${[name, precision, first, ms.toFixed(2), reads.toFixed(0), ...others, peer].join(' | ')} |`)
      }
    } catch (error) {
      console.log(`| ${name} | ${precision} | ${String(error).slice(0, 150)} |`)
    } finally {
      await engine.close()
      await rm(dir, { recursive: true })
    }
  }
}

async function load(collection: Collection, { base, dimension }: UnseenSet): Promise<void> {
  for (let from = 0; from < base.length / dimension; from += batch) {
    const count = Math.min(batch, base.length / dimension - from)
    await collection.upsert(
      Array.from({ length: count }, (_, i) => ({
        id: `${from + i}`,
        fields: { v: base.subarray((from + i) * dimension, (from + i + 1) * dimension) },
      })),
    )
  }
}

async function recallAt(
  collection: Collection,
  { queries, dimension, base }: UnseenSet,
  truth: readonly Truth[],
  how: { readonly ef: number } | { readonly recall: number },
  more: { readonly rescore?: boolean } = {},
): Promise<number> {
  let sum = 0
  const most = Math.min(k, base.length / dimension)
  for (const [i, one] of truth.entries()) {
    const query = queries.subarray(i * dimension, (i + 1) * dimension)
    const { results } = await collection.search({ fields: { v: { query, limit: k, ...how } }, ...more })
    const found = (results.v ?? []).map(({ id }) => Number(id))
    if (new Set(found).size < most)
      throw new Error(`query ${i} found ${found.length}, ${new Set(found).size} of them different`)
    sum += recallOf(found, one)
  }
  return sum / truth.length
}

/** Original vectors that a search at `ef` compares, on average. */
async function originalsRead(collection: Collection, { queries, dimension }: UnseenSet): Promise<number> {
  let sum = 0
  for (let i = 0; i < queries.length; i += dimension) {
    const query = queries.subarray(i, i + dimension)
    const { explain } = await collection.search({ fields: { v: { query, limit: k, ef } }, explain: true })
    sum += explain?.fields.v?.rescored ?? 0
  }
  return (sum * dimension) / queries.length
}

/** Recall of hnswlib with the same M, ef_construction, and ef. It counts ordinals, so sets with copies get less. */
async function hnswlibRecall(set: UnseenSet, all: readonly Float64Array[]): Promise<number> {
  const { dimension } = set
  const truth = Int32Array.from(all.flatMap((one) => truthOf(one, answersKept).nearest))
  const [base, queries] = [set.base.slice(), set.queries.slice()]
  if (set.metric === 'cosine') for (const rows of [base, queries]) normalizeRows(rows, dimension)
  const metric = set.metric === 'l2' ? 'l2' : 'cosine'
  const peer = await openHnswlib({ name: set.name, dimension, metric, base, queries, truth })
  const { recall } = await peer.run(ef, k)
  await peer.close()
  return recall
}
