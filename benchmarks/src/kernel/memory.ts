// The growth of a process for each row of one precision: everything that a field needs, with two workers and the calling thread.
import { parseArgs } from 'node:util'
import { openDenseField, openWorkerPool } from '@annal/engine/testing'
import type { Precision } from '../ann/annal.ts'
import { makeClustered } from '../ann/dataset.ts'
import { norms } from '../ann/fill.ts'
import { progress } from '../ann/progress.ts'
import { printFigures } from './figure.ts'
import { residentBytes } from './resident.ts'

const { values } = parseArgs({
  options: { rows: { type: 'string', default: '200000' }, precision: { type: 'string', default: 'int8' } },
})
/** Maximum bytes per dimension. */
const perDimension: Readonly<Record<Precision, number>> = {
  binary: 0.2,
  int2: 0.3,
  int4: 0.6,
  int8: 1.25,
  int16: 2,
  float16: 3,
  float32: 5,
}
const beside = 170
const dimension = 128
const batch = 10_000
const precision = values.precision as Precision
const n = Number(values.rows)
const pool = await openWorkerPool({ threads: 2 })
// Lists take the same space for any neighbors, and are filled faster with few candidates.
const params = { dimension, spaceType: 'l2', precision, M: 16, efConstruction: 24 } as const

async function fillField(rows: number) {
  const field = await openDenseField({ kind: 'dense', name: 'v', params }, pool)
  const tell = progress(`memory, ${precision}`, rows)
  // The rows of one apply at a time, so that the process has no others.
  for (let from = 0; from < rows; from += batch) {
    const { base: vectors } = makeClustered(Math.min(batch, rows - from), dimension, from)
    const ordinals = Uint32Array.from({ length: vectors.length / dimension }, (_, i) => from + i)
    await field.apply(from + 1, { ordinals, vectors, norms: norms(vectors, dimension) }, new Uint32Array(0))
    tell(from + ordinals.length)
  }
  const { queries } = makeClustered(1, dimension, 1)
  for (let i = 0; i < queries.length; i += dimension)
    await field.search(queries.subarray(i, i + dimension), { k: 10, ef: 64, version: 1e6 })
  return field
}

// Code, the pool, its staging memory, and the heaps of its threads have the same size before and after, so the difference is the rows.
const first = await fillField(Math.min(n, 6 * batch))
const before = await residentBytes()
const field = await fillField(n)
const after = await residentBytes()
printFigures([
  {
    name: `${precision}, ${dimension} dimensions`,
    value: (after - before) / field.rows,
    unit: 'bytes a row',
    more: 'worse',
    limit: Math.floor(perDimension[precision] * dimension) + beside,
  },
])
await first.close()
await field.close()
await pool.close()
