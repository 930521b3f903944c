// Encodes queries in the forms that the distance functions read.
import {
  BINARY,
  IP,
  L2,
  INT8,
  INT16,
  center,
  codeBytes,
  dimension,
  lanes,
  metric,
  packing,
  precision,
  rotated,
} from './layout'
import { query, queryCentered, queryCode, queryResidual } from './scratch'
import { sumf, sumi, variable } from './lanes'
import { dotf, maxAbs, rotateCentered, rotatedLength, subtractCenter } from './centered'
import { BITS_HALF, storePlanes } from './distance/bits'
import { storeQueryValues } from './distance/code'
import { storeSignValues } from './distance/sign-dots'
import { setQuery } from './distance/walk'
import { setExactQuery } from './distance/exact'
import { prepareBound } from './heads/head'

/**
 * Makes the vector in the query buffer the query of walks and of exact keys: writes its code to `queryCode`, the rounding residual to
 * `queryResidual`, and sets the constants of both key formulas.
 */
export function prepareQuery(): void {
  if (rotated) {
    prepareRotated()
    return
  }
  const source = metric == IP ? query : queryCentered
  const square = metric == IP ? measureQuery() : centerQuery()
  const absMax = maxAbs(source, lanes)
  const largestValue: f32 = precision == BINARY ? <f32>BITS_HALF : 127
  const step: f32 = absMax / largestValue
  const inverse: f32 = absMax > 0 ? largestValue / absMax : 0
  let sum: i32 = 0
  let sumResidual: i32 = 0
  if (precision == BINARY) {
    memory.fill(queryCode, 0, codeBytes << 2)
    for (let i: i32 = 0; i < dimension; ++i) {
      const value = <i32>nearest(load<f32>(source + (<usize>i << 2)) * inverse)
      sum += value
      storePlanes(queryCode, i, value)
    }
  } else {
    const scale = f32x4.splat(inverse)
    const steps = f32x4.convert_i32x4_s(i32x4.splat(variable(127)))
    // Only int8 and int16 rows use the rounding residual of the query.
    const refined = precision == INT8 || precision == INT16
    let sums = i32x4.splat(0)
    let sumsResidual = sums
    for (let i: usize = 0; i < codeBytes; i += 8) {
      const p = source + (i << 2)
      const a = f32x4.mul(v128.load(p), scale)
      const b = f32x4.mul(v128.load(p, 16), scale)
      const values = round8(a, b)
      sums = i32x4.add(sums, i32x4.extadd_pairwise_i16x8_s(values))
      storeQueryValues(queryCode, i, values)
      if (!refined) continue
      const residuals = round8(roundingResidual(a, steps), roundingResidual(b, steps))
      sumsResidual = i32x4.add(sumsResidual, i32x4.extadd_pairwise_i16x8_s(residuals))
      storeQueryValues(queryResidual, i, residuals)
    }
    sum = sumi(sums)
    sumResidual = sumi(sumsResidual)
  }
  setQuery(queryCode, sum, metric == IP ? 0 : square, metric == IP ? 0 : 1, metric == IP ? step : 2 * step)
  setExactQuery(step, sum, sumResidual, square, dotCenter, centerSquare)
  preparedSum = sum
  preparedStep = step
  preparedSquare = square
}

/** The query code that `prepareQuery` wrote: the sum of its values, their step, and the square of the query. */
let preparedSum: i32 = 0
let preparedStep: f32 = 0
let preparedSquare: f32 = 0

/** Prepares the bound of heads for the query of `prepareQuery` and a walk that keeps `ef` rows. */
export function prepareQueryBound(ef: i32): void {
  if (metric == IP) subtractCenter(query, queryCentered)
  prepareBound(queryCode, preparedSum, preparedStep, preparedSquare, ef)
}

/**
 * Like `prepareQuery` for rotated codes. The query minus the center is compared for inner products, too: the product of the center with
 * each row is known exactly from `a`.
 */
function prepareRotated(): void {
  const square = centerQuery()
  rotateCentered()
  const absMax = maxAbs(queryCentered, rotatedLength())
  const step: f32 = absMax / 127
  const scale = f32x4.splat(absMax > 0 ? 127 / absMax : 0)
  let sums = i32x4.splat(0)
  for (let i: usize = 0; i < <usize>rotatedLength(); i += 16) {
    const source = queryCentered + (i << 2)
    const low = round8(f32x4.mul(v128.load(source), scale), f32x4.mul(v128.load(source, 16), scale))
    const high = round8(f32x4.mul(v128.load(source, 32), scale), f32x4.mul(v128.load(source, 48), scale))
    sums = i32x4.add(sums, i32x4.extadd_pairwise_i16x8_s(i16x8.add(low, high)))
    if (packing != 0) {
      storeQueryValues(queryCode, i, low)
      storeQueryValues(queryCode, i + 8, high)
    } else {
      storeSignValues(queryCode, i, i8x16.narrow_i16x8_s(low, high))
    }
  }
  const sum = sumi(sums)
  setQuery(queryCode, sum, metric == IP ? 0 : square, 1, metric == IP ? step : 2 * step)
  setExactQuery(step, sum, 0, square, dotCenter, centerSquare)
}

/** Set by `centerQuery` and `measureQuery`: the product of the query with the center, and the square of the center; 0 for l2. */
let dotCenter: f32 = 0
let centerSquare: f32 = 0

/**
 * Writes the query minus the center to `queryCentered`, and returns its square. The sums are those of `dotf`: each addition waits for the one
 * before, so three sums take the time of one.
 */
function centerQuery(): f32 {
  let square = f32x4.splat(0)
  let along = square
  let own = square
  for (let i: usize = 0; i < <usize>lanes << 2; i += 16) {
    const x = v128.load(query + i)
    const c = v128.load(center + i)
    const v = f32x4.sub(x, c)
    v128.store(queryCentered + i, v)
    square = f32x4.add(square, f32x4.mul(v, v))
    along = f32x4.add(along, f32x4.mul(x, c))
    own = f32x4.add(own, f32x4.mul(c, c))
  }
  dotCenter = metric == L2 ? 0 : sumf(along)
  centerSquare = metric == L2 ? 0 : sumf(own)
  return sumf(square)
}

/** Returns the square of the query. */
function measureQuery(): f32 {
  dotCenter = dotf(query, center)
  centerSquare = dotf(center, center)
  return dotf(query, query)
}

@inline
function round8(a: v128, b: v128): v128 {
  return i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(f32x4.nearest(a)), i32x4.trunc_sat_f32x4_s(f32x4.nearest(b)))
}

/** What rounding removes, in steps of 1/127. `steps` are 127 each. */
@inline
function roundingResidual(values: v128, steps: v128): v128 {
  return f32x4.mul(f32x4.sub(values, f32x4.nearest(values)), steps)
}
