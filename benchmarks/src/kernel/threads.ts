// Compares two workers with one: loads the same rows and runs the same searches, alternately.
import { openDenseField, openWorkerPool, rulesNewest, type WorkerPool } from '@annal/engine/testing'
import { median } from '../ann/contender.ts'
import { readOptions } from '../options.ts'
import { makeClustered } from '../sets/dataset.ts'
import { type Field, fill } from '../sets/fill.ts'
import { runCallers } from './callers.ts'
import { printFigures } from './figure.ts'

const values = readOptions({ rows: 30_000, rounds: 5 })
const dimension = 768
// With this ef a walk is too large for the calling thread to run it, so only workers search.
const ef = 320
const callers = 32
const { rounds } = values
const set = makeClustered(values.rows, dimension, 1)
const queries = Array.from({ length: 1_000 }, (_, i) => set.queries.subarray(i * dimension, (i + 1) * dimension))

const params = {
  dimension,
  spaceType: set.metric,
  precision: 'int8',
  M: 16,
  efConstruction: 128,
  rules: rulesNewest,
} as const
const pools = await Promise.all([1, 2].map((threads) => openWorkerPool({ threads })))

interface Cost {
  readonly seconds: number
  readonly cpuSeconds: number
}

async function measureCost(work: () => Promise<unknown>): Promise<Cost> {
  const cpu = process.cpuUsage()
  const begun = performance.now()
  await work()
  const { user, system } = process.cpuUsage(cpu)
  return { seconds: (performance.now() - begun) / 1000, cpuSeconds: (user + system) / 1e6 }
}

/** Runs `work` alternately with the pool of one worker and that of two. Returns the speedup and the growth of CPU time of two. */
async function compareThreads(work: (which: number) => Promise<unknown>) {
  const speedups: number[] = []
  const cpuRatio: number[] = []
  for (let round = 0; round < rounds; round++) {
    const first = await measureCost(() => work(round % 2))
    const second = await measureCost(() => work(1 - (round % 2)))
    const [one, two] = round % 2 === 0 ? [first, second] : [second, first]
    speedups.push(one.seconds / two.seconds)
    cpuRatio.push(two.cpuSeconds / one.cpuSeconds)
  }
  return { speedup: median(speedups), cpuRatio: median(cpuRatio) }
}

const fields: (Field | undefined)[] = []
const loads = await compareThreads(async (which) => {
  await fields[which]?.close()
  const pool = pools[which] as WorkerPool
  const field = await openDenseField({ kind: 'dense', name: 'v', params }, pool)
  await fill(field, set.base, dimension, `${pool.threads} of two workers`)
  fields[which] = field
})
const searches = await compareThreads((which) =>
  runCallers(callers, queries.length, async (i) => {
    await fields[which]?.search(queries[i] as Float32Array, { k: 10, ef, version: 1e6 })
  }),
)
for (const field of fields) await field?.close()
for (const pool of pools) await pool.close()
const times = { unit: 'times', more: 'better' } as const
const cpuRatio = { unit: 'times', more: 'worse' } as const
printFigures([
  { name: 'searches, two threads against one', value: searches.speedup, ...times, limit: 1.9 },
  { name: 'searches, CPU time of two threads against one', value: searches.cpuRatio, ...cpuRatio },
  { name: 'bulk load, two threads against one', value: loads.speedup, ...times, limit: 1.8 },
  { name: 'bulk load, CPU time of two threads against one', value: loads.cpuRatio, ...cpuRatio },
])
