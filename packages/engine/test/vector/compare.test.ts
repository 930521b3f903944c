// Comparing the codes of allowed rows finds what an exact scan of the same rows finds, for every precision, without rows that were removed,
// never existed, or are too new.
import { test } from 'tap'
import { Bitmap } from '../../src/memory/bitmap.ts'
import type { Precision } from '../../src/model/schema.ts'
import { openDenseField } from '../../src/vector/dense/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { clusteredRows, definitionOf, rowsOf } from './world.ts'

const [dimension, rows, k] = [32, 2_000, 10]
const nothing = new Uint32Array(0)

for (const segmentRows of [undefined, 640])
  test(`comparing codes finds what an exact scan finds, segments of ${segmentRows ?? 'all'} rows`, async (t) => {
    const pool = await openWorkerPool({ threads: 2 })
    const vectors = clusteredRows(rows, dimension, 4)
    for (const precision of ['float32', 'float16', 'int16', 'int8'] as Precision[]) {
      const options = segmentRows === undefined ? {} : { segmentRows }
      const field = await openDenseField(definitionOf({ dimension, precision }), pool, options)
      await field.apply(1, rowsOf(vectors, dimension, 0, 1_500), nothing)
      const removed = Uint32Array.from({ length: 100 }, (_, i) => i * 7)
      await field.apply(2, undefined, removed)
      await field.apply(3, rowsOf(vectors, dimension, 1_500, 2_000), nothing)
      // Beyond the last row, too, like objects without a vector.
      const allowed = Bitmap.from(Array.from({ length: 300 }, (_, i) => i * 7))
      const ordinals = allowed.toOrdinals()
      let [same, compared] = [0, 0]
      for (const version of [1, 2, 3])
        for (let q = 0; q < 20; q++) {
          const query = vectors.subarray(q * dimension, (q + 1) * dimension)
          const found = await field.search(query, { k, ef: 64, version, allowed, compared: allowed.count })
          const exact = await field.scan(query, { k, version, ordinals })
          if (found.ordinals.length !== exact.ordinals.length)
            t.fail(`${found.ordinals.length} of ${exact.ordinals.length}`)
          same += found.ordinals.filter((ordinal) => exact.ordinals.includes(ordinal)).length
          compared += exact.ordinals.length
        }
      t.ok(same >= compared * 0.99, `${precision}: ${same} of ${compared}`)
      await field.close()
    }
    await pool.close()
  })
