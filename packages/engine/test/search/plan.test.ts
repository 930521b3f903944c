import { test } from 'tap'
import { type PlanInput, planDense } from '../../src/search/plan.ts'

const input: PlanInput = {
  rows: 60_000,
  matches: 5_000,
  ef: 128,
  boostPercentage: 0,
  prefilterThreshold: undefined,
  exact: false,
}
const planOf = (changes: Partial<PlanInput>) => planDense({ ...input, ...changes }).kind

test('a given threshold is applied regardless of costs', async (t) => {
  for (const matches of [1, 999, 1_000, 1_001, 9_999, 50_000])
    for (const prefilterThreshold of [1_000, 10_000, 1_000_000])
      t.equal(planOf({ matches, prefilterThreshold }), matches <= prefilterThreshold ? 'scan' : 'walk')
})

test('without a threshold the cheaper plan is used', async (t) => {
  t.equal(planOf({ matches: 0 }), 'nothing')
  t.equal(planOf({ rows: 0, matches: undefined }), 'nothing')
  t.equal(planOf({ matches: undefined }), 'walk')
  t.equal(planOf({ matches: undefined, exact: true }), 'scan')
  t.equal(planOf({ matches: 100 }), 'compare')
  t.equal(planOf({ matches: 9_000 }), 'walk')
  t.equal(planOf({ matches: 11_000, rows: 1_000_000 }), 'compare', 'where one row in ninety matches')
  t.equal(planOf({ matches: 10_000, rows: 100_000 }), 'walk', 'where one in ten does')
  t.equal(planOf({ matches: 20_000, rows: 1_000_000 }), 'walk', 'where one in fifty does')
  t.equal(planOf({ matches: 20_000, rows: 8_000_000 }), 'compare', 'where one in 400 does, a walk passes over too many')
  t.equal(planOf({ matches: 9_000, ef: 1_024 }), 'compare', 'a wide pool makes walks dear')
})

test('without a filter a small field is compared and a large one is walked, and the limit grows with ef', async (t) => {
  for (const [ef, compared, walked] of [
    [16, 1_500, 1_600],
    [128, 5_183, 6_000],
    [512, 12_000, 13_000],
  ] as const) {
    t.equal(planOf({ matches: undefined, rows: compared, ef }), 'compare', `${compared} rows at ef ${ef}`)
    t.equal(planOf({ matches: undefined, rows: walked, ef }), 'walk', `${walked} rows at ef ${ef}`)
  }
  const { reason, costs } = planDense({ ...input, matches: undefined, rows: 5_000 })
  t.match(reason, /there is no filter, and comparing all 5,000 rows/)
  t.ok((costs?.scan ?? 0) <= 2 * (costs?.walk ?? 0))
})

test('an explanation has both costs', async (t) => {
  const { costs, reason } = planDense({ ...input, matches: 6_000 })
  t.ok((costs?.walk ?? 0) < (costs?.scan ?? 0))
  t.match(reason, /6,000 match, and a walk is cheaper/)
})

test('the boost widens the pool of a filtered walk by its percentage', async (t) => {
  t.equal(planDense({ ...input, matches: 20_000, boostPercentage: 50 }).ef, 192)
  t.equal(
    planDense({ ...input, matches: undefined, boostPercentage: 50 }).ef,
    128,
    'without a filter nothing is boosted',
  )
})

test('at equal costs the matches are compared, because this never ends in the wrong place', async (t) => {
  // 0.45 times 5,400 rows is exactly twice the cost of a walk at this ef.
  const ties = Array.from({ length: 1_024 }, (_, ef) => ({ ef, rows: (2 * Math.round(66 * ef ** 0.6)) / 0.45 }))
  const tie = ties.find(
    ({ ef, rows }) => ef > 0 && Number.isInteger(rows) && rows * 0.45 === 2 * Math.round(66 * ef ** 0.6),
  )
  t.ok(tie !== undefined)
  if (tie !== undefined) t.equal(planOf({ matches: undefined, ...tie }), 'compare')
  // A walk through a field whose rows all match costs 1.25 x 7.1 x ef x 1.335 comparisons.
  const matches = Array.from({ length: 60_000 }, (_, i) => i + 1)
  const even = matches.find((count) => {
    const { costs } = planDense({ ...input, matches: count, rows: count, ef: 300 })
    return costs !== undefined && costs.scan === costs.walk
  })
  t.ok(even !== undefined)
  t.equal(planOf({ matches: even, rows: even as number, ef: 300 }), 'compare')
})

test('costs are counted in comparisons of a walk, by the measured constants', async (t) => {
  t.strictSame(planDense({ ...input, matches: 6_000 }).costs, { scan: 2_400, walk: 1_874 })
  t.strictSame(planDense({ ...input, matches: 60_000 }).costs, { scan: 24_000, walk: 1_517 })
  t.strictSame(planDense({ ...input, matches: undefined, rows: 5_000 }).costs, { scan: 2_250, walk: 1_213 })
})

test('at equal costs a comparison of few matches among many rows is preferred, too', async (t) => {
  const searched = { ...input, matches: 2_000, ef: 16 }
  const even = Array.from({ length: 2_000 }, (_, i) => 247_000 + i).find((rows) => {
    const { costs } = planDense({ ...searched, rows })
    return costs !== undefined && costs.scan === costs.walk
  })
  t.ok(even !== undefined)
  const { kind, reason } = planDense({ ...searched, rows: even as number })
  t.equal(kind, 'compare')
  t.match(reason, /cheaper than a walk/)
  t.equal(planDense({ ...searched, rows: 240_000 }).kind, 'walk')
})
