// Which ef is chosen from measured curves, and which queries are kept to measure them.
import { test } from 'tap'
import { QuerySample } from '../../src/calibration/query-sample.ts'
import { type CurvePoint, chooseEf, meanOf } from '../../src/calibration/recall-curve.ts'
import { chooseForShare, randomMatches } from '../../src/calibration/shares.ts'

const points = (...values: [ef: number, recall: number, error?: number][]): CurvePoint[] =>
  values.map(([ef, recall, error = 0]) => ({ ef, recall, error }))

test('the smallest ef that reaches the target is chosen', (t) => {
  const curve = points([10, 0.8], [20, 0.9], [40, 0.96], [80, 0.99])
  t.strictSame(chooseEf(curve, 0.5), { ef: 10, expected: 0.8, reached: true })
  const between = chooseEf(curve, 0.93)
  t.ok(between.ef > 20 && between.ef < 40, `ef ${between.ef}`)
  t.ok(between.expected >= 0.9275 && between.expected <= 0.9301, `expected ${between.expected}`)
  t.equal(between.reached, true)
  t.ok(chooseEf(curve, 0.97).ef > chooseEf(curve, 0.961).ef)
  t.end()
})

test('an uncertain measurement needs a larger ef than a certain one', (t) => {
  const certain = points([10, 0.8], [20, 0.9], [40, 0.96], [80, 0.99])
  const uncertain = certain.map((point) => ({ ...point, error: 0.01 }))
  t.ok(chooseEf(uncertain, 0.9).ef > chooseEf(certain, 0.9).ef)
  t.equal(chooseEf(uncertain, 0.989).reached, false, 'its lower bound is below the target')
  t.end()
})

test('a target that no ef reaches gets the cheapest of the best, and is marked', (t) => {
  const curve = points([10, 0.8], [20, 0.92], [40, 0.95], [80, 0.95003], [160, 0.9499])
  t.strictSame(chooseEf(curve, 0.99), { ef: 40, expected: 0.95, reached: false })
  t.end()
})

test('a curve that falls by chance is read as one that stays', (t) => {
  const curve = points([10, 0.9], [20, 0.89], [40, 0.97])
  t.ok(chooseEf(curve, 0.95).ef > 20)
  t.equal(chooseEf(curve, 0.9).ef, 10)
  t.end()
})

test('the error of a mean shrinks with the queries, and is never zero', (t) => {
  const few = meanOf([1, 0.8, 1, 0.6])
  const many = meanOf(Array.from({ length: 100 }, () => [1, 0.8, 1, 0.6]).flat())
  t.ok(Math.abs(few.recall - 0.85) < 1e-12 && Math.abs(many.recall - 0.85) < 1e-12)
  t.ok(many.error < few.error / 8)
  const perfect = meanOf(Array.from({ length: 200 }, () => 1))
  t.equal(perfect.recall, 1)
  t.ok(perfect.error > 0 && perfect.error < 0.003)
  t.end()
})

test('a share between two measured ones gets an ef between theirs', (t) => {
  const curves = [
    { share: 1, points: points([10, 0.9], [20, 1]) },
    { share: 0.48, points: points([30, 1]) },
    { share: 0.1, points: points([120, 1]) },
    { share: 0.01, points: points([60, 1]) },
  ]
  const efAt = (share: number) => chooseForShare(curves, share, 0.9).ef
  t.equal(efAt(1), 10)
  t.equal(efAt(0.7), 30, 'above a half, either kind of walk must reach it')
  t.equal(efAt(0.48), 30)
  t.equal(efAt(0.1), 120)
  t.ok(efAt(0.2) > 30 && efAt(0.2) < 120)
  t.ok(efAt(0.3) < efAt(0.2))
  t.equal(efAt(0.01), 60)
  t.equal(efAt(0.0001), 60)
  t.end()
})

test('random matches are about the share, and the same each time', (t) => {
  const ordinals = Uint32Array.from({ length: 20_000 }, (_, i) => 3 * i)
  for (const share of [0.48, 0.1, 0.01]) {
    const bitmap = randomMatches(ordinals, share)
    t.ok(Math.abs(bitmap.count / ordinals.length - share) < 0.01, `${bitmap.count} of ${share}`)
    t.same(randomMatches(ordinals, share).toOrdinals(), bitmap.toOrdinals())
    t.ok(bitmap.toOrdinals().every((ordinal) => ordinal % 3 === 0))
  }
  t.end()
})

test('a sample of queries is bounded, copied, and follows the traffic', (t) => {
  const sample = new QuerySample(4)
  const query = new Float32Array(4)
  for (let i = 0; i < 1_000; i++) sample.add(query.fill(1))
  query.fill(9)
  t.ok(
    sample.take(1_000).every((kept) => kept[0] === 1),
    'later writes to the query do not change it',
  )
  t.equal(sample.size, 1_000)
  for (let i = 0; i < 20_000; i++) sample.add(query.fill(2))
  t.equal(sample.size, 1_000)
  t.equal(sample.seen, 21_000)
  const old = sample.take(1_000).filter((kept) => kept[0] === 1).length
  t.ok(old < 200, `${old} of 1000 are from before the change`)
  t.equal(sample.take(10).length, 10)
  t.ok(new QuerySample(10_000).take(1).length === 0)
  t.end()
})

test('queries of many components are kept within the memory limit', (t) => {
  const sample = new QuerySample(10_000)
  for (let i = 0; i < 300; i++) sample.add(new Float32Array(10_000).fill(i))
  t.ok(sample.bytes <= 4 * 2 ** 20, `${sample.bytes} bytes`)
  t.ok(sample.size >= 100)
  t.end()
})
