// Every form of a condition over a few objects, compared with a direct evaluation: in one word and in several, after removals, and
// after a dump. The memory that an index reserves is what its objects take.
import fc from 'fast-check'
import { test } from 'tap'
import { FilterIndex } from '../../src/filter/filter-index.ts'
import { FilterNeeds } from '../../src/filter/filter-needs.ts'
import { parseFilter } from '../../src/filter/parse-filter.ts'
import { parseFilterValues } from '../../src/filter/values.ts'
import { Bitmap } from '../../src/memory/bitmap.ts'
import type { JsonObject } from '../../src/model/json.ts'
import { hashSeed, readerOf, sectionBytes, seedOf } from '../memory/rig.ts'
import { filter, values } from './arbitrary.ts'
import { holds } from './naive.ts'

const seed = seedOf('filter sets') | 0

/** What matches, found twice: `undefined` where both agree. */
function difference(index: FilterIndex, objects: ReadonlyMap<number, JsonObject>, conditions: JsonObject[]) {
  const { bitmap, count } = index.evaluate(parseFilter(conditions))
  const wanted = [...objects].filter(([, it]) => holds(conditions, it)).map(([ordinal]) => ordinal)
  const text = `${wanted.sort((a, b) => a - b)} (${wanted.length})`
  const found = `${[...bitmap.toOrdinals()]} (${count})`
  return found === text ? undefined : `${JSON.stringify(conditions)} found ${found}, not ${text}`
}

test('conditions of every form find what a direct evaluation finds', async (t) => {
  const filters = fc.sample(filter, { seed, numRuns: 300 })
  const stored = fc
    .sample(values, { seed, numRuns: 120 })
    .map((one) => parseFilterValues(parseFilterValues(one).text).values)
  const objects = new Map<number, JsonObject>()
  let index = new FilterIndex(hashSeed)
  const check = (when: string) => {
    const wrong = filters.map((one) => difference(index, objects, one)).filter((one) => one !== undefined)
    t.strictSame(wrong, [], when)
    t.equal(index.count, objects.size)
    t.equal(index.keys, new Set([...objects.values()].flatMap(Object.keys)).size)
  }
  check('nothing')
  for (const [i, one] of stored.entries()) {
    // Neighbors, and gaps longer than a word.
    const ordinal = i < 60 ? i : i * 7
    index.set(ordinal, one)
    objects.set(ordinal, one)
    if (i === 20) check('one word')
  }
  check('several words')
  for (const [ordinal, one] of [...objects].filter((_, i) => i % 3 === 0)) {
    index.remove(ordinal, one)
    objects.delete(ordinal)
  }
  check('after removals')
  index = await FilterIndex.load(readerOf(sectionBytes(...index.dump('f')), 1 << 16), 'f')
  check('after a dump')
  index.set(5_000, { only: 'here' })
  objects.set(5_000, { only: 'here' })
  check('after another object')
  t.strictSame([...index.evaluate(parseFilter([{ only: { $eq: 'here' } }])).bitmap.toOrdinals()], [5_000])
  index.remove(5_000, { only: 'here', absent: 1 })
  objects.delete(5_000)
  check('after it is gone, with a value that no object has')
})

test('the result of a filter belongs to the caller', async (t) => {
  const index = new FilterIndex(hashSeed)
  for (let i = 0; i < 5; i++) index.set(i, { n: i })
  for (const conditions of [[], [{ $not: { n: { $eq: 9 } } }], [{ n: { $gte: 0 } }]])
    index.evaluate(parseFilter(conditions)).bitmap.clear(2)
  t.equal(index.count, 5)
  t.equal(index.evaluate(parseFilter([])).count, 5)
})

test('values of a key are listed with the number of their objects, also within some of them', async (t) => {
  const index = new FilterIndex(hashSeed)
  const stored = ['a', 'a', 1, 1, 1, true, false, true, null, ['a', 2], { b: 1 }]
  for (const [i, one] of stored.entries()) index.set(i, { k: one })
  index.set(20, { other: 'a' })
  const list = (within?: Bitmap) =>
    [...index.valuesOf('k', within)].map(({ value, count }) => `${value} ${count}`).sort()
  t.strictSame(list(), ['1 3', '2 1', 'a 3', 'false 1', 'true 2'])
  const within = new Bitmap(64)
  for (const ordinal of [0, 3, 5, 20]) within.set(ordinal)
  t.strictSame(list(within), ['1 1', 'a 1', 'true 1'])
  t.strictSame([...index.valuesOf('absent', undefined)], [])
})

test('objects take the memory that was reserved for them, and no more', async (t) => {
  const objects = Array.from({ length: 2_000 }, (_, i) => ({
    text: `value ${i}`.padEnd(200),
    [`key ${i % 50}`]: i,
    flag: i % 2 === 0,
  }))
  const index = new FilterIndex(hashSeed)
  const empty = index.bytes()
  index.reserve(FilterNeeds.from(objects), objects.length)
  const reserved = index.bytes()
  t.ok(reserved > empty + objects.length * 64, `${reserved} bytes`)
  for (const [ordinal, one] of objects.entries()) index.set(ordinal, one)
  t.equal(index.bytes(), reserved)
  const { length } = sectionBytes(...index.dump('f'))
  t.ok(reserved > length / 2 && reserved < length * 20, `a dump has ${length} bytes`)
})

test('a collection has at most 16,384 keys', async (t) => {
  const batch = (from: number, count: number) =>
    FilterNeeds.from([Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${from + i}`, 1]))])
  const index = new FilterIndex(hashSeed)
  for (let i = 0; i < 16_383; i++) index.set(i, { [`k${i}`]: 1 })
  t.throws(() => index.reserve(batch(16_383, 2), 1), {
    code: 'limit_exceeded',
    message: /it has 16383 and these objects add 2/,
  })
  t.doesNotThrow(() => index.reserve(batch(16_000, 384), 1), 'one that is new')
  index.set(20_000, { k16383: 1 })
  t.doesNotThrow(() => index.reserve(batch(0, 100), 1), 'none that is new')
  t.throws(() => index.reserve(batch(16_300, 85), 1), { code: 'limit_exceeded' })
})

test('the first string is found, and both zeros are one number', async (t) => {
  const index = new FilterIndex(hashSeed)
  const stored = ['first', 'second', 0, -0, 1]
  for (const [i, one] of stored.entries()) index.set(i, { k: one })
  const found = (operand: string | number) => [
    ...index.evaluate(parseFilter([{ k: { $eq: operand } }])).bitmap.toOrdinals(),
  ]
  t.strictSame([found('first'), found('second'), found('third')], [[0], [1], []])
  t.strictSame([found(0), found(-0), found(1)], [[2, 3], [2, 3], [4]])
})

test('what a range over many values keeps for the next one is counted', async (t) => {
  const index = new FilterIndex(hashSeed)
  for (let i = 0; i < 4_000; i++) index.set(i, { n: i })
  const before = index.bytes()
  for (let i = 0; i < 2; i++) t.equal(index.evaluate(parseFilter([{ n: { $gte: 1 } }])).count, 3_999)
  t.ok(index.bytes() > before)
})
