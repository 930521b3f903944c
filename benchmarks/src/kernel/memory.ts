// The growth of a process for each row of one precision: everything that a field needs, with two workers and the calling thread. Compared
// with what the field counts (`bytes`), which is what descriptions of collections and metrics show.

import type { Precision } from '@annal/engine'
import { openDenseField, openWorkerPool, rulesNewest } from '@annal/engine/testing'
import { mappingsOf } from '../load/mappings.ts'
import { readOptions } from '../options.ts'
import { makeClustered } from '../sets/dataset.ts'
import { type Field, norms } from '../sets/fill.ts'
import { progress } from '../sets/progress.ts'
import { printFigures } from './figure.ts'
import { residentBytes } from './resident.ts'

const values = readOptions({ rows: 200_000, precision: 'int8' })
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
const { rows: n } = values
const pool = await openWorkerPool({ threads: 2 })
// Lists take the same space for any neighbors, and are filled faster with few candidates.
const params = { dimension, spaceType: 'l2', precision, M: 16, efConstruction: 24, rules: rulesNewest } as const

async function fillField(rows: number) {
  const field = await openDenseField({ kind: 'dense', name: 'v', params }, pool)
  await addRows(field, 0, rows)
  return field
}

async function addRows(field: Field, first: number, rows: number) {
  const tell = progress(`memory, ${precision}`, rows)
  // The rows of one apply at a time, so that the process has no others.
  for (let from = first; from < rows; from += batch) {
    const { base: vectors } = makeClustered(Math.min(batch, rows - from), dimension, from)
    const ordinals = Uint32Array.from({ length: vectors.length / dimension }, (_, i) => from + i)
    await field.apply(from + 1, { ordinals, vectors, norms: norms(vectors, dimension) }, new Uint32Array(0))
    tell(from + ordinals.length)
  }
  const { queries } = makeClustered(1, dimension, 1)
  for (let i = 0; i < queries.length; i += dimension)
    await field.search(queries.subarray(i, i + dimension), { k: 10, ef: 64, version: 1e6 })
}

async function sizes() {
  return { resident: await residentBytes(), memories: (await mappingsOf(process.pid)).fields }
}

function countedBytes(field: Field): number {
  return Object.values(field.bytes()).reduce((sum, bytes) => sum + bytes, 0)
}

// Code, the pool, its staging memory, and the heaps of its threads have the same size before and after, so the difference is the rows.
const first = await fillField(Math.min(n, 6 * batch))
const before = await residentBytes()
const field = await fillField(Math.ceil(n / 2))
const [half, halfCounted, halfRows] = [await sizes(), countedBytes(field), field.rows]
await addRows(field, halfRows, n)
const { resident: after, memories } = await sizes()
const grownRows = field.rows - halfRows
const counted = (countedBytes(field) - halfCounted) / grownRows
const name = `${precision}, ${dimension} dimensions`
printFigures([
  {
    name,
    value: (after - before) / field.rows,
    unit: 'bytes a row',
    more: 'worse',
    limit: Math.floor(perDimension[precision] * dimension) + beside,
  },
  // The second half of the rows: what a field takes once, whatever it has, does not count. Megabytes of garbage of earlier rows that are
  // freed meanwhile lower the growth of the process, unless there are many rows.
  { name: `${name}, second half`, value: (after - half.resident) / grownRows, unit: 'bytes a row', more: 'worse' },
  { name: `${name}, second half, as the field counts`, value: counted, unit: 'bytes a row', more: 'worse' },
  {
    name: `${name}, pages of memories against what the field counts`,
    value: (memories - half.memories) / grownRows / counted,
    unit: 'times',
    more: 'worse',
    limit: 1.03,
  },
])
await first.close()
await field.close()
await pool.close()
