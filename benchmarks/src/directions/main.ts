// `npm run bench:directions -- --data DIR`: recall and CPU time of filtered searches for every direction of the allowed rows from the query
// and every share of them, on real sets and on generated ones. The allowed rows are a bitmap, so that the time of evaluating a filter is not
// counted; the planner chooses between scan and walk as it does for a collection. Each filter is searched at the ef of the run and at a
// ladder of others: what a recall of 0.95 costs is compared with what it costs without a filter on the same set. `--sets A,B` (folders of
// DIR, `clustered:ROWS`, or `scattered:ROWS`), `--precision P`, `--queries N`, `--first N` (the number of the first query), `--metric M`
// instead of the set's own, `--directions A,B`, `--shares A,B`, `--ef N`, `--efs A,B` instead of the ladder, `--keep DIR` keeps generated
// sets, filters, and built fields there and uses them again, `--out FILE` for a page of Markdown with a picture next to it. Exits with code
// 1 if a cell does not reach the recall, or at a higher cost than is required.
import { writeFileSync } from 'node:fs'
import os from 'node:os'
import type { Precision } from '@annal/engine'
import { type Bitmap, candidatesFor, isCoarse, openWorkerPool, planDense } from '@annal/engine/testing'
import type { Metric } from '../ann/similarity.ts'
import { dataFolder, readOptions } from '../options.ts'
import { type Direction, directionsOf, distance } from './directions.ts'
import { openField } from './field.ts'
import { type Cell, cheapest, drawGrid, type Grid, isGood, type Step, tableOf } from './grid.ts'
import { type Mask, prepare, type Truth } from './masks.ts'
import { readSet, type VectorSet } from './sets.ts'

const values = readOptions({
  data: dataFolder(),
  sets: 'fashion-mnist,sift-bsds-a,bge-micro-notes-a,clustered:100000',
  precision: 'int8',
  metric: String,
  queries: 100,
  first: 0,
  directions: String,
  shares: '0.9,0.5,0.25,0.1,0.05,0.02,0.01',
  ef: 128,
  efs: '16,32,64,128,256,512',
  keep: String,
  out: String,
})
const k = 10
const version = 1e6
const { ef } = values
const efs = [...new Set([ef, ...values.efs.split(',').map(Number)])]
/** Values of ef without a filter, from which the reference is chosen. */
const ladder = [...new Set([ef, 10, 12, 16, 20, 24, 32, 40, 48, 64, 96, 128, 192, 256, 384, 512])]
const precision = values.precision as Precision
const shares = values.shares.split(',').map(Number)
const pool = await openWorkerPool()
const grids: Grid[] = []
for (const name of values.sets.split(',')) {
  const grid = await measure(name)
  grids.push(grid)
  console.log(tableOf(grid).join('\n'))
}
await pool.close()
if (values.out !== undefined) {
  const command = `npm run bench:directions -- --data DIR --sets ${values.sets} --precision ${precision} --queries ${values.queries} --first ${values.first}`
  const intro = [
    '# Filters in every direction',
    '',
    `${precision}, ef ${ef}, k = ${k}, M 16, ef_construction 128, ${values.queries} queries of each set. ${os.cpus()[0]?.model ?? 'unknown processor'}, ${os.availableParallelism()} cores, Node ${process.version}.`,
    `Command: \`${command}\``,
    '',
    `A cell has two parts. At ef ${ef}: the recall@10, the CPU time divided by that of a search without a filter at the same ef, the number of comparisons, and, if the recall is below 0.95, how much farther the last result is than the last true one. Then, for a recall of 0.95: the CPU time of the cheapest ef of ${efs.join(', ')} that reaches it, divided by that of the reference, the cheapest search without a filter whose recall is at least 0.95. Bold cells are above 3, or reach 0.95 at none of these. CPU times are means of the middle 90 % of the searches.`,
    '',
  ]
  writeFileSync(values.out, [...intro, ...grids.flatMap(tableOf), ''].join('\n'))
  writeFileSync(values.out.replace(/(\.md)?$/, '.svg'), drawGrid(grids))
}
process.exitCode = grids.every(({ cells }) => cells.every(isGood)) ? 0 : 1

async function measure(name: string): Promise<Grid> {
  const metric = values.metric as Metric | undefined
  const { first, queries } = values
  const set = await readSet(values.data, name, { metric, first, queries, keep: values.keep })
  const { dimension } = set
  const n = set.base.length / dimension
  const queryCount = set.queries.length / dimension
  const queryAt = (i: number) => set.queries.subarray((i % queryCount) * dimension, ((i % queryCount) + 1) * dimension)
  const chosen = (values.directions?.split(',') as Direction[] | undefined) ?? directionsOf(set)
  const filters = { first, directions: chosen, shares: shares.filter((share) => Math.round(share * n) >= 1), k }
  const { truths, masks } = prepare(set, filters, values.keep)
  const field = await openField(set, precision, pool, values.keep)
  const sums = new Map<string, Sum>()
  // Between two searches with or without a filter, another query is searched without one, so that a search does not find in the caches what
  // the one before it has loaded.
  const noFilter = (step: number) => `none ${step}`
  const filtered = ({ direction, share }: Omit<Mask, 'allowed'>, step: number) => `${direction} ${share} ${step}`
  // Code is compiled, and what every search reads is in the caches, before anything is measured.
  for (let i = 0; i < queryCount; i++) run(queryAt(i), ef, undefined)
  for (const step of ladder)
    for (let i = 0; i < queryCount; i++) {
      const { found, ...cost } = run(queryAt(i), step, undefined)
      run(queryAt(i + 1), ef, undefined)
      add(sums, noFilter(step), { ...qualityOf(set, queryAt(i), found, truths[i] as Truth), ...cost })
    }
  for (const step of efs)
    for (const mask of masks) {
      const { query: i, allowed, truth } = mask
      const { found, ...cost } = run(queryAt(i), step, allowed)
      run(queryAt(i + 1), ef, undefined)
      add(sums, filtered(mask, step), { ...qualityOf(set, queryAt(i), found, truth), ...cost })
    }
  await field.close()
  const curve = ladder.map((step) => stepOf(step, sums.get(noFilter(step))))
  const plain = curve[0] as Step
  const reference = cheapest(curve) ?? plain
  const cells = chosen.flatMap((direction) =>
    filters.shares.map((share): Cell => {
      const mask = { direction, share } as Mask
      const steps = efs.map((step) => stepOf(step, sums.get(filtered(mask, step))))
      const sum = sums.get(filtered(mask, ef)) as Sum
      const reached = cheapest(steps)
      const plan = [...sum.plans].map(([kind, count]) => (count === sum.recalls.length ? kind : `${kind} ${count}`))
      return {
        direction,
        share,
        plain: steps[0] as Step,
        costAtEf: (steps[0] as Step).cpu / plain.cpu,
        reached,
        cost: reached && reached.cpu / reference.cpu,
        excess: set.metric === 'ip' ? undefined : meanOf(sum.excesses),
        plan: plan.join(', '),
      }
    }),
  )
  return {
    name: `${name}, ${n.toLocaleString('en')} x ${dimension}, ${set.metric}`,
    plain,
    reference,
    cells,
    ...filters,
  }

  function run(query: Float32Array, width: number, allowed: Bitmap | undefined) {
    const wanted = isCoarse(precision) ? candidatesFor(k, width, precision) : k
    const before = process.cpuUsage()
    const facts = { rows: n, matches: allowed?.count, ef: Math.max(width, wanted) }
    const plan = planDense({ ...facts, boostPercentage: 0, prefilterThreshold: undefined, exact: false })
    const found = field.searchSync(query, {
      k: wanted,
      ef: plan.ef ?? facts.ef,
      version,
      ...(allowed && { allowed }),
      ...(plan.kind === 'compare' && { compared: allowed?.count ?? n }),
    })
    const { user, system } = process.cpuUsage(before)
    return { found: found.ordinals, cpu: (user + system) / 1000, compared: found.distances, plan: plan.kind }
  }
}

interface Sum {
  readonly recalls: number[]
  readonly excesses: number[]
  readonly cpus: number[]
  readonly compared: number[]
  readonly plans: Map<string, number>
}

interface Found {
  readonly recall: number
  readonly excess: number
  readonly cpu: number
  readonly compared: number
  readonly plan: string
}

function add(sums: Map<string, Sum>, key: string, { recall, excess, cpu, compared, plan }: Found): void {
  const sum = sums.get(key) ?? { recalls: [], excesses: [], cpus: [], compared: [], plans: new Map<string, number>() }
  sum.recalls.push(recall)
  sum.excesses.push(excess)
  sum.cpus.push(cpu)
  sum.compared.push(compared)
  sum.plans.set(plan, (sum.plans.get(plan) ?? 0) + 1)
  sums.set(key, sum)
}

/** The mean of the middle 90 % of the times: a thread that is interrupted takes longer without doing more. */
function stepOf(step: number, sum: Sum | undefined): Step {
  const { recalls, cpus, compared } = sum as Sum
  const cut = Math.floor(cpus.length / 20)
  const middle = cpus.toSorted((a, b) => a - b).slice(cut, cpus.length - cut)
  return { ef: step, recall: meanOf(recalls), cpu: meanOf(middle), compared: meanOf(compared) }
}

function meanOf(values: readonly number[]): number {
  return values.reduce((a, b) => a + b, 0) / values.length
}

/**
 * The share of the true results that were found, and how much farther the last result is than the last true one. Rows of few bits are
 * rescored by their originals, which puts the nearest of the candidates first.
 */
function qualityOf(set: VectorSet, query: Float32Array, found: Uint32Array, { last, most }: Truth) {
  const { base, dimension, metric } = set
  const distances = Array.from(found, (row) => Math.fround(distance(base, row * dimension, query, metric)))
  const recall = Math.min(distances.filter((d) => d <= last).length, most) / most
  const farthest = distances.sort((a, b) => a - b)[most - 1] ?? Number.POSITIVE_INFINITY
  return { recall, excess: last <= 0 ? 0 : Math.sqrt(Math.max(last, farthest) / last) - 1 }
}
