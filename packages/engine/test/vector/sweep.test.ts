// When many rows are removed, the graph is swept of them. That happens when new searches do not see them any more, after the walks that do,
// and a later walk of an earlier version compares rows instead: each finds every row of its version.
import { test } from 'tap'
import { openDenseField } from '../../src/vector/dense/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { clusteredRows, definitionOf, rowsOf } from './world.ts'

const dimension = 16
const n = 3_000
const nothing = new Uint32Array(0)

for (const segmentRows of [undefined, 1_600])
  test(`searches of a version find its rows before and after a sweep, segments of ${segmentRows ?? 'all'} rows`, async (t) => {
    const pool = await openWorkerPool({ threads: 2 })
    const field = await openDenseField(
      definitionOf({ dimension }),
      pool,
      segmentRows === undefined ? {} : { segmentRows },
    )
    const vectors = clusteredRows(n, dimension, 3)
    await field.apply(1, rowsOf(vectors, dimension, 0, n), nothing)
    const removed = Uint32Array.from({ length: n / 2 }, (_, i) => 2 * i + 1)
    const rowAt = (ordinal: number) => vectors.subarray(ordinal * dimension, (ordinal + 1) * dimension)
    /** Rows of which a search for their vector finds another one first. */
    const missed = async (version: number, ordinals: Uint32Array) => {
      let count = 0
      for (let i = 0; i < ordinals.length; i += 15) {
        const ordinal = ordinals[i] as number
        const options = { k: 1, ef: 64, version }
        const { ordinals: found } = await field.search(rowAt(ordinal), options)
        if (found[0] !== ordinal) count++
        t.strictSame(field.searchSync(rowAt(ordinal), options).ordinals, found)
      }
      return count
    }
    const staying = Uint32Array.from({ length: n / 2 }, (_, i) => 2 * i)
    t.same([await missed(1, removed), await missed(1, staying)], [0, 0], 'all rows are found')
    await field.apply(2, undefined, removed)
    t.same(
      [await missed(1, removed), await missed(1, staying), await missed(2, staying)],
      [0, 0, 0],
      'before the sweep',
    )
    t.equal(field.health().removed, removed.length)
    // A walk of another thread.
    const walk = Promise.withResolvers<void>()
    field.others = { untilLeft: () => walk.promise }
    const swept = field.sweep(2)
    t.same([await missed(1, removed), await missed(1, staying), await missed(2, staying)], [0, 0, 0], 'while it waits')
    t.equal(field.health().removed, removed.length, 'rows stay in the graph while a walk may see them')
    walk.resolve()
    const during = [await missed(1, removed), await missed(1, staying), await missed(2, staying)]
    await swept
    t.same(during, [0, 0, 0], 'during the sweep')
    t.equal(field.health().removed, 0)
    t.same([await missed(1, removed), await missed(1, staying), await missed(2, staying)], [0, 0, 0], 'after the sweep')
    const { ordinals } = await field.search(rowAt(1), { k: 1, ef: 64, version: 2 })
    t.not(ordinals[0], 1)
    await field.close()
    await pool.close()
  })

test('rows whose ordinals are reused are swept after the walks that see them', async (t) => {
  const pool = await openWorkerPool({ threads: 2 })
  const field = await openDenseField(definitionOf({ dimension }), pool)
  const vectors = clusteredRows(n + 100, dimension, 4)
  await field.apply(1, rowsOf(vectors, dimension, 0, n), nothing)
  await field.apply(
    2,
    undefined,
    Uint32Array.from({ length: 100 }, (_, i) => i),
  )
  await field.sweep(2)
  t.equal(field.health().removed, 100, 'too few for a sweep of their own')
  await field.apply(3, undefined, Uint32Array.of(500))
  await field.sweep(3)
  const walk = Promise.withResolvers<void>()
  field.others = { untilLeft: () => walk.promise }
  field.reserve(n)
  const reusing = field.apply(4, rowsOf(vectors, dimension, n, n + 100, 0), nothing)
  const query = vectors.subarray(500 * dimension, 501 * dimension)
  const firstOf = async (version: number) => (await field.search(query, { k: 1, ef: 64, version })).ordinals[0]
  t.equal(await firstOf(2), 500)
  walk.resolve()
  await reusing
  t.equal(field.health().removed, 0)
  t.equal(await firstOf(2), 500, 'a search of an earlier version compares')
  t.not(await firstOf(3), 500)
  await field.close()
  await pool.close()
})
