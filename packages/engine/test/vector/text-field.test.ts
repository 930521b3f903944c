import tap, { test } from 'tap'
import { sourceOf } from '../../src/memory/sections.ts'
import type { SparseField, TextQuery } from '../../src/vector/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { loadSparseField, openSparseField } from '../../src/vector/sparse/field.ts'
import { countMax, lengthMax } from '../../src/vector/sparse/packed-counts.ts'
import { noRows } from './sparse-world.ts'
import {
  noText,
  randomIndex,
  randomText,
  randomTextQuery,
  rowsOfTexts,
  scoreAllTexts,
  type Text,
  wrongHits,
} from './text-world.ts'
import { createRandom, dumpField } from './world.ts'

const seed = Number(process.env.ANNAL_SEED ?? 23)
const rounds = process.env.ANNAL_LONG === '1' ? 10 : 1
const pool = await openWorkerPool({ threads: 2 })
tap.teardown(() => pool.close())
tap.comment(`ANNAL_SEED=${seed}`)

const definition = { name: 'body' }

function openTexts(): Promise<SparseField> {
  return openSparseField(definition, pool, 'counts')
}

for (let round = 0; round < rounds; round++) {
  test(`a search finds exactly what BM25 of every text finds, round ${round}`, async (t) => {
    const random = createRandom(seed + round)
    const field = await openTexts()
    const terms = 3_000
    const rows = new Map<number, Text>()
    for (let i = 0; i < 12_000; i++) rows.set(i, randomText(random, Math.floor(40 * random() ** 2), terms))
    await field.apply(1, rowsOfTexts([...rows].slice(0, 7_000)), noRows)
    await field.apply(2, rowsOfTexts([...rows].slice(7_000)), noRows)
    t.equal(field.rows, rows.size)
    const words = new Uint32Array(new SharedArrayBuffer(1_500))
    for (let i = 0; i < 9_000; i++) if (random() < 0.3) words[i >> 5] = (words[i >> 5] ?? 0) | (1 << (i & 31))
    const isAllowed = (ordinal: number) => ((words[ordinal >> 5] ?? 0) & (1 << (ordinal & 31))) !== 0
    let hitsOfAll = 0
    for (let i = 0; i < 240; i++) {
      // Frequent terms, so that required ones meet.
      const query = randomTextQuery(random, 1 + (i % 9), i % 4 === 0 ? terms : 150, [0, 1, 0.5][i % 3] ?? 0)
      const k = [1, 10, 100, 1_000][i % 4] ?? 10
      const isFiltered = i % 5 === 0
      const hits = await field.search(query, { k, version: 2, ...(isFiltered && { allowed: { words } }) })
      const fail = wrongHits(hits, scoreAllTexts(rows, query, isFiltered ? isAllowed : undefined), k)
      if (fail !== undefined) t.fail(`query ${i} ${JSON.stringify(query)}, k ${k}: ${fail}`)
      if (query.terms.length > 1 && query.terms.every(({ isRequired }) => isRequired)) hitsOfAll += hits.ordinals.length
    }
    t.ok(hitsOfAll > 500, `${hitsOfAll} hits of queries whose terms are all required`)
    await field.close()
  })
}

test('rare terms meet frequent ones in lists of any shape', async (t) => {
  const random = createRandom(seed + 100)
  const field = await openTexts()
  const rows = new Map<number, Text>()
  // Term 0 is in most rows, 1 in one of 90, 2 in one of 900, 3 in a dense run, and 4 in two rows far from each other.
  for (let i = 0; i < 60_000; i++) {
    const counts = new Map<number, number>()
    const put = (index: number) => counts.set(index, 1 + Math.floor(5 * random() ** 3))
    if (random() < 0.9) put(0)
    if (random() < 1 / 90) put(1)
    if (random() < 1 / 900) put(2)
    if (i >= 20_000 && i < 21_000) put(3)
    if (i === 7 || i === 59_990) put(4)
    rows.set(i, { counts, length: counts.size === 0 ? 0 : 10 + Math.floor(50 * random()) })
  }
  await field.apply(1, rowsOfTexts(rows), noRows)
  for (const required of [[0, 1], [1, 2], [0, 1, 2], [3, 0], [3, 1], [4, 0], [2], [0], [4, 1], [0, 3, 2]]) {
    for (const optional of [[], [1], [0, 2], [4, 3]]) {
      const both = new Set([...required, ...optional])
      const query: TextQuery = {
        terms: [...both].map((index) => ({ index, boost: 1 + index / 7, isRequired: required.includes(index) })),
        k1: 1.2,
        b: 0.75,
      }
      const hits = await field.search(query, { k: 20, version: 1 })
      t.equal(wrongHits(hits, scoreAllTexts(rows, query), 20), undefined, `${required} of ${[...both]}`)
    }
  }
  await field.close()
})

test('versions, upserts, and removed rows decide hits, counts, and the average length', async (t) => {
  const random = createRandom(seed + 200)
  const digests: bigint[] = []
  for (const own of [pool, await openWorkerPool({ threads: 1 })]) {
    const field = await openSparseField(definition, own, 'counts')
    const alive = new Map<number, Text>()
    const resting: { readonly version: number; readonly rows: [number, Text][] }[] = []
    const free: number[] = []
    const texts = createRandom(seed + 201)
    let end = 0
    const searching: Promise<void>[] = []
    for (let version = 1; version <= 80; version++) {
      if (resting[0]?.version === version - 6) {
        const ripe = resting.shift()?.rows ?? []
        await Promise.all(searching.splice(0))
        await field.purge(version, rowsOfTexts(ripe))
        free.push(...ripe.map(([ordinal]) => ordinal))
      }
      const gone = [...alive].filter(() => texts() < 0.15)
      const added = Array.from({ length: Math.floor(120 * texts()) }, (): [number, Text] => [
        free.shift() ?? end++,
        texts() < 0.05 ? noText : randomText(texts, 1 + Math.floor(30 * texts()), 200),
      ])
      const applying = field.apply(version, rowsOfTexts(added), rowsOfTexts(gone))
      searching.push(check(version - 1, new Map(alive)))
      await applying
      for (const [ordinal] of gone) alive.delete(ordinal)
      for (const [ordinal, text] of added) alive.set(ordinal, text)
      resting.push({ version, rows: gone })
      searching.push(check(version, new Map(alive)))
      t.equal(field.rows, alive.size)
      marksAndCounts(version)
    }
    await Promise.all(searching)
    digests.push(field.digest())
    const bytes = await dumpField(field)
    const loaded = await loadSparseField(definition, own, sourceOf([bytes]), 'counts')
    t.equal(loaded.digest(), field.digest(), 'a dump loads to the same digest')
    t.ok((await dumpField(loaded)).equals(bytes), 'and to the same bytes')
    for (let i = 0; i < 20; i++) {
      const query = randomTextQuery(random, 1 + Math.floor(4 * random()), 200, 0.4)
      t.equal(wrongHits(await loaded.search(query, { k: 30, version: 80 }), scoreAllTexts(alive, query), 30), undefined)
    }
    for (const { rows } of resting) for (const one of [field, loaded]) await one.purge(81, rowsOfTexts(rows))
    for (const one of [field, loaded]) {
      await one.apply(81, undefined, rowsOfTexts(alive))
      await one.purge(82, rowsOfTexts(alive))
      t.equal(one.rows, 0)
      const { ordinals } = await one.search(randomTextQuery(random, 3, 200, 0), { k: 9, version: 82 })
      t.equal(ordinals.length, 0)
      await one.apply(83, rowsOfTexts([[0, randomText(createRandom(1), 9, 200)]]), noRows)
    }
    t.equal(loaded.digest(), field.digest(), 'and goes on as the first does')
    await Promise.all([field.close(), loaded.close()])
    if (own !== pool) await own.close()

    async function check(version: number, rows: ReadonlyMap<number, Text>): Promise<void> {
      const query = randomTextQuery(random, 1 + Math.floor(5 * random()), 200, random())
      const fail = wrongHits(await field.search(query, { k: 25, version }), scoreAllTexts(rows, query), 25)
      if (fail !== undefined) t.fail(`version ${version} ${JSON.stringify(query)}: ${fail}`)
    }

    function marksAndCounts(version: number): void {
      const index = randomIndex(random, 200)
      const having = [...alive].filter(([, { counts }]) => counts.has(index)).map(([ordinal]) => ordinal)
      if (field.rowsHaving(index, version) !== having.length) t.fail(`version ${version}: rows having ${index}`)
      const bitmap = new Uint32Array(Math.ceil(end / 32) - (version % 2 === 0 ? 1 : 0))
      field.markRows(index, version, bitmap)
      const expected = new Uint32Array(bitmap.length)
      for (const ordinal of having)
        if (ordinal >> 5 < bitmap.length) expected[ordinal >> 5] = (expected[ordinal >> 5] ?? 0) | (1 << (ordinal & 31))
      if (!Buffer.from(bitmap.buffer).equals(Buffer.from(expected.buffer)))
        t.fail(`version ${version}: marks of ${index}`)
    }
  }
  t.equal(digests[0], digests[1], 'the bytes depend on the calls only')
})

test('extreme counts, lengths, parameters, and boosts are scored exactly', async (t) => {
  const field = await openTexts()
  const text = (length: number, ...counts: [number, number][]): Text => ({ counts: new Map(counts), length })
  const rows = new Map<number, Text>([
    [0, text(lengthMax, [1, countMax], [2, 1])],
    [1, text(1, [1, 1])],
    [2, text(2, [1, 1], [2, 1])],
    [3, noText],
    [4, text(lengthMax, [2, 7], [2 ** 32 - 1, 1])],
    [5, text(9, [1, 7], [2, 8])],
    [6, text(9, [1, 7], [2, 8])],
    [7, text(lengthMax, [1, 8])],
  ])
  await field.apply(1, rowsOfTexts(rows), noRows)
  const terms = (boosts: [number, number, boolean][]) =>
    boosts.map(([index, boost, isRequired]) => ({ index, boost, isRequired }))
  const queries = [
    terms([
      [1, 1, false],
      [2, 1, false],
    ]),
    terms([
      [1, 1, true],
      [2, 1, true],
    ]),
    terms([
      [1, 1e-4, false],
      [2, 1e4, false],
    ]),
    terms([
      [1, 0, true],
      [2, 1, false],
    ]),
    terms([[1, 0, true]]),
    terms([
      [1, 0, false],
      [2, 1, false],
    ]),
    terms([
      [2 ** 32 - 1, 3, true],
      [2, 1, true],
    ]),
    terms([
      [1, 1, true],
      [77, 1, true],
    ]),
    terms([
      [1, 1, true],
      [77, 1, false],
    ]),
    terms([]),
  ]
  for (const query of queries) {
    for (const k1 of [0, 1e-17, 1.2, 1e3]) {
      for (const b of [0, 0.75, 1]) {
        const hits = await field.search({ terms: query, k1, b }, { k: 8, version: 1 })
        const truth = scoreAllTexts(rows, { terms: query, k1, b })
        t.equal(wrongHits(hits, truth, 8), undefined, JSON.stringify({ query, k1, b }))
      }
    }
  }
  const both = await field.search({ terms: queries[1] ?? [], k1: 1.2, b: 0.75 }, { k: 8, version: 1 })
  t.same(both.ordinals.slice(0, 2), [5, 6], 'ties fall to the smaller ordinal')
  // The total is beyond 2^32 with 4,097 of the longest texts.
  const long = Array.from({ length: 4_200 }, (_, i): [number, Text] => [100 + i, text(lengthMax, [3, 1 + (i % 50)])])
  await field.apply(2, rowsOfTexts(long), rowsOfTexts([[7, rows.get(7) ?? noText]]))
  rows.delete(7)
  for (const [ordinal, one] of long) rows.set(ordinal, one)
  const query = {
    terms: terms([
      [3, 1, false],
      [1, 2, false],
    ]),
    k1: 1.2,
    b: 0.75,
  }
  t.equal(wrongHits(await field.search(query, { k: 50, version: 2 }), scoreAllTexts(rows, query), 50), undefined)
  const loaded = await loadSparseField(definition, pool, sourceOf([await dumpField(field)]), 'counts')
  t.equal(wrongHits(await loaded.search(query, { k: 50, version: 2 }), scoreAllTexts(rows, query), 50), undefined)
  await Promise.all([field.close(), loaded.close()])
})

test('a field of texts that is empty, or has no terms, has no hits', async (t) => {
  const field = await openTexts()
  const query = { terms: [{ index: 1, boost: 1, isRequired: false }], k1: 1.2, b: 0.75 }
  t.same((await field.search(query, { k: 3, version: 0 })).ordinals, [])
  t.equal(field.rowsHaving(1, 0), 0)
  await field.apply(
    1,
    rowsOfTexts([
      [0, noText],
      [1, noText],
    ]),
    noRows,
  )
  t.equal(field.rows, 2)
  t.same((await field.search(query, { k: 3, version: 1 })).ordinals, [])
  const loaded = await loadSparseField(definition, pool, sourceOf([await dumpField(field)]), 'counts')
  t.equal(loaded.rows, 2)
  t.equal(loaded.digest(), field.digest())
  await Promise.all([field.close(), loaded.close()])
})

test('a dump of texts that is damaged anywhere is refused or loads to rows that searches cannot leave', async (t) => {
  const random = createRandom(seed + 300)
  const field = await openTexts()
  const rows = Array.from({ length: 300 }, (_, i): [number, Text] => [i, randomText(random, i % 30, 120)])
  await field.apply(1, rowsOfTexts(rows), noRows)
  await field.apply(2, undefined, rowsOfTexts(rows.slice(0, 20)))
  const whole = await dumpField(field)
  let refused = 0
  for (let i = 0; i < 200; i++) {
    const bytes = Buffer.from(whole)
    if (i % 5 === 0) await refuses(bytes.subarray(0, Math.floor(random() * bytes.length)))
    else if (i % 5 === 1) await refuses(Buffer.concat([bytes, Buffer.from([1])]))
    else {
      bytes[Math.floor(random() * bytes.length)] = Math.floor(256 * random())
      const loaded = await loadSparseField(definition, pool, sourceOf([bytes]), 'counts').catch(isDamaged)
      if (loaded === undefined) continue
      await loaded.search(randomTextQuery(random, 6, 120, 0.3), { k: 50, version: 2 })
      await loaded.close()
    }
  }
  t.ok(refused >= 100, `${refused} refused`)
  // A length that differs between the postings of a row, and a total that is not the sum.
  const total = Buffer.from(whole)
  total.writeUInt32LE(total.readUInt32LE(12) + 1, 12)
  await refuses(total)
  const weights = { kind: 'sparse', name: 'body', params: { model: 'default', dimension: 2 ** 32 } } as const
  await t.rejects(loadSparseField(weights, pool, sourceOf([whole])), { code: 'snapshot_damaged' })
  await field.close()

  async function refuses(bytes: Uint8Array): Promise<void> {
    await t.rejects(loadSparseField(definition, pool, sourceOf([bytes]), 'counts'), { code: 'snapshot_damaged' })
    refused++
  }
  function isDamaged(error: { readonly code?: string }): undefined {
    if (error.code !== 'snapshot_damaged' && error.code !== 'format_too_new') throw error
    refused++
    return undefined
  }
})
