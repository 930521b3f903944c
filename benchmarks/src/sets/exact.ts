// Exact answers for a generated set, by an exact scan of float32 rows in all workers.
import { openDenseField, openWorkerPool } from '@annal/engine/testing'
import { answersKept, type Dataset } from './dataset.ts'
import { fill } from './fill.ts'
import { progress } from './progress.ts'

export async function exactAnswers(set: Omit<Dataset, 'truth'>): Promise<Dataset> {
  const { dimension, base, queries } = set
  const pool = await openWorkerPool()
  // A graph with almost no links, because only its rows are scanned.
  const params = { dimension, spaceType: set.metric, precision: 'float32' as const, M: 2, efConstruction: 2 }
  const field = await openDenseField({ kind: 'dense', name: 'exact', params }, pool)
  await fill(field, base, dimension, `${set.name} exact`)
  const nq = queries.length / dimension
  const truth = new Int32Array(nq * answersKept)
  const tell = progress(`${set.name} answers`, nq)
  for (let i = 0; i < nq; i++) {
    const query = queries.subarray(i * dimension, (i + 1) * dimension)
    truth.set((await field.scan(query, { k: answersKept, version: 1e6 })).ordinals, i * answersKept)
    tell(i)
  }
  await field.close()
  await pool.close()
  return { ...set, truth }
}
