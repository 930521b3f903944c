// `npm run bench:copies`: recall@10 of default walks if many rows are copies of one row, compared with hnswlib on the same rows. `first
// rules` are those of graphs built before equal rows became one node. Without `--data`, rows are normally distributed; with `--data DIR`,
// they are those of a set there. `--set NAME`, `--metrics`, `--precisions`, `--queries N` at most, `--out FILE` for a page of Markdown.

import { writeFileSync } from 'node:fs'
import type { Precision } from '@annal/engine'
import { openDenseField, openWorkerPool, rulesNewest } from '@annal/engine/testing'
import { seededRandom } from '@annal/wal/testing'
import { readOptions } from '../options.ts'
import { readDataset } from '../sets/dataset.ts'
import { fill } from '../sets/fill.ts'
import { openHnswlibNode } from './peers/hnswlib-node.ts'
import { kthBest, type Metric, similarity } from './similarity.ts'

const values = readOptions({
  data: String,
  set: 'bge-micro-notes-a',
  metrics: 'cosine,l2',
  precisions: 'float32',
  rows: 5_200,
  queries: 200,
  out: String,
})
const [k, ef, version] = [10, 128, 1e6]
const precisions = values.precisions.split(',') as Precision[]
const pool = await openWorkerPool({ threads: 1 })

function normal(n: number, dimension: number, seed: number): Float32Array {
  const random = seededRandom(seed).next
  const one = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  return Float32Array.from({ length: n * dimension }, one)
}

interface Made {
  readonly dimension: number
  readonly unique: Float32Array
  readonly queries: Float32Array
}

async function readOrGenerate(): Promise<Made> {
  if (values.data === undefined)
    return { dimension: 32, unique: normal(2_000, 32, 1), queries: normal(values.queries, 32, 2) }
  const { dimension, base, queries } = await readDataset(values.data, values.set)
  const first = (rows: Float32Array, n: number) => rows.slice(0, n * dimension)
  return { dimension, unique: first(base, values.rows), queries: first(queries, values.queries) }
}

const { dimension, unique, queries } = await readOrGenerate()
const rowAt = (i: number) => unique.subarray(i * dimension, (i + 1) * dimension)

function copies(row: Float32Array, n: number, noise = 0): Float32Array {
  const random = seededRandom(n).next
  return Float32Array.from({ length: n * dimension }, (_, i) => {
    return (row[i % dimension] as number) + (noise === 0 ? 0 : noise * (2 * random() - 1))
  })
}

function concat(...parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let offset = 0
  for (const part of parts) {
    all.set(part, offset)
    offset += part.length
  }
  return all
}

const kinds = concat(...Array.from({ length: 20 }, (_, i) => copies(rowAt(i * 97), 300)))
const sets: Readonly<Record<string, Float32Array>> = {
  'no copies': unique,
  'then 400 copies of a row': concat(unique, copies(rowAt(5), 400)),
  'then 6,000': concat(unique, copies(rowAt(5), 6_000)),
  'after 6,000': concat(copies(rowAt(5), 6_000), unique),
  'then 20 kinds x 300': concat(unique, kinds),
  'then 6,000 within 1e-6 of a row': concat(unique, copies(rowAt(5), 6_000, 1e-6)),
  '500 of them after 5,000 zero vectors': concat(
    new Float32Array(5_000 * dimension),
    unique.subarray(0, 500 * dimension),
  ),
}

function unit(rows: Float32Array): Float32Array {
  const out = rows.slice()
  for (let from = 0; from < out.length; from += dimension) {
    const row = out.subarray(from, from + dimension)
    const length = Math.hypot(...row)
    if (length > 0) for (let i = 0; i < dimension; i++) row[i] = (row[i] as number) / length
  }
  return out
}

const page: string[] = []
for (const metric of values.metrics.split(',') as Metric[])
  for (const [name, given] of Object.entries(sets)) {
    const [base, queryRows] = metric === 'cosine' ? [unit(given), unit(queries)] : [given, queries]
    const cells = await measureSet(metric, base, queryRows)
    page.push(`| ${name} | ${metric} | ${cells.join(' | ')} |`)
    console.log(page.at(-1))
  }
await pool.close()
const columns = [...precisions.flatMap((precision) => [`${precision}, first rules`, precision]), 'hnswlib-node']
const head = [`| set | metric | ${columns.join(' | ')} |`, `|---|---|${columns.map(() => '---').join('|')}|`]
if (values.out !== undefined) writeFileSync(values.out, `${[...head, ...page].join('\n')}\n`)

async function measureSet(metric: Metric, base: Float32Array, queryRows: Float32Array): Promise<string[]> {
  const nq = queryRows.length / dimension
  const queryOf = (i: number) => queryRows.subarray(i * dimension, (i + 1) * dimension)
  const rows = { base, dimension }
  // Allows for rounding in single precision where rows are nearly equal.
  const thresholds = Array.from({ length: nq }, (_, i) => kthBest(rows, queryOf(i), metric, k))
  const bound = thresholds.map((last) => last - Math.abs(last) * 1e-6)
  const cellOf = (answers: readonly ArrayLike<number>[]) => {
    const good = answers.map((answer, i) => {
      return Array.from(answer).filter((row) => similarity(rows, row, queryOf(i), metric) >= (bound[i] as number))
        .length
    })
    const recall = good.reduce((sum, n) => sum + Math.min(k, n), 0) / k / nq
    return `${recall.toFixed(4)} (${good.filter((n) => n === 0).length})`
  }
  const cells: string[] = []
  for (const precision of precisions)
    for (const rules of [1, rulesNewest]) {
      const params = { dimension, spaceType: metric, precision, M: 16, efConstruction: 128, rules }
      const field = await openDenseField({ kind: 'dense', name: 'vector', params }, pool)
      await fill(field, base, dimension, `${metric} ${precision}`)
      cells.push(cellOf(thresholds.map((_, i) => field.searchSync(queryOf(i), { k, ef, version }).ordinals)))
      await field.close()
    }
  const set = {
    name: 'copies',
    dimension,
    metric: metric === 'l2' ? 'l2' : 'cosine',
    base,
    queries: queryRows,
  } as const
  const peer = await openHnswlibNode({ ...set, truth: new Int32Array(nq * 100) })
  cells.push(cellOf(thresholds.map((_, i) => peer.nearest(queryOf(i), ef))))
  await peer.close()
  return cells
}
