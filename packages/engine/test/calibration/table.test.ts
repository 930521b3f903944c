// The choice of ef from a table of measurements, which other threads make from a copy.
import { test } from 'tap'
import { chooseFrom, findKind } from '../../src/calibration/table.ts'
import type { CalibratedKind, CalibrationTable } from '../../src/model/calibration.ts'

const pointsOf = (recalls: readonly number[]) => recalls.map((recall, i) => ({ ef: 10 * 2 ** i, recall, error: 0.001 }))
const curvesOf = (...recalls: readonly number[]) =>
  [1, 0.48, 0.1, 0.01].map((share) => ({ share, points: pointsOf(recalls) }))
const need = { k: 10, target: 0.95, matches: undefined, rows: 1_000 }

test('the smaller ef of received and made queries is enough', async (t) => {
  const [easy, hard, poor] = [curvesOf(0.96, 0.99, 1), curvesOf(0.8, 0.9, 0.97), curvesOf(0.5, 0.6, 0.7)]
  const ef = (curves: CalibratedKind['curves'], rowCurves?: CalibratedKind['curves']) =>
    chooseFrom({ curves, rowCurves, isTrue: true }, need).ef
  t.equal(ef(easy), 10)
  t.ok(ef(hard) > 20)
  t.equal(ef(easy, hard), 10)
  t.equal(ef(hard, easy), 10)
  t.equal(ef(poor, hard), ef(hard), 'one that reaches the target')
  t.equal(ef(hard, poor), ef(hard))
  t.match(chooseFrom({ curves: poor, rowCurves: poor, isTrue: true }, need), { reachable: false, expected: 0.7 })
})

test('a copy of a table leads to the same choices', async (t) => {
  const kinds = [10, 100].map((limit) => ({
    ...{ fieldIndex: 2, limit, rescore: limit > 10, isTrue: true },
    curves: curvesOf(0.7, 0.9, 0.99 - limit / 1_000),
    rowCurves: curvesOf(0.6, 0.94, 0.98),
  }))
  const table: CalibrationTable = { form: 1, generation: 3, kinds }
  const copy = structuredClone(table)
  t.strictSame(JSON.parse(JSON.stringify(table)), copy)
  for (const [k, rescore, limit] of [
    [1, false, undefined],
    [7, false, 10],
    [10, false, 10],
    [11, false, undefined],
    [60, true, 100],
    [60, false, undefined],
  ] as const) {
    const kind = findKind(copy, { fieldIndex: 2, k, rescore })
    t.equal(kind?.limit, limit)
    for (const matches of [undefined, 0, 3, 200, 700, 1_000])
      for (const target of [0.5, 0.95, 0.999])
        t.strictSame(
          chooseFrom(kind, { k, target, matches, rows: 1_000 }),
          chooseFrom(findKind(table, { fieldIndex: 2, k, rescore }), { k, target, matches, rows: 1_000 }),
        )
  }
  t.equal(findKind(copy, { fieldIndex: 1, k: 10, rescore: false }), undefined)
  t.equal(findKind(undefined, { fieldIndex: 2, k: 10, rescore: false }), undefined)
  t.strictSame(chooseFrom(undefined, need), { target: 0.95, ef: 97, calibrated: false })
})

test('an untrue measurement has a larger ef', async (t) => {
  const kind = { curves: curvesOf(0.8, 0.9, 0.97), isTrue: false }
  const [old, current] = [chooseFrom(kind, need), chooseFrom({ ...kind, isTrue: true }, need)]
  t.equal(old.ef, Math.ceil(current.ef * 1.25))
  t.match([old.calibrated, current.calibrated], [false, true])
})
