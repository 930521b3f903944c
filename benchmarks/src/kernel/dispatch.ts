// The cost of a search of about 50 us in two workers: the latency for one caller, the throughput for eight callers compared with the same
// searches in the calling thread, and the CPU time of that thread for each search.
import { openDenseField, openWorkerPool, rulesNewest } from '@annal/engine/testing'
import { median } from '../ann/contender.ts'
import { readOptions } from '../options.ts'
import { makeClustered } from '../sets/dataset.ts'
import { fill } from '../sets/fill.ts'
import { runCallers } from './callers.ts'
import { printFigures } from './figure.ts'

const values = readOptions({ rows: 50_000, rounds: 15 })
const dimension = 128
const wantedUs = 50
const count = 2_000
const { rounds } = values
const set = makeClustered(values.rows, dimension, 2)
const queries = Array.from({ length: 1_000 }, (_, i) => set.queries.subarray(i * dimension, (i + 1) * dimension))
const queryOf = (i: number) => queries[i % queries.length] as Float32Array
const pool = await openWorkerPool({ threads: 2 })
const params = {
  dimension,
  spaceType: set.metric,
  precision: 'int8',
  M: 16,
  efConstruction: 128,
  rules: rulesNewest,
} as const
const field = await openDenseField({ kind: 'dense', name: 'v', params }, pool)
await fill(field, set.base, dimension, 'dispatch')

/** CPU microseconds of one search in this thread. */
function measureCallUs(ef: number): number {
  const cpu = process.threadCpuUsage()
  for (let i = 0; i < count; i++) field.searchSync(queryOf(i), { k: 10, ef, version: 1e6 })
  const { user, system } = process.threadCpuUsage(cpu)
  return (user + system) / count
}

const efs = [16, 24, 32, 48, 64, 96, 128, 192, 256]
measureCallUs(64) // compile and warm up
const ef = efs.find((one) => measureCallUs(one) >= wantedUs) ?? 256
const measure = (callers: number) =>
  runCallers(callers, count, async (i) => {
    await field.search(queryOf(i), { k: 10, ef, version: 1e6 })
  })
await measure(8)
const found = { callUs: [] as number[], p50Us: [] as number[], ratio: [] as number[], mainUs: [] as number[] }
for (let round = 0; round < rounds; round++) {
  const here = performance.now()
  found.callUs.push(measureCallUs(ef))
  const hereSeconds = (performance.now() - here) / 1000
  const { latenciesMs } = await measure(1)
  found.p50Us.push((latenciesMs[latenciesMs.length >> 1] ?? 0) * 1000)
  const eight = await measure(8)
  found.ratio.push(hereSeconds / eight.seconds)
  found.mainUs.push((eight.mainSeconds * 1e6) / count)
}
await field.close()
await pool.close()
const us = { unit: 'us', more: 'worse' } as const
printFigures([
  { name: `a search in the calling thread, ef ${ef}`, value: median(found.callUs), ...us },
  { name: 'one caller, p50', value: median(found.p50Us), ...us, limit: 120 },
  {
    name: 'eight callers against calling in one thread',
    value: median(found.ratio),
    unit: 'times',
    more: 'better',
    limit: 1.2,
  },
  { name: 'eight callers, main thread CPU a query', value: median(found.mainUs), ...us, limit: 15 },
])
