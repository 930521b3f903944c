import { test } from 'tap'
import { FilterIndex } from '../../src/filter/filter-index.ts'
import { FilterNeeds } from '../../src/filter/filter-needs.ts'
import { parseFilter } from '../../src/filter/parse-filter.ts'
import { parseFilterValues } from '../../src/filter/values.ts'
import { writeSections } from '../../src/memory/sections.ts'
import type { JsonObject, JsonValue } from '../../src/model/json.ts'
import { hashSeed, randomOf, readerOf, sectionBytes, seedOf } from '../memory/rig.ts'

function indexOf(objects: readonly JsonObject[]): FilterIndex {
  const index = new FilterIndex(hashSeed)
  for (const [ordinal, values] of objects.entries()) index.set(ordinal, values)
  return index
}

function found(index: FilterIndex, ...filter: unknown[]): number[] {
  const { bitmap, count } = index.evaluate(parseFilter(filter))
  const ordinals = [...bitmap.toOrdinals()]
  if (ordinals.length !== count) throw new Error(`counted ${count}, found ${ordinals.length}`)
  return ordinals
}

test('a value matches conditions of its own type and no others', (t) => {
  const index = indexOf([
    { a: 1 },
    { a: '1' },
    { a: true },
    { a: null },
    { a: { b: 1 } },
    {},
    { a: 0 },
    { a: false },
    { a: '' },
  ])
  t.same(found(index, { a: { $eq: 1 } }), [0])
  t.same(found(index, { a: { $eq: '1' } }), [1])
  t.same(found(index, { a: { $eq: true } }), [2])
  t.same(found(index, { a: { $in: [1, '1', false, ''] } }), [0, 1, 7, 8])
  t.same(found(index, { a: { $gte: 0 } }), [0, 6])
  t.same(found(index, { a: { $exists: true } }), [0, 1, 2, 3, 4, 6, 7, 8])
  t.same(found(index, { a: { $exists: false } }), [5])
  t.same(found(index, { a: { $ne: 1 } }), [1, 2, 3, 4, 5, 6, 7, 8])
  t.same(found(index, { b: { $eq: 1 } }), [])
  t.same(found(index, { b: { $ne: 1 } }).length, 9)
  t.end()
})

test('an array matches by any of its elements, and nested ones are stored only', (t) => {
  const index = indexOf([{ a: ['x', 'y', 'x', 5] }, { a: [['x']] }, { a: [] }, { a: [true, null, 7, 5] }])
  t.same(found(index, { a: { $eq: 'x' } }), [0])
  t.same(found(index, { a: { $eq: 5 } }), [0, 3])
  t.same(found(index, { a: { $gt: 6 } }), [3])
  t.same(found(index, { a: { $nin: ['x', 7] } }), [1, 2])
  t.same(found(index, { a: { $exists: true } }), [0, 1, 2, 3])
  index.remove(0, { a: ['x', 'y', 'x', 5] })
  t.same(found(index, { a: { $in: ['x', 'y', 5] } }), [3])
  t.end()
})

test('conditions all hold; $or, $and and $not join them', (t) => {
  const index = indexOf([{ c: 'A', n: 1 }, { c: 'A', n: 2 }, { c: 'B', n: 2 }, {}])
  t.same(found(index), [0, 1, 2, 3])
  t.same(found(index, { c: { $eq: 'A' } }, { n: { $gt: 1 } }), [1])
  t.same(found(index, { $or: [{ c: { $eq: 'B' } }, { n: { $eq: 1 } }] }), [0, 2])
  t.same(found(index, { $not: { c: { $eq: 'A' } } }), [2, 3])
  t.same(
    found(index, { $or: [{ $and: [{ c: { $eq: 'A' } }, { n: { $eq: 2 } }] }, { $not: { n: { $exists: true } } }] }),
    [1, 3],
  )
  t.end()
})

test('numbers of any size are compared exactly, and both zeros are equal', (t) => {
  const values = [-0, 2 ** 53, 2 ** 53 + 2, 1e308, -1e308, 5e-324, 999.5, 1_000]
  const index = indexOf(values.map((n) => ({ n })))
  t.same(found(index, { n: { $eq: 0 } }), [0])
  t.same(found(index, { n: { $eq: -0 } }), [0])
  t.same(found(index, { n: { $gt: 2 ** 53 } }), [2, 3])
  t.same(found(index, { n: { $lt: 0 } }), [4])
  t.same(found(index, { n: { $gt: 0 } }, { n: { $lt: 1 } }), [5])
  t.same(found(index, { n: { $range: [999.5, 1_000] } }), [6, 7])
  t.same(found(index, { n: { $lte: 999.5 } }), [0, 4, 5, 6])
  t.end()
})

test('points in time are ordered by time, other strings are not ordered', (t) => {
  const times = [
    '2024-05-01',
    '2024-05-01T02:00:00+02:00',
    '2024-05-01T12:00:00.5Z',
    '2024-13-01',
    'later',
    '2023-12-31T23:59:59Z',
  ]
  const index = indexOf(times.map((when) => ({ when })))
  t.same(found(index, { when: { $gte: '2024-05-01T00:00:00Z' } }), [0, 1, 2])
  t.same(found(index, { when: { $gt: '2024-05-01' } }), [2])
  t.same(found(index, { when: { $lt: '2024-01-01' } }), [5])
  t.same(found(index, { when: { $range: ['2023-01-01', '2024-05-01'] } }), [0, 1, 5])
  t.same(found(index, { when: { $eq: '2024-05-01' } }), [0], 'equality is of text')
  index.remove(0, { when: '2024-05-01' })
  t.same(found(index, { when: { $gte: '2024-05-01' } }), [1, 2])
  t.end()
})

test('keys and strings that name properties of objects are data', (t) => {
  const text = '{"__proto__":"__proto__","constructor":1,"toString":true,"":"","$eq":2}'
  const index = indexOf([parseFilterValues(text).values, {}])
  const ask = (key: string, test: string): number[] => found(index, JSON.parse(`{${JSON.stringify(key)}:${test}}`))
  t.same(ask('__proto__', '{"$eq":"__proto__"}'), [0])
  t.same(ask('constructor', '{"$eq":1}'), [0])
  t.same(ask('toString', '{"$exists":true}'), [0])
  t.same(ask('', '{"$eq":""}'), [0])
  t.same(ask('hasOwnProperty', '{"$exists":true}'), [])
  t.end()
})

test('a removed object is not found, and its key is removed with its last object', (t) => {
  const index = indexOf([{ a: 'x', b: [1, 'y', true, '2024-01-01'] }, { a: 'x' }])
  const bytes = sectionBytes(...index.dump('f'))
  index.set(2, { a: 'z', c: 'only here' })
  t.equal(index.keys, 3)
  index.remove(2, { a: 'z', c: 'only here' })
  t.equal(index.keys, 2)
  index.remove(0, { a: 'x', b: [1, 'y', true, '2024-01-01'] })
  t.same(found(index), [1])
  t.same(found(index, { b: { $exists: true } }), [])
  t.same(found(index, { b: { $exists: false } }), [1])
  t.same(found(index, { a: { $eq: 'x' } }), [1])
  t.equal(index.count, 1)
  t.ok(bytes.length > 0)
  t.end()
})

test('the number of distinct keys of a collection is limited', (t) => {
  const index = new FilterIndex(hashSeed)
  const batch = (from: number, count: number): JsonObject[] =>
    Array.from({ length: count }, (_, i) => ({ [`k${from + i}`]: i, shared: 'x' }))
  index.reserve(FilterNeeds.from(batch(0, 16_383)), 16_383)
  for (const [ordinal, values] of batch(0, 16_383).entries()) index.set(ordinal, values)
  t.doesNotThrow(() => index.reserve(FilterNeeds.from(batch(0, 100)), 20_000))
  t.throws(() => index.reserve(FilterNeeds.from(batch(16_383, 1)), 20_000), { code: 'limit_exceeded' })
  t.end()
})

test('an empty index costs little', (t) => {
  t.ok(new FilterIndex(hashSeed).bytes() < 4_096)
  t.end()
})

function someValues(random: () => number): JsonObject {
  const pick = (...values: readonly JsonValue[]): JsonValue => values[Math.floor(random() * values.length)]!
  return {
    category: `c${Math.floor(random() ** 2 * 20)}`,
    unique: `u${Math.floor(random() * 1e9)}`,
    score: random() < 0.5 ? Math.floor(random() * 50) : random() * 50,
    flag: random() < 0.9,
    ...(random() < 0.1 ? { rare: pick(1, '1', true, null, [1, 2, 'x'], { deep: 1 }) } : {}),
    ...(random() < 0.3 ? { when: new Date(Math.floor(random() * 2e12)).toISOString() } : {}),
  }
}

test('an index of 80,000 objects with churn agrees with a plain list, before and after a dump', async (t) => {
  const random = randomOf(seedOf('filter index'))
  const index = new FilterIndex(hashSeed)
  const objects = new Map<number, JsonObject>()
  for (let ordinal = 0; ordinal < 80_000; ordinal++) {
    const values = someValues(random)
    index.set(ordinal, values)
    objects.set(ordinal, values)
  }
  const churn = (target: FilterIndex, times: number): void => {
    for (let i = 0; i < times; i++) {
      const ordinal = Math.floor(random() * 80_000)
      const before = objects.get(ordinal)
      if (before !== undefined) target.remove(ordinal, before)
      objects.delete(ordinal)
      if (random() < 0.3) continue
      const values = someValues(random)
      target.set(ordinal, values)
      objects.set(ordinal, values)
    }
  }
  const agrees = (target: FilterIndex): void => {
    const expected = (is: (values: JsonObject) => boolean): string =>
      [...objects]
        .filter(([, values]) => is(values))
        .map(([ordinal]) => ordinal)
        .sort((a, b) => a - b)
        .join()
    const same = (filter: unknown, is: (values: JsonObject) => boolean): void => {
      t.ok(found(target, filter).join() === expected(is), JSON.stringify(filter))
    }
    same({ category: { $eq: 'c0' } }, ({ category }) => category === 'c0')
    same({ category: { $ne: 'c1' } }, ({ category }) => category !== 'c1')
    same({ flag: { $eq: true } }, ({ flag }) => flag === true)
    same({ flag: { $eq: false } }, ({ flag }) => flag === false)
    same({ score: { $range: [10, 25] } }, ({ score }) => Number(score) >= 10 && Number(score) <= 25)
    same({ score: { $gt: 49 } }, ({ score }) => Number(score) > 49)
    same({ score: { $eq: 7 } }, ({ score }) => score === 7)
    same({ rare: { $exists: true } }, (values) => 'rare' in values)
    same({ rare: { $eq: 1 } }, ({ rare }) => rare === 1 || (Array.isArray(rare) && rare.includes(1)))
    same({ when: { $lt: '2010-01-01' } }, ({ when }) => typeof when === 'string' && when < '2010')
  }
  agrees(index)
  churn(index, 60_000)
  agrees(index)
  const bytes = sectionBytes(...index.dump('f'))
  const loaded = await FilterIndex.load(readerOf(bytes, 1 << 20), 'f')
  agrees(loaded)
  t.ok(sectionBytes(...loaded.dump('f')).equals(bytes), 'what was loaded dumps to the same bytes')
  churn(loaded, 20_000)
  agrees(loaded)
  for (const [ordinal, values] of objects) loaded.remove(ordinal, values)
  t.equal(loaded.keys, 0)
  t.equal(loaded.count, 0)
})

test('the same calls give the same bytes, and a dump holds the content from its start', (t) => {
  const seed = seedOf('same bytes')
  const run = (): FilterIndex => {
    const random = randomOf(seed)
    const index = new FilterIndex(hashSeed)
    const objects = Array.from({ length: 20_000 }, () => someValues(random))
    for (const [ordinal, values] of objects.entries()) index.set(ordinal, values)
    for (let ordinal = 0; ordinal < 20_000; ordinal += 3) index.remove(ordinal, objects[ordinal]!)
    return index
  }
  const index = run()
  const bytes = sectionBytes(...index.dump('f'))
  t.ok(sectionBytes(...run().dump('f')).equals(bytes))
  const random = randomOf(seed + 1)
  const pieces: Uint8Array[] = []
  let next = 20_000
  for (const piece of writeSections(index.dump('f'))) {
    pieces.push(piece)
    for (let i = 0; i < 500; i++) index.set(next++, someValues(random))
  }
  t.ok(Buffer.concat(pieces).equals(bytes))
  t.end()
})

test('damage is rejected or harmless: every word of a small dump, changed', async (t) => {
  const index = indexOf(Array.from({ length: 30 }, (_, i) => ({ s: `s${i % 7}`, n: i % 9, b: i % 2 === 0, u: i })))
  const bytes = sectionBytes(...index.dump('f'))
  let refused = 0
  let taken = 0
  for (let i = 0; i + 4 <= bytes.length; i += 4) {
    const wrong = Buffer.from(bytes)
    wrong.writeUint32LE((wrong.readUint32LE(i) ^ 0x7f00ff31) >>> 0, i)
    try {
      const loaded = await FilterIndex.load(readerOf(wrong, 1 << 20), 'f')
      for (const key of ['s', 'n', 'b', 'u']) {
        found(loaded, { [key]: { $exists: true } })
        found(loaded, { [key]: { $gte: 3 } })
        found(loaded, { [key]: { $in: ['s1', 4, true] } })
      }
      taken++
    } catch (error) {
      if (!(error instanceof Error && 'code' in error && error.code === 'snapshot_damaged')) throw error
      refused++
    }
  }
  t.ok(refused > taken, `${refused} refused, ${taken} taken without harm`)
})
