import { test } from 'tap'
import { EngineError } from '../../src/errors.ts'
import { type ByteSource, sourceOf } from '../../src/memory/sections.ts'
import { loadDenseField, openDenseField } from '../../src/vector/dense/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { clusteredRows, createRandom, definitionOf, dumpField, rowsOf } from './world.ts'

const nothing = new Uint32Array(0)

function chunksOf(bytes: Uint8Array, size = 1000): ByteSource {
  const pieces = Array.from({ length: Math.ceil(bytes.length / size) }, (_, i) =>
    bytes.subarray(i * size, (i + 1) * size),
  )
  return sourceOf(pieces)
}

test('a damaged dump is rejected, or gives a field whose walks stay inside', async (t) => {
  const seed = Number(process.env.ANNAL_SEED ?? 9)
  t.comment(`seed ${seed}`)
  const random = createRandom(seed)
  const pool = await openWorkerPool({ threads: 1 })
  const dimension = 8
  const rows = clusteredRows(600, dimension, 1)
  const definition = definitionOf({ dimension, precision: 'int8', M: 4, efConstruction: 16 })
  const field = await openDenseField(definition, pool)
  await field.apply(1, rowsOf(rows, dimension, 0, 600), Uint32Array.from([3, 4]))
  const whole = new Uint8Array(await dumpField(field))
  const good = await loadDenseField(definition, pool, chunksOf(whole, 7))
  t.equal(good.digest(), field.digest())
  await good.close()
  const query = rows.subarray(0, dimension)
  let refused = 0
  for (let round = 0; round < 200; round++) {
    const damaged = whole.slice()
    // The header and the counts are hit as often as the rest.
    const place = Math.floor(random() * (round % 2 === 0 ? 80 : damaged.length))
    damaged[place] = (damaged[place] ?? 0) ^ (1 << Math.floor(random() * 8))
    try {
      const loaded = await loadDenseField(definition, pool, chunksOf(damaged))
      const hits = await loaded.search(query, { k: 10, ef: 50, version: 1 })
      if (hits.ordinals.some((ordinal) => ordinal >= 600)) t.fail(`an ordinal outside, byte ${place}`)
      await loaded.close()
    } catch (error) {
      refused++
      const isKnown = error instanceof EngineError && ['snapshot_damaged', 'format_too_new'].includes(error.code)
      if (!isKnown) t.fail(`byte ${place}: ${error}`)
    }
  }
  t.ok(refused > 50, `${refused} refused`)
  for (const length of [0, 5, 40, 71, 500, whole.length - 1])
    await t.rejects(loadDenseField(definition, pool, chunksOf(whole.subarray(0, length))), { code: 'snapshot_damaged' })
  const longer = new Uint8Array([...whole, 0])
  await t.rejects(loadDenseField(definition, pool, chunksOf(longer)), { code: 'snapshot_damaged' })
  await t.rejects(loadDenseField(definitionOf({ dimension: 9 }), pool, chunksOf(whole)), { code: 'snapshot_damaged' })
  await field.close()
  await pool.close()
})

test('a word behind the end of a list is rejected, because an insertion would make it a neighbor', async (t) => {
  const pool = await openWorkerPool({ threads: 1 })
  const [dimension, M, count] = [8, 4, 600]
  const rows = clusteredRows(count, dimension, 1)
  const definition = definitionOf({ dimension, precision: 'int8', M, efConstruction: 16 })
  const field = await openDenseField(definition, pool)
  await field.apply(1, rowsOf(rows, dimension, 0, count), nothing)
  const whole = new Uint8Array(await dumpField(field))
  // Behind the headers, the center, and the codes of the only block.
  const links = 40 + 32 + 16 * 4 + count * 32
  const view = new DataView(whole.buffer)
  const wordAt = (row: number, i: number): number => links + row * 8 * M + 4 * i
  let found = 0
  for (let row = 0; row < count && found < 20; row++) {
    const words = Array.from({ length: 2 * M }, (_, i) => view.getUint32(wordAt(row, i), true))
    const end = words.indexOf(0xffff_ffff)
    // The first is not an end if the row follows another, and the last is a follower.
    if (end < 1 || end > 2 * M - 3 || words.slice(0, end).some((word) => word >= count)) continue
    found += 1
    const damaged = whole.slice()
    new DataView(damaged.buffer).setUint32(wordAt(row, end + 1), 0x7ff0_0000, true)
    await t.rejects(loadDenseField(definition, pool, chunksOf(damaged)), { code: 'snapshot_damaged' }, `row ${row}`)
  }
  t.ok(found >= 5, `${found} lists that are not full`)
  await field.close()
  await pool.close()
})

test('a field of several segments returns the same results as one of a single segment', async (t) => {
  const pool = await openWorkerPool({ threads: 2 })
  const dimension = 12
  const rows = clusteredRows(1500, dimension, 3)
  const definition = definitionOf({ dimension })
  const options = { segmentRows: 512 }
  const field = await openDenseField(definition, pool, options)
  await field.apply(1, rowsOf(rows, dimension, 0, 1500), nothing)
  await field.apply(2, undefined, Uint32Array.from([0, 600, 1400]))
  const single = await openDenseField(definition, pool)
  await single.apply(1, rowsOf(rows, dimension, 0, 1500), nothing)
  await single.apply(2, undefined, Uint32Array.from([0, 600, 1400]))
  const words = new Uint32Array(new SharedArrayBuffer(188)).fill(0x55555555)
  for (const ordinal of [5, 700, 1300]) {
    const query = rows.subarray(ordinal * dimension, (ordinal + 1) * dimension)
    for (const extra of [{}, { allowed: { words } }]) {
      const request = { k: 20, ef: 200, version: 2, ...extra }
      const [a, b] = [await field.search(query, request), await single.search(query, request)]
      t.same(a.ordinals, b.ordinals)
    }
    const listed = { k: 5, version: 2, ordinals: Uint32Array.from([1, 2, 600, 601, 1400, 1401]) }
    t.same((await field.scan(query, listed)).ordinals, (await single.scan(query, listed)).ordinals)
    t.same(field.row(ordinal), query)
  }
  const loaded = await loadDenseField(definition, pool, sourceOf([await dumpField(field)]), options)
  t.equal(loaded.digest(), field.digest())
  for (const some of [field, single, loaded]) await some.close()
  await pool.close()
})

test('a field with a few rows at high ordinals settles on its rows', async (t) => {
  const pool = await openWorkerPool({ threads: 1 })
  const dimension = 4
  const rows = clusteredRows(20, dimension, 3)
  const field = await openDenseField(definitionOf({ dimension, precision: 'int8' }), pool)
  await field.apply(1, rowsOf(rows, dimension, 0, 10), nothing)
  await field.apply(2, rowsOf(rows, dimension, 10, 20, 70_000), nothing)
  const hits = await field.search(rows.subarray(15 * dimension, 16 * dimension), { k: 20, ef: 20, version: 2 })
  t.equal(hits.ordinals.length, 20)
  t.ok(hits.ordinals.includes(70_005))
  t.equal(field.row(500), undefined)
  await field.close()
  await pool.close()
})
