// Loads the rows of a set into a data directory, and computes the exact results of its queries meanwhile.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type Collection, openEngine } from '@annal/engine'
import { progress } from '../sets/progress.ts'
import { collectionName, fieldName, k, type LargeOptions, queriesFile, queryBatch, queryCounts } from './options.ts'
import { openRows } from './rows.ts'
import { Truth } from './truth.ts'

const batchRows = 1_000
/** Batches between two saves of the exact results. */
const savedEach = 50

/** Returns whether all rows are loaded. SIGTERM ends the load after a batch; the next call continues it. */
export async function load({ dir, precision, rows, dimension, seed, queries }: LargeOptions): Promise<boolean> {
  let isStopped = false
  const stop = () => {
    isStopped = true
  }
  process.once('SIGTERM', stop)
  const source = openRows(dimension, seed)
  const truth = new Truth(join(dir, 'truth.json'), k, source.batch(queryBatch, queries), dimension)
  // A measurement does not generate them: that would take memory.
  for (const [i, count] of queryCounts(queries).entries())
    writeFileSync(queriesFile(dir, i), source.batch(queryBatch + i, count))
  // The rows can be generated again, so nothing is lost with the machine.
  const engine = await openEngine({ dataDir: join(dir, 'data'), fsync: 'none' })
  try {
    const database = engine.database()
    const params = { dimension, spaceType: 'cosine', precision } as const
    const existing = database.collections().some(({ name }) => name === collectionName)
    const collection: Collection = existing
      ? database.collection(collectionName)
      : await database.createCollection({ name: collectionName, fields: [{ name: fieldName, type: 'vector', params }] })
    const batches = Math.ceil(rows / batchRows)
    const report = progress('load', rows)
    let loaded = Math.floor(collection.describe().objects / batchRows)
    let next = Promise.resolve()
    for (let i = Math.min(loaded, truth.batches); i < batches && !isStopped; i++) {
      const count = Math.min(batchRows, rows - i * batchRows)
      const vectors = source.batch(i, count)
      if (i === truth.batches) truth.add(vectors, i * batchRows)
      // The next batch is generated while the graph grows.
      await next
      if (i >= loaded) {
        next = upsert(collection, vectors, i * batchRows, dimension)
        loaded = i + 1
      }
      if (truth.batches % savedEach === 0) truth.save()
      report(i * batchRows + count)
    }
    await next
    truth.save()
    await engine.checkpoint()
    return !isStopped
  } finally {
    await engine.close()
    process.off('SIGTERM', stop)
  }
}

async function upsert(collection: Collection, vectors: Float32Array, first: number, dimension: number): Promise<void> {
  await collection.upsert(
    Array.from({ length: vectors.length / dimension }, (_, i) => ({
      id: `${first + i}`,
      fields: { [fieldName]: vectors.subarray(i * dimension, (i + 1) * dimension) },
    })),
  )
}
