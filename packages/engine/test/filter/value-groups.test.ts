import { test } from 'tap'
import type { Bounds } from '../../src/filter/condition.ts'
import { FilterIndex } from '../../src/filter/filter-index.ts'
import { parseFilter } from '../../src/filter/parse-filter.ts'
import { ValueGroups } from '../../src/filter/value-groups.ts'
import { hashSeed, randomOf, seedOf } from '../memory/rig.ts'

const all: Bounds = { low: Number.NEGATIVE_INFINITY, high: Number.POSITIVE_INFINITY, lowOpen: false, highOpen: false }

/** Ordinal n has value n. */
function groupsOf(count: number): ValueGroups {
  const groups = new ValueGroups(Math.ceil(count / 32), count)
  for (let value = 0; value < count; value++) groups.next(value, 1)[value >>> 5]! |= 1 << (value & 31)
  return groups
}

function collected(groups: ValueGroups, bounds: Partial<Bounds>): { ordinals: number[]; rest: readonly Bounds[] } {
  const into = new Int32Array(64)
  const rest = groups.collect({ ...all, ...bounds }, into)
  const ordinals = Array.from({ length: 64 * 32 }, (_, index) => index).filter(
    (ordinal) => (into[ordinal >>> 5]! >>> (ordinal & 31)) & 1,
  )
  return { ordinals, rest }
}

test('groups within the bounds are collected whole, and the remaining bounds are returned', (t) => {
  const groups = groupsOf(160)
  t.equal(collected(groups, {}).ordinals.length, 160)
  t.same(collected(groups, {}).rest, [])
  const middle = collected(groups, { low: 15, high: 47 })
  t.same(
    middle.ordinals,
    Array.from({ length: 20 }, (_, index) => 20 + index),
    'ten values make a group',
  )
  t.same(middle.rest, [
    { low: 15, high: 20, lowOpen: false, highOpen: true },
    { low: 40, high: 47, lowOpen: false, highOpen: false },
  ])
  t.equal(collected(groups, { low: 20, high: 40 }).ordinals.length, 20, 'a group begins at its lowest value')
  t.equal(
    collected(groups, { low: 20, lowOpen: true, high: 40 }).ordinals.length,
    10,
    'an open bound excludes its group',
  )
  const within = { ...all, low: 21, high: 29 }
  t.same(collected(groups, within), { ordinals: [], rest: [within] }, 'none is within')
  t.end()
})

test('values are added and removed until there are too many or an ordinal is too high', (t) => {
  const groups = groupsOf(160)
  groups.remove(25, 25)
  t.ok(groups.add(-5, 25))
  t.same(collected(groups, { low: 20, high: 30 }).ordinals, [20, 21, 22, 23, 24, 26, 27, 28, 29])
  t.ok(collected(groups, { high: 10 }).ordinals.includes(25))
  t.notOk(groups.add(1, 160), 'the ordinal is too high')
  const busy = groupsOf(160)
  t.ok(Array.from({ length: 80 }, (_, index) => busy.add(index, index)).every(Boolean))
  t.notOk(busy.add(1, 1), 'the limit of additions')
  t.end()
})

test('ranges over many values find the same before and after changes of objects', (t) => {
  const random = randomOf(seedOf('groups'))
  const index = new FilterIndex(hashSeed)
  const values = new Map<number, number[]>()
  const set = (ordinal: number) => {
    const n = Array.from({ length: 1 + Math.floor(random() * 2) }, () => Math.floor(random() * 500))
    index.set(ordinal, { n })
    values.set(ordinal, n)
  }
  const check = (low: number, high: number) => {
    const { bitmap } = index.evaluate(parseFilter([{ n: { $range: [low, high] } }]))
    const wanted = [...values].filter(([, n]) => n.some((one) => one >= low && one <= high)).map(([ordinal]) => ordinal)
    t.same(
      [...bitmap.toOrdinals()],
      wanted.sort((a, b) => a - b),
    )
  }
  for (let ordinal = 0; ordinal < 4_000; ordinal++) set(ordinal)
  const before = index.bytes()
  check(100, 399)
  t.ok(index.bytes() > before, 'the values were put in groups')
  for (let round = 0; round < 3; round++) {
    for (let ordinal = round; ordinal < 4_000; ordinal += 7) {
      index.remove(ordinal, { n: values.get(ordinal) ?? [] })
      values.delete(ordinal)
      if (ordinal % 2 === 0) set(ordinal)
    }
    check(0, 499)
    check(37, 411)
    check(250, 499)
  }
  for (let ordinal = 4_000; ordinal < 8_000; ordinal++) set(ordinal)
  t.ok(index.bytes() > 0)
  check(37, 411)
  check(37, 411)
  t.end()
})
