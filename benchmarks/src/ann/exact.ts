// Exact answers for a made set, by an exact scan of float32 rows in all workers.
import { openDenseField, openWorkerPool } from '@annal/engine/testing'
import type { Dataset } from './dataset.ts'

export async function exactAnswers(set: Omit<Dataset, 'truth'>): Promise<Dataset> {
  const { dimension, base, queries } = set
  const pool = await openWorkerPool()
  // A graph of next to no links: only its rows are scanned.
  const params = { dimension, spaceType: set.metric, precision: 'float32' as const, M: 2, efConstruction: 2 }
  const field = await openDenseField({ kind: 'dense', name: 'exact', params }, pool)
  const n = base.length / dimension
  const batch = 10_000
  for (let i = 0; i < n; i += batch) {
    const count = Math.min(batch, n - i)
    const ordinals = Uint32Array.from({ length: count }, (_, j) => i + j)
    const vectors = base.subarray(i * dimension, (i + count) * dimension)
    await field.apply(i / batch + 1, { ordinals, vectors, norms: new Float32Array(count) }, new Uint32Array(0))
  }
  const nq = queries.length / dimension
  const truth = new Int32Array(nq * 100)
  for (let i = 0; i < nq; i++) {
    const query = queries.subarray(i * dimension, (i + 1) * dimension)
    truth.set((await field.scan(query, { k: 100, version: 1e6 })).ordinals, i * 100)
  }
  await field.close()
  await pool.close()
  return { ...set, truth }
}
