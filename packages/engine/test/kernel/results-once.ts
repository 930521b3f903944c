// A process that prints the results of a fixed sequence of kernel calls for every precision and metric, with each of the numbers of threads in
// the argument (`1,2`), in both builds if this version of Node.js supports both. They are all the same.

import { type Precision, rulesNewest, type SpaceType } from '../../src/model/schema.ts'
import { openDenseField } from '../../src/vector/dense/field.ts'
import { bestBuild, compileKernel } from '../../src/vector/dense/kernel.ts'
import type { WorkerPool } from '../../src/vector/pool.ts'
import { ThreadPool } from '../../src/vector/threads/thread-pool.ts'
import { clusteredRows, definitionOf, normalize, rowsOf } from '../vector/world.ts'

const dimension = 40
const rows = clusteredRows(800, dimension, 9)
normalize(rows, dimension)
const precisions: Precision[] = ['binary', 'int2', 'int4', 'int8', 'int16', 'float16', 'float32']
const spaces: SpaceType[] = ['cosine', 'l2', 'ip']

async function resultsOf(pool: WorkerPool, precision: Precision, spaceType: SpaceType): Promise<string> {
  const definition = definitionOf({ dimension, precision, spaceType, M: 6, efConstruction: 32, rules: rulesNewest })
  // Precisions with codes of seven bits get heads when the last rows are added.
  const field = await openDenseField(definition, pool, { headsFrom: 600 })
  for (let i = 0; i < 3; i++)
    await field.apply(i + 1, rowsOf(rows, dimension, i * 250, (i + 1) * 250), new Uint32Array(0))
  const gone = Uint32Array.from({ length: 50 }, (_, i) => i * 11)
  await field.apply(4, undefined, gone)
  const vectors = rows.subarray(750 * dimension)
  await field.apply(5, { ordinals: gone, vectors, norms: new Float32Array(50).fill(1) }, new Uint32Array(0))
  const hits: string[] = []
  for (let i = 0; i < 10; i++) {
    const query = rows.subarray(i * 70 * dimension, (i * 70 + 1) * dimension)
    hits.push((await field.search(query, { k: 5, ef: 40, version: 5 })).ordinals.join(' '))
  }
  const result = `${field.digest()}, heads ${field.bytes().heads ?? 0}: ${hits.join(', ')}`
  await field.close()
  return result
}

const runs: { build: string; threads: number; results: Record<string, string> }[] = []
for (const build of new Set([bestBuild(), 'plain'] as const))
  for (const threads of (process.argv[2] ?? '2').split(',').map(Number)) {
    const pool = new ThreadPool(await compileKernel(build), threads)
    await pool.started()
    const results: Record<string, string> = {}
    for (const precision of precisions)
      for (const space of spaces) results[`${precision} ${space}`] = await resultsOf(pool, precision, space)
    runs.push({ build, threads, results })
    await pool.close()
  }
console.log(JSON.stringify({ node: process.version, best: bestBuild(), runs }))
