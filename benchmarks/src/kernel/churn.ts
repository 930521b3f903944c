// Removes a tenth of the rows and inserts as many others under their ordinals, twenty times, and compares recall, reachability, and speed
// with a new graph of the same rows.
import { openDenseField, openWorkerPool, rulesNewest } from '@annal/engine/testing'
import { median } from '../ann/contender.ts'
import { kthBest, similarity } from '../ann/similarity.ts'
import { readOptions } from '../options.ts'
import { makeClustered } from '../sets/dataset.ts'
import { type Field, fill, norms } from '../sets/fill.ts'
import { progress } from '../sets/progress.ts'
import { printFigures } from './figure.ts'

const values = readOptions({ rows: 50_000, cycles: 20 })
const dimension = 128
const k = 10
const ef = 64
const version = 1e6
const rounds = 15
const { rows: n, cycles } = values
const replaced = Math.floor(n / 10)
const set = makeClustered(n + cycles * replaced, dimension, 3)
const metric = set.metric
const living = set.base.slice(0, n * dimension)
const queries = Array.from({ length: 300 }, (_, i) => set.queries.subarray(i * dimension, (i + 1) * dimension))
const pool = await openWorkerPool({ threads: 2 })
const params = {
  dimension,
  spaceType: metric,
  precision: 'int8',
  M: 16,
  efConstruction: 128,
  rules: rulesNewest,
} as const

async function buildField(what: string): Promise<Field> {
  const field = await openDenseField({ kind: 'dense', name: 'v', params }, pool)
  await fill(field, living, dimension, what)
  return field
}

/** Ordinals of a tenth of the rows, different in each cycle. A step that is coprime to the number of rows spreads them over all rows. */
function ordinalsOfCycle(cycle: number): Uint32Array {
  const ordinals = new Set<number>()
  for (let i = 0; ordinals.size < replaced; i++) ordinals.add(((cycle * replaced + i) * 7919 + cycle * 13) % n)
  return Uint32Array.from(ordinals).sort()
}

async function churn(field: Field): Promise<void> {
  let applied = n
  const tell = progress('churn, cycles', cycles)
  for (let cycle = 0; cycle < cycles; cycle++) {
    const ordinals = ordinalsOfCycle(cycle)
    await field.apply(++applied, undefined, ordinals)
    const from = (n + cycle * replaced) * dimension
    // All at once and a few at a time alternately, because graphs are repaired in two ways.
    const step = cycle % 2 === 0 ? replaced : 100
    for (let i = 0; i < replaced; i += step) {
      const some = ordinals.subarray(i, i + step)
      const vectors = set.base.subarray(from + i * dimension, from + (i + some.length) * dimension)
      await field.apply(++applied, { ordinals: some, vectors, norms: norms(vectors, dimension) }, new Uint32Array(0))
      some.forEach((ordinal, j) => {
        living.set(vectors.subarray(j * dimension, (j + 1) * dimension), ordinal * dimension)
      })
    }
    tell(cycle + 1)
  }
}

const churned = await buildField('before churn')
await churn(churned)
const fresh = await buildField('new graph')
const rows = { base: living, dimension }
const thresholds = queries.map((query) => kthBest(rows, query, metric, k))

function recall(field: Field): number {
  const shares = queries.map((query, i) => {
    const { ordinals } = field.searchSync(query, { k, ef, version })
    return ordinals.filter((row) => similarity(rows, row, query, metric) >= (thresholds[i] as number)).length / k
  })
  return shares.reduce((sum, share) => sum + share, 0) / shares.length
}

function cpuSeconds(field: Field): number {
  const cpu = process.threadCpuUsage()
  for (const query of queries) field.searchSync(query, { k, ef, version })
  const { user, system } = process.threadCpuUsage(cpu)
  return (user + system) / 1e6
}

const [churnedRecall, freshRecall] = [recall(churned), recall(fresh)]
const speeds = Array.from({ length: rounds }, (_, round) => {
  const first = cpuSeconds(round % 2 === 0 ? fresh : churned)
  const second = cpuSeconds(round % 2 === 0 ? churned : fresh)
  return round % 2 === 0 ? first / second : second / first
})
const reachable = (churned.rows - churned.health().unreachable) / churned.rows
await churned.close()
await fresh.close()
await pool.close()
printFigures([
  { name: `recall@10 of a fresh build, ef ${ef}`, value: freshRecall, unit: 'recall', more: 'better' },
  {
    name: `recall@10 after ${cycles} cycles, less than that by`,
    value: freshRecall - churnedRecall,
    unit: 'recall',
    more: 'worse',
    limit: 0.005,
  },
  { name: 'rows that can be reached', value: reachable, unit: 'of all', more: 'better', limit: 1 },
  { name: 'search speed against a fresh build', value: median(speeds), unit: 'times', more: 'better', limit: 0.9 },
])
