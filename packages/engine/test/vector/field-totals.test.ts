import { test } from 'tap'
import { startTotals, storeTotals, totalsAsOf } from '../../src/vector/sparse/field-totals.ts'
import {
  boundCounts,
  countMax,
  countOf,
  isPackedCount,
  lengthMax,
  lengthOf,
  packCount,
} from '../../src/vector/sparse/packed-counts.ts'

test('totals are readable as of the newest version and the one before it', async (t) => {
  const words = new Uint32Array(new SharedArrayBuffer(1_024))
  t.same(totalsAsOf(words, 0), { rows: 0, length: 0 })
  storeTotals(words, 3, { rows: 1, length: 2 ** 32 + 5 })
  t.same(totalsAsOf(words, 2), { rows: 0, length: 0 })
  t.same(totalsAsOf(words, 3), { rows: 1, length: 2 ** 32 + 5 })
  storeTotals(words, 3, { rows: 2, length: 7 * 2 ** 32 + 1 })
  storeTotals(words, 9, { rows: 1, length: 2 ** 31 })
  t.same(totalsAsOf(words, 8), { rows: 2, length: 7 * 2 ** 32 + 1 })
  t.same(totalsAsOf(words, 9), { rows: 1, length: 2 ** 31 })
  t.equal(totalsAsOf(words, 2), undefined, 'a version too old')
  t.throws(() => storeTotals(words, 8, { rows: 0, length: 0 }), /in order/)
  startTotals(words, 0, { rows: 4, length: 2 ** 45 })
  t.same(totalsAsOf(words, 0), { rows: 4, length: 2 ** 45 })
  storeTotals(words, 12, { rows: 5, length: 6 })
  t.same(totalsAsOf(words, 11), { rows: 4, length: 2 ** 45 })
})

test('a weight has every count and length that it can, and is a positive number that bounds are computed of', async (t) => {
  for (const count of [1, 2, 7, 8, 9, 1_000, countMax - 1, countMax]) {
    for (const length of [1, 2, 1_000, 2 ** 19, lengthMax]) {
      const weight = packCount(count, length)
      t.same([countOf(weight), lengthOf(weight), isPackedCount(weight)], [count, length, true], `${count} of ${length}`)
    }
  }
  t.equal(countOf(packCount(countMax + 1, 5)), countMax)
  t.equal(countOf(packCount(2 ** 31, 5)), countMax)
  for (const weight of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 2 ** -149 * 1_000])
    t.notOk(isPackedCount(weight), `${weight}`)
  for (const [count, length] of [
    [0, 1],
    [1, 0],
    [1, lengthMax + 1],
  ] as const)
    t.throws(() => packCount(count, length))
  const weights = Float32Array.of(packCount(3, 90), packCount(9, 200), packCount(1, 7))
  t.equal(boundCounts(weights, 0), packCount(9, 7))
  t.equal(boundCounts(weights, packCount(2, 5)), packCount(9, 5))
  t.equal(boundCounts(new Float32Array(0), 0), 0)
  t.equal(boundCounts(new Float32Array(0), packCount(1, lengthMax)), packCount(1, lengthMax))
})
