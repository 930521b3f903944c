// Searches that state a recall, measured with the queries of real sets: recall, the chosen ef, and the CPU time against the best fixed ef.
// Calibrations use stored rows only (`rows`), or also 60 of the other half of the set's queries, sent before as searches (`few`), or all of
// that half (`received`). The measured queries are unseen by all. The best fixed ef is the smallest that reaches the recall with the measured queries themselves.
//   npm run bench:recall -- --data DIR [--sets a,b] [--precisions float32,int8] [--queries 2000] [--rounds 3] [--out FILE]
// `--keep DIR` keeps the collections and what was chosen, and `--cpu DIR` measures only the CPU times of what was kept there, which takes a
// minute and can run while nothing else does.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Collection, type Engine, type Filter, openEngine, type Precision } from '@annal/engine'
import { median } from '../ann/contender.ts'
import { shuffled } from '../filtered/things.ts'
import { dataFolder, readOptions } from '../options.ts'
import { type Dataset, readDataset } from '../sets/dataset.ts'
import { filteredTruth } from './truth.ts'

const values = readOptions({
  data: dataFolder(),
  sets: 'npl,bge-micro-notes-a,sift-bsds-a,fashion-mnist',
  precisions: 'float32,int8',
  queries: 2_000,
  rounds: 3,
  rescore: false,
  keep: String,
  cpu: String,
  out: String,
})

const k = 10
const targets = [0.9, 0.95, 0.99]
const shares = [1, 0.5, 0.1, 0.01]
const efLadder = Array.from({ length: 48 }, (_, i) => Math.round(10 * 1.105 ** i)).filter((ef) => ef <= 1_024)
const sources = ['rows', 'few', 'received'] as const
const fewCount = 60
/** Shorter measurements of CPU time are repeated. */
const cpuMin = 150_000
/** Fewer received queries are not used. */
const receivedMin = 200

interface Cell {
  readonly set: string
  readonly precision: string
  readonly share: number
  readonly target: number
  readonly source: (typeof sources)[number]
  readonly recall: number
  readonly ef: number
  readonly expected: number | undefined
  readonly reachable: boolean
  /** Undefined if no ef reaches the target. */
  readonly bestEf: number | undefined
  cpuRatio?: number
}

interface World {
  readonly collection: Collection
  readonly queries: readonly Float32Array[]
}

const filterOf = (share: number): { readonly filter?: Filter } =>
  share === 1 ? {} : { filter: [{ place: { $lt: share * 1_000 } }] }
const places = shuffled(2 ** 20)
/** A number below 1,000 that is independent of the row's vector, and of its neighbors in the file. */
const placeOf = (row: number) => (places[row] as number) % 1_000

const cells: Cell[] = values.cpu === undefined ? await measureAll() : readKept(values.cpu)
if (values.cpu !== undefined) await measureCpu(values.cpu, cells)
for (const line of table(cells)) console.log(line)
if (values.out !== undefined) writeFileSync(values.out, `${table(cells).join('\n')}\n`)

function readKept(dir: string): Cell[] {
  return JSON.parse(readFileSync(join(dir, 'cells.json'), 'utf8')) as Cell[]
}

async function measureAll(): Promise<Cell[]> {
  const cells: Cell[] = []
  for (const name of values.sets.split(','))
    for (const precision of values.precisions.split(',') as Precision[]) {
      const set = await openSet(name)
      const dir =
        values.keep === undefined
          ? await mkdtemp(join(tmpdir(), 'annal-recall-'))
          : keptDir(values.keep, set.name, precision)
      const engine = await openEngine({ dataDir: dir, fsync: 'none' })
      const collection = await load(engine, set, precision)
      cells.push(...(await measureSet(set, precision, collection)))
      if (values.keep === undefined)
        await measureCpuOf(
          cells.filter((cell) => cell.set === set.name && cell.precision === precision),
          { collection, queries: measuredQueries(set) },
        )
      await engine.close()
      if (values.keep === undefined) await rm(dir, { recursive: true })
      else writeFileSync(join(values.keep, 'cells.json'), JSON.stringify(cells))
    }
  return cells
}

function keptDir(keep: string, name: string, precision: string): string {
  mkdirSync(keep, { recursive: true })
  return join(keep, `${name}-${precision}`)
}

/** A name with a slash is the path of a set. */
async function openSet(name: string): Promise<Dataset> {
  const at = name.lastIndexOf('/')
  const set = await (at < 0 ? readDataset(values.data, name) : readDataset(name.slice(0, at), name.slice(at + 1)))
  return { ...set, queries: set.queries.subarray(0, values.queries * set.dimension) }
}

function queriesOf({ queries, dimension }: Dataset, odd: boolean): Float32Array[] {
  return Array.from({ length: queries.length / dimension }, (_, i) => i)
    .filter((i) => (i % 2 === 1) === odd)
    .map((i) => queries.slice(i * dimension, (i + 1) * dimension))
}

function measuredQueries(set: Dataset): Float32Array[] {
  const few = set.queries.length / set.dimension < 2 * receivedMin
  return few ? [...queriesOf(set, false), ...queriesOf(set, true)] : queriesOf(set, true)
}

async function load(engine: Engine, set: Dataset, precision: Precision): Promise<Collection> {
  const { dimension, base, metric } = set
  const field = { name: 'v', type: 'vector' as const, params: { dimension, spaceType: metric, precision } }
  const existing = engine
    .database()
    .collections()
    .find(({ name }) => name === 'rows')
  if (existing) return engine.database().collection('rows')
  const collection = await engine.database().createCollection({ name: 'rows', fields: [field] })
  for (let from = 0; from < base.length / dimension; from += 1_000) {
    const count = Math.min(1_000, base.length / dimension - from)
    await collection.upsert(
      Array.from({ length: count }, (_, i) => ({
        id: `${from + i}`,
        filter: { place: placeOf(from + i) },
        fields: { v: base.subarray((from + i) * dimension, (from + i + 1) * dimension) },
      })),
    )
  }
  return collection
}

async function measureSet(set: Dataset, precision: string, collection: Collection): Promise<Cell[]> {
  const queries = measuredQueries(set)
  const allows = (row: number, share: number) => placeOf(row) < share * 1_000
  const truth = await filteredTruth(set, queries, { shares, k, allows })
  const world: World = { collection, queries }
  const best = new Map<string, number | undefined>()
  for (const [i, share] of shares.entries()) {
    const recalls: number[] = []
    for (const ef of efLadder) {
      recalls.push((await searchAll(world, { ef }, share, truth[i]!)).recall)
      if ((recalls.at(-1) as number) >= Math.max(...targets)) break
    }
    for (const target of targets) best.set(`${share} ${target}`, efAt(recalls, target))
  }
  const cells: Cell[] = []
  for (const source of sources) {
    if (source !== 'rows') {
      const received = queriesOf(set, false)
      if (received.length < receivedMin || queries.length > set.queries.length / set.dimension / 2) break
      for (const query of source === 'few' ? received.slice(0, fewCount) : received.slice(fewCount))
        await collection.search({ fields: { v: { query, recall: 0.95 } }, rescore: values.rescore })
    }
    const before = process.cpuUsage()
    const calibration = await collection.calibrate({ field: 'v', limit: k, rescore: values.rescore })
    const used = process.cpuUsage(before)
    const cpuSeconds = (used.user + used.system) / 1e6
    console.error(
      `${set.name} ${precision} ${source}: ${calibration.queries} queries of ${calibration.source}, ${cpuSeconds.toFixed(1)} s of CPU`,
    )
    for (const [i, share] of shares.entries())
      for (const target of targets) {
        const chosen = await chosenFor(collection, target, share)
        const { recall } = await searchAll(world, { ef: chosen?.ef ?? 128 }, share, truth[i]!)
        cells.push({
          ...{ set: set.name, precision, share, target, source, recall },
          ef: chosen?.ef ?? 0,
          expected: chosen?.expected,
          reachable: chosen?.reachable ?? false,
          bestEf: best.get(`${share} ${target}`),
        })
        console.error(line(cells.at(-1) as Cell))
      }
  }
  return cells
}

async function searchAll(
  { collection, queries }: World,
  how: { readonly ef: number },
  share: number,
  truth?: readonly ReadonlySet<number>[],
) {
  let recall = 0
  for (const [i, query] of queries.entries()) {
    const result = await collection.search({
      fields: { v: { query, limit: k, ...how } },
      ...filterOf(share),
      rescore: values.rescore,
    })
    const good = truth?.[i]
    if (good === undefined) continue
    const hits = result.results.v ?? []
    recall += hits.filter(({ id }) => good.has(Number(id))).length / Math.max(1, good.size) / queries.length
  }
  return { recall }
}

/** How ef is chosen. The query is a stored object, which does not become part of the sample of queries. */
async function chosenFor(collection: Collection, target: number, share: number) {
  const { recall } = await collection.search({
    fields: { v: { query: { id: '0' }, limit: k, recall: target } },
    ...filterOf(share),
    rescore: values.rescore,
  })
  return recall?.v
}

/** The smallest ef that reaches the target, interpolated. */
function efAt(recalls: readonly number[], target: number): number | undefined {
  const i = recalls.findIndex((recall) => recall >= target)
  if (i <= 0) return i < 0 ? undefined : efLadder[0]
  const [low, high] = [recalls[i - 1] as number, recalls[i] as number]
  const part = (target - low) / (high - low)
  return Math.ceil((efLadder[i - 1] as number) * (1 - part) + (efLadder[i] as number) * part)
}

async function measureCpu(dir: string, cells: Cell[]): Promise<void> {
  for (const name of new Set(cells.map(({ set }) => set)))
    for (const precision of new Set(cells.map((cell) => cell.precision))) {
      if (!existsSync(keptDir(dir, name, precision))) continue
      const set = await openSet(values.sets.split(',').find((one) => one === name || one.endsWith(`/${name}`)) ?? name)
      const engine = await openEngine({ dataDir: keptDir(dir, name, precision), fsync: 'none' })
      const collection = engine.database().collection('rows')
      const these = cells.filter((cell) => cell.set === name && cell.precision === precision)
      await measureCpuOf(these, { collection, queries: measuredQueries(set).slice(0, 500) })
      await engine.close()
    }
  writeFileSync(join(dir, 'cells.json'), JSON.stringify(cells))
}

/** Searches with both values of ef by turns. */
async function measureCpuOf(cells: readonly Cell[], world: World): Promise<void> {
  /** CPU time of one pass over the queries, in microseconds. */
  const cpuOf = async (ef: number, share: number) => {
    const before = process.cpuUsage()
    for (let passes = 1; ; passes++) {
      await searchAll(world, { ef }, share)
      const { user, system } = process.cpuUsage(before)
      if (user + system >= cpuMin) return (user + system) / passes
    }
  }
  for (const share of shares) await cpuOf(64, share)
  for (const cell of cells) {
    if (cell.bestEf === undefined) continue
    const ratios: number[] = []
    for (let round = 0; round < values.rounds; round++)
      ratios.push((await cpuOf(cell.ef, cell.share)) / (await cpuOf(cell.bestEf, cell.share)))
    cell.cpuRatio = median(ratios)
  }
}

function line({
  set,
  precision,
  share,
  target,
  source,
  recall,
  ef,
  expected,
  reachable,
  bestEf,
  cpuRatio,
}: Cell): string {
  const filter = share === 1 ? 'none' : `${share * 100} %`
  const columns = [set, precision, filter, target, source, recall.toFixed(4), expected?.toFixed(4) ?? '']
  return `| ${[...columns, reachable ? '' : 'not reachable', ef, bestEf ?? 'none', cpuRatio?.toFixed(2) ?? ''].join(' | ')} |`
}

function table(cells: readonly Cell[]): string[] {
  return [
    '| set | precision | filter | stated | calibrated with | measured | expected | | ef | best fixed ef | CPU against it |',
    '|---|---|---|---|---|---|---|---|---|---|---|',
    ...cells.map(line),
  ]
}
