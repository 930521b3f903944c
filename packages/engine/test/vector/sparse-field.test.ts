import tap, { test } from 'tap'
import { sourceOf } from '../../src/memory/sections.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { loadSparseField, openSparseField } from '../../src/vector/sparse/field.ts'
import { rarity } from '../../src/vector/sparse/term-view.ts'
import { fault, noRows, randomTerms, rowsOfTerms, scoreAllRows, sparseDefinition, type Terms } from './sparse-world.ts'
import { createRandom, dumpField } from './world.ts'

const seed = Number(process.env.ANNAL_SEED ?? 17)
const pool = await openWorkerPool({ threads: 2 })
tap.teardown(() => pool.close())
tap.comment(`ANNAL_SEED=${seed}`)

test('a search finds exactly what scoring every row finds', async (t) => {
  const random = createRandom(seed)
  const field = await openSparseField(sparseDefinition(), pool)
  const rows = new Map(
    Array.from({ length: 5_000 }, (_, i) => [i, randomTerms(random, 1 + Math.floor(40 * random()), 900)]),
  )
  await field.apply(1, rowsOfTerms([...rows].slice(0, 4_000)), noRows)
  await field.apply(2, rowsOfTerms([...rows].slice(4_000)), noRows)
  t.equal(field.rows, 5_000)
  for (let i = 0; i < 200; i++) {
    const query = randomTerms(random, 1 + Math.floor(60 * random()), 900)
    const k = [1, 10, 100, 1_000][i % 4] ?? 10
    const hits = await field.search(query, { k, version: 2 })
    const wrong = fault(hits, scoreAllRows(rows, query), k)
    if (wrong !== undefined) t.fail(`query ${i}: ${wrong}`)
  }
  const unknown = { indices: Uint32Array.of(5_000, 2 ** 32 - 1), values: Float32Array.of(1, 1) }
  t.equal((await field.search(unknown, { k: 5, version: 2 })).ordinals.length, 0, 'indices that no row has')
  await field.close()
})

test('negative weights, zero weights, and empty queries are scored correctly', async (t) => {
  const field = await openSparseField(sparseDefinition(), pool)
  const row = (...pairs: [number, number][]): Terms => ({
    indices: Uint32Array.from(pairs, ([index]) => index),
    values: Float32Array.from(pairs, ([, value]) => value),
  })
  const last = 2 ** 32 - 1
  const rows: [number, Terms][] = [
    [0, row([1, -2], [5, 1])],
    [1, row([1, 3], [last, 0.5])],
    [2, row([5, 0])],
    [3, row()],
    [4, row([1, 3])],
  ]
  await field.apply(1, rowsOfTerms(rows), noRows)
  for (const query of [row([1, 1]), row([1, 1], [5, 1]), row([1, 2], [5, 1e-6], [last, 1e6]), row([5, 1e-30])]) {
    const hits = await field.search(query, { k: 10, version: 1 })
    t.equal(fault(hits, scoreAllRows(rows, query), 10), undefined, [...query.indices].join())
  }
  t.same((await field.search(row([1, 1]), { k: 2, version: 1 })).ordinals, [1, 4], 'ties fall to the smaller ordinal')
  t.equal((await field.search(row([1, -1], [5, 0]), { k: 9, version: 1 })).ordinals.length, 0, 'weights of 0 or less')
  t.equal((await field.search(row(), { k: 9, version: 1 })).ordinals.length, 0)
  t.equal(field.rows, 5)
  await field.close()
})

test('rows are visible from the version of their birth up to that of their death, and only if allowed', async (t) => {
  const random = createRandom(seed + 1)
  const field = await openSparseField(sparseDefinition(), pool)
  const rows = Array.from({ length: 600 }, (_, i) => [i, randomTerms(random, 8, 50)] as const)
  await field.apply(1, rowsOfTerms(rows.slice(0, 300)), noRows)
  await field.apply(2, rowsOfTerms(rows.slice(300)), rowsOfTerms(rows.slice(0, 100)))
  const words = new Uint32Array(new SharedArrayBuffer(128))
  for (let i = 0; i < 600; i += 7) words[i >> 5] = (words[i >> 5] ?? 0) | (1 << (i & 31))
  for (let i = 0; i < 20; i++) {
    const query = randomTerms(random, 5, 50)
    const [before, after] = [rows.slice(0, 300), rows.slice(100)]
    t.equal(fault(await field.search(query, { k: 50, version: 1 }), scoreAllRows(before, query), 50), undefined)
    t.equal(fault(await field.search(query, { k: 50, version: 2 }), scoreAllRows(after, query), 50), undefined)
    const allowed = after.filter(([ordinal]) => ordinal % 7 === 0)
    const hits = await field.search(query, { k: 50, version: 2, allowed: { words } })
    t.equal(fault(hits, scoreAllRows(allowed, query), 50), undefined)
  }
  t.equal(field.rows, 500)
  await field.close()
})

test('endee_bm25 weighs an index by its rarity among the rows that the search sees', async (t) => {
  const random = createRandom(seed + 2)
  const field = await openSparseField(sparseDefinition('endee_bm25'), pool)
  const rows = Array.from({ length: 400 }, (_, i) => [i, randomTerms(random, 10, 80)] as const)
  const check = async (version: number, alive: typeof rows) => {
    const query = randomTerms(random, 6, 80)
    const having = (index: number) => alive.filter(([, { indices }]) => indices.includes(index)).length
    const truth = scoreAllRows(alive, query, (index, value) => value * rarity(alive.length, having(index)))
    t.equal(fault(await field.search(query, { k: 20, version }), truth, 20), undefined, `version ${version}`)
  }
  await field.apply(1, rowsOfTerms(rows.slice(0, 200)), noRows)
  await check(1, rows.slice(0, 200))
  const applying = field.apply(2, rowsOfTerms(rows.slice(200)), rowsOfTerms(rows.slice(0, 50)))
  await check(1, rows.slice(0, 200))
  await applying
  await check(1, rows.slice(0, 200))
  await check(2, rows.slice(50))
  await field.close()
})

test('after any churn, searches of old and new versions equal scoring, and the bytes depend on the calls only', async (t) => {
  const digests: bigint[] = []
  const own = await openWorkerPool({ threads: 1 })
  for (const workers of [pool, own]) {
    const random = createRandom(seed + 3)
    const field = await openSparseField(sparseDefinition(), workers)
    const alive = new Map<number, Terms>()
    const resting: { readonly version: number; readonly rows: [number, Terms][] }[] = []
    const free: number[] = []
    let end = 0
    const searching: Promise<void>[] = []
    for (let version = 1; version <= 120; version++) {
      const ripe = resting[0]?.version === version - 6 ? resting.shift() : undefined
      if (ripe !== undefined) {
        await Promise.all(searching.splice(0))
        await field.purge(version, rowsOfTerms(ripe.rows))
        free.push(...ripe.rows.map(([ordinal]) => ordinal))
      }
      const gone = [...alive].filter(() => random() < 0.15)
      const added = Array.from({ length: Math.floor(90 * random()) }, (): [number, Terms] => [
        free.shift() ?? end++,
        randomTerms(random, Math.floor(30 * random()), 300),
      ])
      const applying = field.apply(version, rowsOfTerms(added), rowsOfTerms(gone))
      const old = new Map(alive)
      searching.push(check(`${version - 1}, while ${version} is written`, version - 1, old))
      await applying
      for (const [ordinal] of gone) alive.delete(ordinal)
      for (const [ordinal, terms] of added) alive.set(ordinal, terms)
      resting.push({ version, rows: gone })
      searching.push(check(`${version}`, version, new Map(alive)))
      t.equal(field.rows, alive.size)
    }
    await Promise.all(searching)
    digests.push(field.digest())
    const loaded = await loadSparseField(sparseDefinition(), workers, sourceOf([await dumpField(field)]))
    t.equal(loaded.digest(), field.digest(), 'a dump loads to the same digest')
    t.equal(loaded.rows, field.rows)
    for (const { rows } of resting) for (const one of [field, loaded]) await one.purge(121, rowsOfTerms(rows))
    const everything = rowsOfTerms([...alive])
    for (const one of [field, loaded]) {
      await one.apply(121, undefined, everything)
      await one.purge(122, everything)
      t.equal(one.rows, 0)
    }
    t.equal(loaded.digest(), field.digest(), 'and goes on as the first does')
    await Promise.all([field.close(), loaded.close()])

    async function check(when: string, version: number, rows: ReadonlyMap<number, Terms>): Promise<void> {
      const query = randomTerms(random, 1 + Math.floor(12 * random()), 300)
      const hits = await field.search(query, { k: 25, version })
      const wrong = fault(hits, scoreAllRows(rows, query), 25)
      if (wrong !== undefined) t.fail(`version ${when}: ${wrong}`)
    }
  }
  t.equal(digests[0], digests[1])
  await own.close()
})

test('a term with one posting takes half the memory of a list, and a list that shrinks to one is freed', async (t) => {
  const terms = 100_000
  const perRow = 2_000
  const rows = (first: number) =>
    rowsOfTerms(
      Array.from({ length: terms / perRow }, (_, i) => [
        first + i,
        {
          indices: Uint32Array.from({ length: perRow }, (_, at) => 3 * (i * perRow + at)),
          values: Float32Array.from({ length: perRow }, (_, at) => 1 + ((at + first) % 7)),
        },
      ]),
    )
  const [one, two] = [rows(0), rows(terms / perRow)]
  const field = await openSparseField(sparseDefinition(), pool)
  const empty = field.bytes().sparse as number
  const perTerm = () => ((field.bytes().sparse as number) - empty) / terms
  await field.apply(1, one, noRows)
  t.ok(perTerm() < 60, `${perTerm().toFixed(1)} bytes for each term of one posting`)
  const before = field.digest()
  const query = { indices: Uint32Array.from({ length: 500 }, (_, i) => 3 * i), values: new Float32Array(500).fill(1) }
  const hits = await field.search(query, { k: 3, version: 1 })
  t.same(hits.ordinals, [0])
  // A second posting behind the first of each, and then the first of each gone.
  await field.apply(2, two, noRows)
  t.ok(perTerm() > 80, `${perTerm().toFixed(1)} bytes for each list of two`)
  t.equal((await field.search(query, { k: 3, version: 2 })).ordinals.length, 2)
  await field.apply(3, noRows, two)
  await field.purge(4, two)
  t.same((await field.search(query, { k: 3, version: 3 })).ordinals, [0])
  t.same((await field.search(query, { k: 3, version: 3 })).similarities, hits.similarities)
  const left = await openSparseField(sparseDefinition(), pool)
  await left.apply(1, one, noRows)
  t.equal(left.digest(), before)
  await field.close()
  await left.close()
})

test('a dump that is damaged anywhere is refused or loads to rows that searches cannot leave', async (t) => {
  const random = createRandom(seed + 4)
  const definition = sparseDefinition('default', 200)
  const field = await openSparseField(definition, pool)
  await field.apply(1, rowsOfTerms(Array.from({ length: 200 }, (_, i) => [i, randomTerms(random, 12, 120)])), noRows)
  const whole = await dumpField(field)
  let refused = 0
  for (let i = 0; i < 150; i++) {
    const bytes = Buffer.from(whole)
    if (i % 5 === 0) await refuses(bytes.subarray(0, Math.floor(random() * bytes.length)))
    else if (i % 5 === 1) await refuses(Buffer.concat([bytes, Buffer.from([1])]))
    else {
      bytes[Math.floor(random() * bytes.length)] = Math.floor(256 * random())
      const loaded = await loadSparseField(definition, pool, sourceOf([bytes])).catch(isDamaged)
      if (loaded === undefined) continue
      await loaded.search(randomTerms(random, 12, 120), { k: 50, version: 1 })
      await loaded.close()
    }
  }
  t.ok(refused >= 60, `${refused} refused`)
  await field.close()

  async function refuses(bytes: Uint8Array): Promise<void> {
    await t.rejects(loadSparseField(definition, pool, sourceOf([bytes])), { code: 'snapshot_damaged' })
    refused++
  }
  function isDamaged(error: { readonly code?: string }): undefined {
    if (error.code !== 'snapshot_damaged' && error.code !== 'format_too_new') throw error
    refused++
    return undefined
  }
})
