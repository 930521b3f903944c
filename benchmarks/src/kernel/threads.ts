// Two workers against one: the same rows loaded, and the same searches answered, in turns.
import { parseArgs } from 'node:util'
import { openDenseField, openWorkerPool, rulesNewest, type WorkerPool } from '@annal/engine/testing'
import { median } from '../ann/contender.ts'
import { makeClustered } from '../ann/dataset.ts'
import { type Field, fill } from '../ann/fill.ts'
import { askedBy } from './callers.ts'
import { tell } from './figure.ts'

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '30000' }, rounds: { type: 'string', default: '5' } },
})
const dimension = 768
// At this dimension a walk too large for the thread that asks to answer it by itself: only the workers search.
const ef = 320
const callers = 32
const rounds = Number(values.rounds)
const set = makeClustered(Number(values.rows), dimension, 1)
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

interface Spent {
  readonly seconds: number
  readonly cpuSeconds: number
}

async function spentBy(work: () => Promise<unknown>): Promise<Spent> {
  const cpu = process.cpuUsage()
  const begun = performance.now()
  await work()
  const { user, system } = process.cpuUsage(cpu)
  return { seconds: (performance.now() - begun) / 1000, cpuSeconds: (user + system) / 1e6 }
}

/** With the pool of one worker and that of two by turns: how much sooner two are done, and how much more CPU time they take. */
async function compared(work: (which: number) => Promise<unknown>) {
  const sooner: number[] = []
  const dearer: number[] = []
  for (let round = 0; round < rounds; round++) {
    const first = await spentBy(() => work(round % 2))
    const second = await spentBy(() => work(1 - (round % 2)))
    const [one, two] = round % 2 === 0 ? [first, second] : [second, first]
    sooner.push(one.seconds / two.seconds)
    dearer.push(two.cpuSeconds / one.cpuSeconds)
  }
  return { sooner: median(sooner), dearer: median(dearer) }
}

const fields: (Field | undefined)[] = []
const loads = await compared(async (which) => {
  await fields[which]?.close()
  const pool = pools[which] as WorkerPool
  const field = await openDenseField({ kind: 'dense', name: 'v', params }, pool)
  await fill(field, set.base, dimension, `${pool.threads} of two workers`)
  fields[which] = field
})
const searches = await compared((which) =>
  askedBy(callers, queries.length, async (i) => {
    await fields[which]?.search(queries[i] as Float32Array, { k: 10, ef, version: 1e6 })
  }),
)
for (const field of fields) await field?.close()
for (const pool of pools) await pool.close()
const times = { unit: 'times', more: 'better' } as const
const dearer = { unit: 'times', more: 'worse' } as const
tell([
  { name: 'searches, two threads against one', value: searches.sooner, ...times, wanted: 1.9 },
  { name: 'searches, CPU time of two threads against one', value: searches.dearer, ...dearer },
  { name: 'bulk load, two threads against one', value: loads.sooner, ...times, wanted: 1.8 },
  { name: 'bulk load, CPU time of two threads against one', value: loads.dearer, ...dearer },
])
