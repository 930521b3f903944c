import tap, { test } from 'tap'
import { sourceOf } from '../../src/memory/sections.ts'
import type { Precision, SpaceType } from '../../src/model/schema.ts'
import { loadDenseField, openDenseField } from '../../src/vector/dense/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { clusteredRows, definitionOf, dumpField, exactNearest, normalize, recall, rowsOf, similarity } from './world.ts'

const nothing = new Uint32Array(0)
const pool = await openWorkerPool({ threads: 2 })
tap.teardown(() => pool.close())

const spaces: SpaceType[] = ['l2', 'ip', 'cosine']
const precisions: Precision[] = ['float32', 'int8', 'int16', 'float16']

for (const spaceType of spaces)
  for (const precision of precisions)
    test(`${precision} ${spaceType}: a search finds what an exact scan finds`, async (t) => {
      const dimension = 48
      const rows = clusteredRows(3000, dimension, 7)
      const queries = clusteredRows(50, dimension, 8)
      if (spaceType === 'cosine') for (const set of [rows, queries]) normalize(set, dimension)
      const field = await openDenseField(definitionOf({ dimension, spaceType, precision }), pool)
      for (let i = 0; i < 3000; i += 500) await field.apply(i / 500 + 1, rowsOf(rows, dimension, i, i + 500), nothing)
      t.equal(field.rows, 3000)
      let found = 0
      for (let i = 0; i < 50; i++) {
        const query = queries.subarray(i * dimension, (i + 1) * dimension)
        const truth = exactNearest(spaceType, rows, dimension, query, 10)
        const hits = await field.search(query, { k: 10, ef: 128, version: 6 })
        found += recall(hits, truth) / 50
        const scanned = await field.scan(query, { k: 10, version: 6 })
        const first = truth[0]?.similarity ?? 0
        const tolerance = precision === 'float32' ? 1e-4 : 0.05
        t.ok(Math.abs((scanned.similarities[0] ?? 0) - first) <= tolerance * Math.max(1, Math.abs(first)))
        if (precision === 'float32') t.equal(recall(scanned, truth), 1)
      }
      t.ok(found > 0.95, `recall ${found}`)
      await field.close()
    })

test('under a selective filter a walk finds what a scan of the allowed rows finds, also far from the query', async (t) => {
  const dimension = 32
  const n = 6_000
  const rows = clusteredRows(n, dimension, 11)
  const queries = clusteredRows(20, dimension, 12)
  const field = await openDenseField(definitionOf({ dimension }), pool)
  await field.apply(1, rowsOf(rows, dimension, 0, n), nothing)
  const middle = rows.subarray(0, dimension)
  const toMiddle = (i: number) => -similarity('l2', middle, rows.subarray(i * dimension, (i + 1) * dimension))
  const sorted = Array.from({ length: n }, (_, i) => i).sort((a, b) => toMiddle(a) - toMiddle(b))
  const filters = [
    { name: 'one row in twenty', ordinals: sorted.filter((i) => i % 20 === 3) },
    { name: 'the twentieth nearest to one place', ordinals: sorted.slice(0, n / 20) },
    { name: 'the twentieth farthest from it', ordinals: sorted.slice(-n / 20) },
  ]
  for (const { name, ordinals } of filters) {
    const words = new Uint32Array(new SharedArrayBuffer(Math.ceil(n / 32) * 4))
    for (const i of ordinals) words[i >> 5] = (words[i >> 5] ?? 0) | (1 << (i & 31))
    let found = 0
    for (let i = 0; i < 20; i++) {
      const query = queries.subarray(i * dimension, (i + 1) * dimension)
      const hits = await field.search(query, { k: 10, ef: 64, version: 1, allowed: { words } })
      const truth = await field.scan(query, { k: 10, version: 1, ordinals: Uint32Array.from(ordinals) })
      t.equal(hits.ordinals.length, 10)
      found += [...hits.ordinals].filter((ordinal) => truth.ordinals.includes(ordinal)).length / 200
      // A walk that is far from the query may end with comparing every allowed row.
      t.ok(hits.distances < n / 10 + ordinals.length, `${hits.distances} distances`)
    }
    t.ok(found >= 0.95, `${name}: recall ${found}`)
  }
  await field.close()
})

test('a filter that allows ordinals without a row, also far beyond the last, finds the rows', async (t) => {
  const dimension = 8
  const rows = clusteredRows(2_000, dimension, 5)
  const field = await openDenseField(definitionOf({ dimension }), pool)
  await field.apply(1, rowsOf(rows, dimension, 0, 2_000), nothing)
  const words = new Uint32Array(new SharedArrayBuffer(8_000))
  for (let i = 13; i < 64_000; i += 31) words[i >> 5] = (words[i >> 5] ?? 0) | (1 << (i & 31))
  const query = rows.subarray(0, dimension)
  const hits = await field.search(query, { k: 20, ef: 20, version: 1, allowed: { words } })
  t.equal(hits.ordinals.length, 20)
  t.ok([...hits.ordinals].every((ordinal) => ordinal < 2_000 && (ordinal - 13) % 31 === 0))
  await field.close()
})

test('reserved space without rows is not part of the digest', async (t) => {
  const dimension = 8
  const rows = clusteredRows(10, dimension, 3)
  const [live, replayed] = [
    await openDenseField(definitionOf({ dimension }), pool),
    await openDenseField(definitionOf({ dimension }), pool),
  ]
  // A write reserves space in every field for all its objects, a replay only for rows that exist.
  live.reserve(10)
  t.equal(live.digest(), replayed.digest(), 'of a field without rows')
  live.reserve(5_000)
  for (const field of [live, replayed]) await field.apply(1, rowsOf(rows, dimension, 0, 10), nothing)
  t.equal(live.digest(), replayed.digest(), 'of a field with rows')
  for (const field of [live, replayed]) await field.close()
})

test('rows are visible from the version of their birth up to the version of their death', async (t) => {
  const dimension = 8
  const rows = clusteredRows(600, dimension, 3)
  const field = await openDenseField(definitionOf({ dimension }), pool)
  await field.apply(1, rowsOf(rows, dimension, 0, 300), nothing)
  await field.apply(
    2,
    rowsOf(rows, dimension, 300, 600),
    Uint32Array.from({ length: 100 }, (_, i) => i),
  )
  const query = rows.subarray(0, dimension)
  for (const [version, alive] of [
    [1, (i: number) => i < 300],
    [2, (i: number) => i >= 100],
  ] as const) {
    const truth = exactNearest('l2', rows, dimension, query, 20, alive)
    const hits = await field.search(query, { k: 20, ef: 64, version })
    t.same(
      [...hits.ordinals],
      truth.map((hit) => hit.ordinal),
      `version ${version}`,
    )
    const all = await field.search(query, { k: 600, ef: 600, version })
    t.equal(all.ordinals.length, version === 1 ? 300 : 500)
  }
  t.equal(field.rows, 500)
  await field.close()
})

test('a search with a bitmap returns allowed rows only, and as many as there are', async (t) => {
  const dimension = 8
  const rows = clusteredRows(2000, dimension, 5)
  const field = await openDenseField(definitionOf({ dimension }), pool)
  await field.apply(1, rowsOf(rows, dimension, 0, 2000), nothing)
  const words = new Uint32Array(new SharedArrayBuffer(256))
  const wanted = (i: number) => i % 100 === 7
  for (let i = 0; i < 2000; i++) if (wanted(i)) words[i >> 5] = (words[i >> 5] ?? 0) | (1 << (i & 31))
  const query = rows.subarray(0, dimension)
  const hits = await field.search(query, { k: 20, ef: 20, version: 1, allowed: { words } })
  t.equal(hits.ordinals.length, 20)
  t.ok([...hits.ordinals].every(wanted))
  await field.close()
})

test('the same calls give the same digest with any number of workers, and a dump loads to it', async (t) => {
  const dimension = 24
  const rows = clusteredRows(1500, dimension, 11)
  const digests: bigint[] = []
  for (const threads of [1, 2, 4]) {
    const own = await openWorkerPool({ threads })
    const definition = definitionOf({ dimension, precision: 'int8', M: 8, efConstruction: 40 })
    const field = await openDenseField(definition, own)
    for (let i = 0; i < 1500; i += 300) await field.apply(i / 300 + 1, rowsOf(rows, dimension, i, i + 300), nothing)
    await field.apply(7, undefined, Uint32Array.from([1, 2, 3]))
    await field.apply(8, rowsOf(rows, dimension, 20, 23, 1), nothing)
    digests.push(field.digest())
    const loaded = await loadDenseField(definition, own, sourceOf([await dumpField(field)]))
    t.equal(loaded.digest(), field.digest())
    t.same(
      await loaded.search(rows.subarray(0, dimension), { k: 9, ef: 50, version: 8 }),
      await field.search(rows.subarray(0, dimension), { k: 9, ef: 50, version: 8 }),
    )
    await field.close()
    await loaded.close()
    await own.close()
  }
  t.equal(new Set(digests).size, 1)
})

for (const dimension of [2, 10_000])
  test(`dimension ${dimension} works, with zero vectors, constants, and duplicates among the rows`, async (t) => {
    const n = 400
    const rows = clusteredRows(n, dimension, 21)
    rows.fill(0, 0, 5 * dimension)
    rows.fill(0.5, 5 * dimension, 10 * dimension)
    for (let i = 10; i < 60; i++) rows.copyWithin(i * dimension, 100 * dimension, 101 * dimension)
    for (const precision of precisions) {
      const field = await openDenseField(definitionOf({ dimension, precision }), pool)
      await field.apply(1, rowsOf(rows, dimension, 0, n), nothing)
      for (const ordinal of [0, 7, 20, 300]) {
        const query = rows.subarray(ordinal * dimension, (ordinal + 1) * dimension)
        const best = (await field.search(query, { k: 1, ef: 64, version: 1 })).ordinals[0] ?? -1
        const distance = -similarity('l2', query, rows.subarray(best * dimension, (best + 1) * dimension))
        t.ok(precision === 'float32' ? distance === 0 : distance < 0.05 * dimension, `${precision} ${ordinal} ${best}`)
        const row = field.row(ordinal)
        t.ok(row !== undefined && Math.abs((row[1] ?? 9) - (query[1] ?? 0)) < 0.2)
      }
      await field.close()
    }
  })

test('thousands of duplicates do not hide other rows', async (t) => {
  const dimension = 16
  const rows = clusteredRows(4000, dimension, 31)
  for (let i = 0; i < 3000; i++) rows.copyWithin(i * dimension, 3999 * dimension, 4000 * dimension)
  const field = await openDenseField(definitionOf({ dimension, precision: 'int8' }), pool)
  for (let i = 0; i < 4000; i += 1000) await field.apply(i / 1000 + 1, rowsOf(rows, dimension, i, i + 1000), nothing)
  for (const ordinal of [3100, 3500, 3900]) {
    const query = rows.subarray(ordinal * dimension, (ordinal + 1) * dimension)
    const hits = await field.search(query, { k: 1, ef: 64, version: 4 })
    t.equal(hits.ordinals[0], ordinal)
  }
  await field.close()
})

test('searchSync returns in the calling thread what search returns', async (t) => {
  const dimension = 16
  const rows = clusteredRows(1000, dimension, 41)
  const words = new Uint32Array(new SharedArrayBuffer(128)).fill(0x33333333)
  for (const options of [{}, { segmentRows: 320 }]) {
    const field = await openDenseField(definitionOf({ dimension, precision: 'int8' }), pool, options)
    await field.apply(1, rowsOf(rows, dimension, 0, 1000), nothing)
    for (const ordinal of [1, 500, 999])
      for (const extra of [{}, { allowed: { words } }]) {
        const query = rows.subarray(ordinal * dimension, (ordinal + 1) * dimension)
        const request = { k: 10, ef: 40, version: 1, ...extra }
        t.same(field.searchSync(query, request), await field.search(query, request))
      }
    await field.close()
  }
})

test('a field that was rebuilt around its mean still has what earlier versions see', async (t) => {
  const dimension = 8
  const rows = clusteredRows(400, dimension, 1)
  const field = await openDenseField(definitionOf({ dimension }), pool)
  await field.apply(1, rowsOf(rows, dimension, 0, 100), nothing)
  await field.apply(2, undefined, Uint32Array.of(5))
  const query = rows.subarray(5 * dimension, 6 * dimension)
  const before = await field.search(query, { k: 10, ef: 64, version: 1 })
  await field.apply(3, rowsOf(rows, dimension, 100, 400), nothing)
  t.same((await field.search(query, { k: 10, ef: 64, version: 1 })).ordinals, before.ordinals)
  t.equal(before.ordinals[0], 5)
  t.equal(field.norm(5), 1)
  t.notOk((await field.search(query, { k: 10, ef: 64, version: 3 })).ordinals.includes(5))
  t.equal(field.rows, 399)
  t.equal(field.health().removed, 1)
  await field.close()
})
