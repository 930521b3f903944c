// `npm run bench:directions -- --data DIR`: recall and CPU time of filtered searches for every direction of the allowed rows from the query
// and every share of them, on real sets and on generated ones. The allowed rows are a bitmap, so that the time of evaluating a filter is not
// counted; the planner chooses between scan and walk as it does for a collection. `--sets A,B` (folders of DIR, `clustered:ROWS`, or
// `scattered:ROWS`), `--precision P`, `--queries N`, `--metric M` instead of the set's own, `--directions A,B`, `--shares A,B`,
// `--keep DIR` keeps built fields there and uses them again, `--out FILE` for a page of Markdown with a picture next to it. Exits with code 1
// if a cell is below the recall or above the cost that is required.
import { writeFileSync } from 'node:fs'
import os from 'node:os'
import { parseArgs } from 'node:util'
import { type Bitmap, candidatesFor, isCoarse, openWorkerPool, planDense } from '@annal/engine/testing'
import type { Precision } from '../ann/annal.ts'
import type { Metric } from '../ann/similarity.ts'
import { type Direction, directions, distance } from './directions.ts'
import { openField } from './field.ts'
import { type Cell, drawGrid, type Grid, isGood, tableOf } from './grid.ts'
import { prepare, type Truth } from './masks.ts'
import { readSet, type VectorSet } from './sets.ts'

const { values } = parseArgs({
  options: {
    data: { type: 'string', default: process.env.ANNAL_DATA ?? '../shared/data' },
    sets: { type: 'string', default: 'fashion-mnist,sift-bsds-a,bge-micro-notes-a,clustered:100000' },
    precision: { type: 'string', default: 'int8' },
    metric: { type: 'string' },
    queries: { type: 'string', default: '40' },
    directions: { type: 'string', default: directions.join() },
    shares: { type: 'string', default: '0.9,0.5,0.1,0.01,0.001,0.0001' },
    ef: { type: 'string', default: '128' },
    keep: { type: 'string' },
    out: { type: 'string' },
  },
})
const k = 10
const version = 1e6
const ef = Number(values.ef)
/** Searches without a filter at each of these are what a filtered search of the same recall is compared with. */
const ladder = [10, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768, 1024]
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
  const command = `npm run bench:directions -- --data DIR --sets ${values.sets} --precision ${precision} --queries ${values.queries}`
  const intro = [
    '# Filters in every direction',
    '',
    `${precision}, ef ${ef}, k = ${k}, M 16, ef_construction 128, ${values.queries} queries of each set. ${os.cpus()[0]?.model ?? 'unknown processor'}, ${os.availableParallelism()} cores, Node ${process.version}.`,
    `Command: \`${command}\``,
    '',
    'A cell has the recall@10, the CPU time divided by that of a search without a filter whose recall is at least the same, the same for a search without a filter at the same ef, and the plan. Bold cells are below 0.95 or above 3.',
    '',
  ]
  writeFileSync(values.out, [...intro, ...grids.flatMap(tableOf), ''].join('\n'))
  writeFileSync(values.out.replace(/(\.md)?$/, '.svg'), drawGrid(grids))
}
process.exitCode = grids.every(({ cells }) => cells.every(isGood)) ? 0 : 1

async function measure(name: string): Promise<Grid> {
  const metric = values.metric as Metric | undefined
  const set = await readSet(values.data, name, { metric, queries: Number(values.queries) })
  const { dimension } = set
  const n = set.base.length / dimension
  const queryCount = set.queries.length / dimension
  const queryAt = (i: number) => set.queries.subarray((i % queryCount) * dimension, ((i % queryCount) + 1) * dimension)
  const chosen = values.directions.split(',') as Direction[]
  const filters = { directions: chosen, shares: shares.filter((share) => Math.round(share * n) >= 1), k }
  const { truths, masks } = prepare(set, filters, values.keep)
  const field = await openField(set, precision, pool, values.keep)
  const sums = new Map<string, Sum>()
  // Consecutive searches have different queries, so that a search does not find in the caches what the one before it has loaded.
  for (const step of [ef, ...ladder])
    for (let i = 0; i < queryCount; i++) {
      const { found, ...cost } = run(queryAt(i), step, undefined)
      add(sums, `ef ${step}`, { recall: recallOf(set, queryAt(i), found, truths[i] as Truth), ...cost })
    }
  for (const { direction, share, query: i, allowed, truth } of masks) {
    const { found, ...cost } = run(queryAt(i), ef, allowed)
    run(queryAt(i + 1), ef, undefined)
    add(sums, `${direction} ${share}`, { recall: recallOf(set, queryAt(i), found, truth), ...cost })
  }
  await field.close()
  const curve = ladder.map((step) => meanOf(sums.get(`ef ${step}`)))
  const plain = meanOf(sums.get(`ef ${ef}`))
  const cells = chosen.flatMap((direction) =>
    filters.shares.map((share): Cell => {
      const sum = sums.get(`${direction} ${share}`)
      const mean = meanOf(sum)
      const same = curve.find(({ recall }) => recall >= mean.recall) ?? curve[curve.length - 1]
      const plan = [...(sum?.plans ?? [])].map(([kind, count]) => (count === sum?.count ? kind : `${kind} ${count}`))
      const costs = { cost: mean.cpu / (same?.cpu ?? Number.NaN), costAtEf: mean.cpu / plain.cpu }
      return { direction, share, recall: mean.recall, ...costs, compared: mean.compared, plan: plan.join(', ') }
    }),
  )
  return { name: `${name}, ${n.toLocaleString('en')} x ${dimension}, ${set.metric}`, plain, cells, ...filters }

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
  count: number
  recall: number
  cpu: number
  compared: number
  readonly cpus: number[]
  readonly plans: Map<string, number>
}

function add(
  sums: Map<string, Sum>,
  key: string,
  one: { readonly recall: number; readonly cpu: number; readonly compared: number; readonly plan: string },
): void {
  const sum = sums.get(key) ?? { count: 0, recall: 0, cpu: 0, compared: 0, cpus: [], plans: new Map<string, number>() }
  sum.count++
  sum.recall += one.recall
  sum.cpus.push(one.cpu)
  sum.compared += one.compared
  sum.plans.set(one.plan, (sum.plans.get(one.plan) ?? 0) + 1)
  sums.set(key, sum)
}

/** The median of the times: a thread that is interrupted takes longer without doing more. */
function meanOf(sum: Sum | undefined): { readonly recall: number; readonly cpu: number; readonly compared: number } {
  if (sum === undefined) return { recall: Number.NaN, cpu: Number.NaN, compared: Number.NaN }
  const { count, recall, compared, cpus } = sum
  return { recall: recall / count, cpu: cpus.sort((a, b) => a - b)[count >> 1] as number, compared: compared / count }
}

/** Rows of few bits are rescored by their originals, which puts the nearest of the candidates first. */
function recallOf(set: VectorSet, query: Float32Array, found: Uint32Array, { last, most }: Truth): number {
  const { base, dimension, metric } = set
  const isNear = (row: number) => Math.fround(distance(base, row * dimension, query, metric)) <= last
  return Math.min(found.filter(isNear).length, most) / most
}
