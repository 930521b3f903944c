// `node scripts/run.mjs benchmarks/src/filtered/main.ts`: recall and time of filtered searches of Fashion-MNIST at every selectivity, for
// filters that are independent of the query, that include its neighborhood, and that exclude it. Also measures the plan that the planner
// did not choose. Exits with code 1 if recall is below 0.95 anywhere or a result is missing. `--data FOLDER`, `--clustered` or
// `--scattered` for generated rows, `--rows N`, `--queries N`, `--precision P`, `--out FILE` for a page of Markdown with a picture next to
// it. `--dir DIR` keeps the collection and uses it again; the next run continues an interrupted load. `--minutes N` ends loading after that
// time. `--cases A,B` runs only some filters, named as in the table.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Collection, openEngine, type SearchHit } from '@annal/engine'
import { dataFolder, readOptions } from '../options.ts'
import { makeClustered, makeScattered } from './clustered.ts'
import { fillOrOpen } from './filled.ts'
import { byLabel, byShare, type Case, field, unfiltered } from './load.ts'
import { readPhotos } from './photos.ts'
import { drawSelectivity } from './picture.ts'
import { nearest, squaredDistance } from './things.ts'

const values = readOptions({
  data: dataFolder('fashion-mnist'),
  clustered: false,
  scattered: false,
  rows: Number,
  queries: 100,
  precision: 'int8',
  out: String,
  dir: String,
  minutes: Number.POSITIVE_INFINITY,
  cases: String,
})
const k = 10
/** Minimum speed, relative to a search without a filter. */
const speedAim = 0.4
const shares = [0.0001, 0.001, 0.01, 0.05, 0.1, 0.25, 0.5, 0.9, 1]
const made = values.clustered ? makeClustered : values.scattered ? makeScattered : undefined
const things = made ? made(values.rows ?? 1_000_000) : readPhotos(values.data, values.rows ?? 60_000)
const queries = Math.min(values.queries, things.queries)
const every: readonly Case[] = [
  ...shares.map((share) => byShare(things, share)),
  byLabel(things, "the query's own class, 10 %", (query) => things.queryLabel(query)),
  byLabel(things, 'another class, 10 %', (query) => (things.queryLabel(query) + 5) % 10),
]
const names = values.cases?.split(',')
const cases = names ? every.filter(({ name }) => names.some((part) => name.startsWith(part))) : every

interface Line {
  readonly name: string
  readonly share: number | undefined
  readonly matches: number
  readonly plans: string
  readonly recall: number
  readonly full: number
  readonly medianMs: number
  /** Milliseconds of searches without a filter, measured in between, so that both run under the same load. */
  readonly plainMs: number
  readonly comparisons: number
  readonly scanMs: number
  readonly walkMs: number
  readonly walkComparisons: number
  readonly walkRecall: number
}

const dataDir = values.dir ?? mkdtempSync(path.join(os.tmpdir(), 'annal-filtered-'))
const engine = await openEngine({ dataDir, fsync: 'none' })
try {
  const { precision } = values
  const collection = await fillOrOpen(engine, things, { precision, minutes: values.minutes })
  if (collection === undefined) console.error(`the time is over; the next run with --dir ${dataDir} continues`)
  else await measure(collection)
} finally {
  await engine.close()
  if (values.dir === undefined) rmSync(dataDir, { recursive: true })
}

async function measure(collection: Collection): Promise<void> {
  // The first searches of a process are slower than later ones.
  await run(collection, unfiltered)
  const lines: Line[] = [await run(collection, unfiltered)]
  for (const one of cases) lines.push(await run(collection, one))
  const page = report(lines)
  console.log(page)
  if (values.out !== undefined) {
    writeFileSync(values.out, page)
    writeFileSync(values.out.replace(/(\.md)?$/, '.svg'), picture(lines))
  }
  const low = lines.filter(({ recall, full }) => recall < 0.95 || full < 1)
  for (const { name, recall, full } of low) console.error(`${name}: recall ${recall.toFixed(4)}, full results ${full}`)
  process.exitCode = low.length === 0 ? 0 : 1
}

async function run(collection: Collection, { name, share, filter, wanted }: Case): Promise<Line> {
  const plans = new Map<string, number>()
  const [plains, times, scans, walks]: [number[], number[], number[], number[]] = [[], [], [], []]
  let [matches, recall, full, comparisons, walkComparisons, walkRecall] = [things.rows, 0, 0, 0, 0, 0]
  for (let query = 0; query < queries; query++) {
    const request = {
      fields: { [field]: { query: things.query(query), limit: k } },
      filter: filter(query),
      explain: true,
    }
    // Another query, so that neither search finds the data of the other in the caches.
    const plain = { query: things.query((query + 500) % things.queries), limit: k }
    plains.push(await measureTime(collection, { fields: { [field]: plain }, explain: true }))
    const before = process.cpuUsage()
    const { results, explain } = await collection.search(request)
    times.push(cpuMsSince(before))
    const plan = explain?.fields[field]
    plans.set(plan?.plan ?? '', (plans.get(plan?.plan ?? '') ?? 0) + 1)
    matches = explain?.filter?.matches ?? matches
    comparisons += (plan?.distances ?? 0) / queries
    const truth = nearest(things, things.query(query), k, wanted(query))
    const last = truth.at(-1) ?? 0
    const good = (hits: readonly SearchHit[] = []) =>
      hits.filter(({ id }) => squaredDistance(things.row(Number(id)), things.query(query)) <= last).length /
      truth.length /
      queries
    recall += good(results[field])
    full += results[field]?.length === truth.length ? 1 / queries : 0
    // Each plan separately, if a threshold can force it.
    if (matches <= 1_000_000)
      scans.push(await measureTime(collection, { ...request, prefilterCardinalityThreshold: 1_000_000 }))
    if (matches <= 1_000) continue
    const walked = { ...request, prefilterCardinalityThreshold: 1_000 }
    const walk = await collection.search(walked)
    walkComparisons += (walk.explain?.fields[field]?.distances ?? 0) / queries
    walkRecall += good(walk.results[field])
    walks.push(await measureTime(collection, walked))
  }
  const summary = [...plans].map(([plan, count]) => (count === queries ? plan : `${plan} ${count}`)).join(', ')
  const figures = {
    recall,
    full: Math.round(full * 1e6) / 1e6,
    medianMs: median(times),
    plainMs: median(plains),
    comparisons,
  }
  return {
    name,
    share,
    matches,
    plans: summary,
    ...figures,
    scanMs: median(scans),
    walkMs: median(walks),
    walkComparisons,
    walkRecall,
  }
}

async function measureTime(collection: Collection, request: Parameters<Collection['search']>[0]): Promise<number> {
  const before = process.cpuUsage()
  await collection.search(request)
  return cpuMsSince(before)
}

/** CPU time of all threads, so that other programs do not count. */
function cpuMsSince(before: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

function median(numbers: number[]): number {
  return numbers.sort((a, b) => a - b)[numbers.length >> 1] ?? Number.NaN
}

function report(lines: readonly Line[]): string {
  const ms = (time: number) => (Number.isNaN(time) ? '' : time.toFixed(2))
  const rows = lines.map((line) =>
    [
      line.name,
      line.matches.toLocaleString('en'),
      line.plans,
      line.recall.toFixed(4),
      `${(line.full * 100).toFixed(0)} %`,
      ms(line.medianMs),
      (line.plainMs / line.medianMs).toFixed(2),
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
    `${things.title}, l2, ${values.precision}, default settings, ${queries} queries one after another, k = ${k}. ${os.cpus()[0]?.model ?? 'unknown processor'}, ${os.availableParallelism()} cores, Node ${process.version}.`,
    `Command: \`node scripts/run.mjs benchmarks/src/filtered/main.ts${values.clustered ? ' --clustered' : values.scattered ? ' --scattered' : ''} --rows ${things.rows} --queries ${queries} --precision ${values.precision}\``,
    '',
    'Times are CPU times of all threads, because the machine has other work. `speed` is the time of a search without a filter divided by the time of the filtered search, measured alternately. `scan` and `walk` are the times of each plan when it is forced.',
    '',
    '| filter | matches | plan | recall@10 | k results | median CPU ms | speed | comparisons | scan ms | walk ms | comparisons of a walk | recall of a walk |',
    '|---|---|---|---|---|---|---|---|---|---|---|---|',
    ...rows.map((row) => `| ${row} |`),
    '',
  ].join('\n')
}

function picture(lines: readonly Line[]): string {
  const curve = (label: string, ms: (line: Line) => number) => ({
    label,
    points: lines.flatMap((line) => {
      const speed = line.plainMs / ms(line)
      return line.share === undefined || Number.isNaN(speed) ? [] : [{ share: line.share, speed }]
    }),
  })
  const curves = [
    curve('as planned', ({ medianMs }) => medianMs),
    curve('every match compared', ({ scanMs }) => scanMs),
    curve('graph walked', ({ walkMs }) => walkMs),
  ]
  return drawSelectivity(curves, speedAim)
}
