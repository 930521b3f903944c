// `node scripts/run.mjs benchmarks/src/filtered/main.ts --data FOLDER`: recall and time of filtered searches of Fashion-MNIST at
// every selectivity, for filters that have nothing to do with the query, go with it and go against it; beside the planner's
// choice what the other plan would have cost. Ends with exit code 1 when recall is below 0.95 anywhere or a result is missing.
// `--rows N`, `--queries N`, `--precision P`, `--out FILE` for a page of Markdown.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { type Collection, type FilterInput, openEngine, type SearchHit } from '@annal/engine'
import { type Photos, readPhotos } from './photos.ts'

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: path.join(process.env.ANNAL_DATA ?? '../shared/data', 'fashion-mnist') },
    rows: { type: 'string', default: '60000' },
    queries: { type: 'string', default: '100' },
    precision: { type: 'string', default: 'int8' },
    out: { type: 'string' },
  },
})
const k = 10
const shares = [0.0001, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.9, 1]
const photos = readPhotos(values.data, Number(values.rows))
const queries = Math.min(Number(values.queries), photos.queries)

interface Case {
  readonly name: string
  filter(query: number): FilterInput
  wanted(query: number): (row: number) => boolean
}

const cases: readonly Case[] = [
  ...shares.map((share): Case => {
    const end = Math.max(1, Math.round(share * photos.rows))
    const wanted = (row: number) => (photos.number[row] as number) < end
    return { name: `${share * 100} %`, filter: () => [{ number: { $lt: end } }], wanted: () => wanted }
  }),
  labelled("the query's own class, 10 %", (query) => photos.queryLabel[query] as number),
  labelled('another class, 10 %', (query) => ((photos.queryLabel[query] as number) + 5) % 10),
]

function labelled(name: string, labelOf: (query: number) => number): Case {
  return {
    name,
    filter: (query) => [{ label: { $eq: labelOf(query) } }],
    wanted: (query) => (row) => photos.label[row] === labelOf(query),
  }
}

interface Line {
  readonly name: string
  readonly matches: number
  readonly plans: string
  readonly recall: number
  readonly full: number
  readonly medianMs: number
  readonly comparisons: number
  readonly scanMs: number
  readonly walkMs: number
  readonly walkComparisons: number
  readonly walkRecall: number
}

const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-filtered-'))
const engine = await openEngine({ dataDir, fsync: 'none' })
try {
  const collection = await load(engine.database().createCollection(definition()), photos)
  const unfiltered = await run(collection, { name: 'no filter', filter: () => [], wanted: () => () => true })
  const lines: Line[] = [unfiltered]
  for (const one of cases) lines.push(await run(collection, one))
  const page = report(lines, unfiltered)
  console.log(page)
  if (values.out !== undefined) writeFileSync(values.out, page)
  const low = lines.filter(({ recall, full }) => recall < 0.95 || full < 1)
  for (const { name, recall, full } of low) console.error(`${name}: recall ${recall.toFixed(4)}, full results ${full}`)
  process.exitCode = low.length === 0 ? 0 : 1
} finally {
  await engine.close()
  rmSync(dataDir, { recursive: true })
}

function definition() {
  const params = { dimension: photos.dimension, space_type: 'l2', precision: values.precision }
  return { name: 'photos', fields: [{ name: 'photo', type: 'vector', params }] }
}

async function load(created: Promise<Collection>, { rows, label, number, row }: Photos): Promise<Collection> {
  const collection = await created
  for (let from = 0; from < rows; from += 1_000) {
    const objects = Array.from({ length: Math.min(1_000, rows - from) }, (_, i) => ({
      id: String(from + i),
      filter: { label: label[from + i] as number, number: number[from + i] as number },
      fields: { photo: row(from + i) },
    }))
    await collection.upsert(objects)
  }
  return collection
}

async function run(collection: Collection, { name, filter, wanted }: Case): Promise<Line> {
  const plans = new Map<string, number>()
  const [times, scans, walks]: [number[], number[], number[]] = [[], [], []]
  let [matches, recall, full, comparisons, walkComparisons, walkRecall] = [photos.rows, 0, 0, 0, 0, 0]
  for (let query = 0; query < queries; query++) {
    const asked = { fields: { photo: { query: photos.query(query), limit: k } }, filter: filter(query), explain: true }
    const started = performance.now()
    const { results, explain } = await collection.search(asked)
    times.push(performance.now() - started)
    const plan = explain?.fields.photo
    plans.set(plan?.plan ?? '', (plans.get(plan?.plan ?? '') ?? 0) + 1)
    matches = explain?.filter?.matches ?? matches
    comparisons += (plan?.distances ?? 0) / queries
    const truth = photos.nearest(query, k, wanted(query))
    const last = truth.at(-1) ?? 0
    const good = (hits: readonly SearchHit[] = []) =>
      hits.filter(({ id }) => squared(Number(id), query) <= last).length / truth.length / queries
    recall += good(results.photo)
    full += results.photo?.length === truth.length ? 1 / queries : 0
    // The two plans by themselves: where a threshold can bring them about.
    if (matches <= 1_000_000)
      scans.push(await timed(collection, { ...asked, prefilterCardinalityThreshold: 1_000_000 }))
    if (matches <= 1_000) continue
    const walked = { ...asked, prefilterCardinalityThreshold: 1_000 }
    const walk = await collection.search(walked)
    walkComparisons += (walk.explain?.fields.photo?.distances ?? 0) / queries
    walkRecall += good(walk.results.photo)
    walks.push(await timed(collection, walked))
  }
  const summary = [...plans].map(([plan, count]) => (count === queries ? plan : `${plan} ${count}`)).join(', ')
  const figures = { recall, full: Math.round(full * 1e6) / 1e6, medianMs: median(times), comparisons }
  return {
    name,
    matches,
    plans: summary,
    ...figures,
    scanMs: median(scans),
    walkMs: median(walks),
    walkComparisons,
    walkRecall,
  }
}

async function timed(collection: Collection, request: Parameters<Collection['search']>[0]): Promise<number> {
  const started = performance.now()
  await collection.search(request)
  return performance.now() - started
}

function squared(row: number, query: number): number {
  return photos.row(row).reduce((sum, x, i) => sum + (x - (photos.query(query)[i] as number)) ** 2, 0)
}

function median(numbers: number[]): number {
  return numbers.sort((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN
}

function report(lines: readonly Line[], unfiltered: Line): string {
  const ms = (time: number) => (Number.isNaN(time) ? '' : time.toFixed(2))
  const rows = lines.map((line) =>
    [
      line.name,
      line.matches.toLocaleString('en'),
      line.plans,
      line.recall.toFixed(4),
      `${(line.full * 100).toFixed(0)} %`,
      ms(line.medianMs),
      (unfiltered.medianMs / line.medianMs).toFixed(2),
      Math.round(line.comparisons).toLocaleString('en'),
      ms(line.scanMs),
      ms(line.walkMs),
      line.walkComparisons === 0 ? '' : Math.round(line.walkComparisons).toLocaleString('en'),
      line.walkComparisons === 0 ? '' : line.walkRecall.toFixed(4),
    ].join(' | '),
  )
  return [
    '# Filtered search',
    '',
    `Fashion-MNIST, ${photos.rows.toLocaleString('en')} x ${photos.dimension}, l2, ${values.precision}, default settings, ${queries} queries one after another, k = ${k}. ${os.cpus()[0]?.model ?? 'unknown processor'}, ${os.availableParallelism()} cores, Node ${process.version}.`,
    `Command: \`node scripts/run.mjs benchmarks/src/filtered/main.ts --rows ${photos.rows} --queries ${queries} --precision ${values.precision}\``,
    '',
    '`speed` is that of a search without a filter divided by this one. `scan` and `walk` are what either plan takes where it is forced.',
    '',
    '| filter | matches | plan | recall@10 | k results | median ms | speed | comparisons | scan ms | walk ms | comparisons of a walk | recall of a walk |',
    '|---|---|---|---|---|---|---|---|---|---|---|---|',
    ...rows.map((row) => `| ${row} |`),
    '',
  ].join('\n')
}
