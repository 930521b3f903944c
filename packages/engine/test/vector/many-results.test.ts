// A search for many results finds them at the precision of the field: the last of them are not decided by codes of seven bits.
import { test } from 'tap'
import type { Precision } from '../../src/model/schema.ts'
import { openDenseField } from '../../src/vector/dense/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { clusteredRows, definitionOf, rowsOf } from './world.ts'

const [dimension, rows, k] = [24, 4_000, 100]

test('the last of a hundred results are found at the precision of the field', async (t) => {
  const pool = await openWorkerPool({ threads: 2 })
  t.teardown(() => pool.close())
  const vectors = clusteredRows(rows, dimension, 4)
  for (const precision of ['float32', 'float16', 'int16'] as Precision[]) {
    const field = await openDenseField(definitionOf({ dimension, precision, M: 16, efConstruction: 128 }), pool)
    await field.apply(1, rowsOf(vectors, dimension, 0, rows), new Uint32Array(0))
    let same = 0
    for (let q = 0; q < 50; q++) {
      const query = vectors.slice(q * dimension, (q + 1) * dimension).map((x, i) => x + ((i * 7 + q) % 5) / 40)
      // Less than four times k, so that a quarter of ef is less than k.
      const found = await field.search(query, { k, ef: 380, version: 1 })
      const exact = await field.scan(query, { k, version: 1 })
      const wanted = new Set(exact.ordinals)
      same += found.ordinals.filter((ordinal) => wanted.has(ordinal)).length
    }
    t.ok(same >= 0.998 * 50 * k, `${precision}: ${same} of ${50 * k}`)
    await field.close()
  }
})
