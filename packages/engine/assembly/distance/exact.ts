// Keys at the precision of the field, which re-ranking and scans order by. Smaller is nearer, and the negative key is the similarity.
// float32: the squared distance (l2) or the negative inner product (ip, cosine) of the vectors. float16: the same with the rounded row, by its
// distance except for inner products. Other rows: an estimate from the refined code.
import {
  BINARY,
  COSINE,
  FLOAT16,
  FLOAT32,
  IP,
  INT8,
  INT16,
  L2,
  codeBytes,
  coldOf,
  coldStride,
  dimension,
  lanes,
  metric,
  normOf,
  packing,
  precision,
  rotated,
  rowOf,
  rules,
} from '../layout'
import { query, queryCentered, queryCode, queryResidual } from '../scratch'
import { sumi, sums4f, sums4i, variable } from '../lanes'
import { RELAXED, addDot, dot1, dot4, queryStep } from './code'
import { halfDistance, halfProduct } from './half'
import { keyOf } from './walk'

let step: f32 = 0
let sum: i32 = 0
let sumResidual: i32 = 0
let square: f32 = 0
let dotCenter: f32 = 0
let centerSquare: f32 = 0

/**
 * Sets the query of exact keys: the step of its code, the sums of its code and residual, its squared length, its inner product with the
 * center, and the squared length of the center.
 */
export function setExactQuery(newStep: f32, newSum: i32, newSumResidual: i32, newSquare: f32, newDotCenter: f32, newCenterSquare: f32): void {
  step = newStep
  sum = newSum
  sumResidual = newSumResidual
  square = newSquare
  dotCenter = newDotCenter
  centerSquare = newCenterSquare
}

@inline
function fma(a: v128, b: v128, c: v128): v128 {
  return RELAXED ? f32x4.relaxed_madd(a, b, c) : f32x4.add(f32x4.mul(a, b), c)
}

/**
 * Keys of four float32 rows: squared distances (l2) or negative inner products. The length is rounded up to four floats; the padding is zero in
 * all rows. Four rows at a time hide the latency of their loads. Every key is computed in this order, because another order of the sums would
 * round differently: equal rows would have different keys.
 */
function floatKeys4(q: usize, a: usize, b: usize, c: usize, d: usize): v128 {
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  const bytes = ((<usize>dimension << 2) + 15) & ~15
  if (metric == L2) {
    for (let i: usize = 0; i < bytes; i += 16) {
      const x = v128.load(q + i)
      const d0 = f32x4.sub(x, v128.load(a + i))
      const d1 = f32x4.sub(x, v128.load(b + i))
      const d2 = f32x4.sub(x, v128.load(c + i))
      const d3 = f32x4.sub(x, v128.load(d + i))
      s0 = fma(d0, d0, s0)
      s1 = fma(d1, d1, s1)
      s2 = fma(d2, d2, s2)
      s3 = fma(d3, d3, s3)
    }
    return sums4f(s0, s1, s2, s3)
  }
  for (let i: usize = 0; i < bytes; i += 16) {
    const x = v128.load(q + i)
    s0 = fma(x, v128.load(a + i), s0)
    s1 = fma(x, v128.load(b + i), s1)
    s2 = fma(x, v128.load(c + i), s2)
    s3 = fma(x, v128.load(d + i), s3)
  }
  return f32x4.neg(sums4f(s0, s1, s2, s3))
}

/**
 * Writes the keys of eight float32 rows, whose ordinals are at `from`, to `out`. Every key has the sum of `floatKeys4`. Each addition waits for
 * the one before, so eight sums take little longer than four.
 */
function storeFloatKeys8(q: usize, from: usize, out: usize): void {
  const a = coldOf(load<u32>(from))
  const b = coldOf(load<u32>(from, 4))
  const c = coldOf(load<u32>(from, 8))
  const d = coldOf(load<u32>(from, 12))
  const e = coldOf(load<u32>(from, 16))
  const f = coldOf(load<u32>(from, 20))
  const g = coldOf(load<u32>(from, 24))
  const h = coldOf(load<u32>(from, 28))
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let s4 = s0
  let s5 = s0
  let s6 = s0
  let s7 = s0
  const bytes = ((<usize>dimension << 2) + 15) & ~15
  if (metric == L2) {
    for (let i: usize = 0; i < bytes; i += 16) {
      const x = v128.load(q + i)
      s0 = addSquares(x, a + i, s0)
      s1 = addSquares(x, b + i, s1)
      s2 = addSquares(x, c + i, s2)
      s3 = addSquares(x, d + i, s3)
      s4 = addSquares(x, e + i, s4)
      s5 = addSquares(x, f + i, s5)
      s6 = addSquares(x, g + i, s6)
      s7 = addSquares(x, h + i, s7)
    }
    v128.store(out, sums4f(s0, s1, s2, s3))
    v128.store(out, sums4f(s4, s5, s6, s7), 16)
    return
  }
  for (let i: usize = 0; i < bytes; i += 16) {
    const x = v128.load(q + i)
    s0 = fma(x, v128.load(a + i), s0)
    s1 = fma(x, v128.load(b + i), s1)
    s2 = fma(x, v128.load(c + i), s2)
    s3 = fma(x, v128.load(d + i), s3)
    s4 = fma(x, v128.load(e + i), s4)
    s5 = fma(x, v128.load(f + i), s5)
    s6 = fma(x, v128.load(g + i), s6)
    s7 = fma(x, v128.load(h + i), s7)
  }
  v128.store(out, f32x4.neg(sums4f(s0, s1, s2, s3)))
  v128.store(out, f32x4.neg(sums4f(s4, s5, s6, s7)), 16)
}

@inline
function addSquares(x: v128, row: usize, sum: v128): v128 {
  const difference = f32x4.sub(x, v128.load(row))
  return fma(difference, difference, sum)
}

/** Prevents the compiler from removing loads that only prefetch. */
let sink: u32 = 0

/** Prefetches the cold parts of the `count` ordinals at `from`, as far as the hardware prefetcher misses them. */
export function touchCold(from: usize, count: i32): void {
  if (coldStride == 0) return
  const second = min<usize>(64, coldStride - 4)
  let touched: u32 = 0
  for (let i: i32 = 0; i < count; ++i) {
    const cold = coldOf(load<u32>(from + (<usize>i << 2)))
    touched ^= load<u32>(cold) ^ load<u32>(cold + second) ^ load<u32>(cold + coldStride - 4)
  }
  sink = touched
}

/** Writes the exact keys of four rows of int8 or int16 to `out`, the same values as those of `exactKey`. */
function storeRefinedKeys4(from: usize, out: usize): void {
  const a = load<u32>(from)
  const b = load<u32>(from, 4)
  const c = load<u32>(from, 8)
  const d = load<u32>(from, 12)
  const ra = rowOf(a)
  const rb = rowOf(b)
  const rc = rowOf(c)
  const rd = rowOf(d)
  const ca = coldOf(a)
  const cb = coldOf(b)
  const cc = coldOf(c)
  const cd = coldOf(d)
  const steps = f32x4.splat(<f32>(1.0 / 127.0))
  const coarse = valuesOf(dot4(queryCode, ra, rb, rc, rd, codeBytes), sum)
  const low = f32x4.mul(valuesOf(dot4(queryResidual, ra, rb, rc, rd, codeBytes), sumResidual), steps)
  let fine: v128
  if (precision == INT8) {
    const all = dotTwoBits4(ca, cb, cc, cd)
    fine = f32x4.mul(f32x4.sub(f32x4.convert_i32x4_s(all), f32x4.splat(<f32>1.5 * <f32>sum)), f32x4.splat(0.25))
  } else {
    const all = dot4(queryCode, ca, cb, cc, cd, codeBytes)
    fine = f32x4.mul(f32x4.sub(f32x4.convert_i32x4_s(all), f32x4.splat(<f32>63.5 * <f32>sum)), steps)
  }
  const products = f32x4.add(f32x4.add(coarse, low), fine)
  store<f32>(out, refinedKey(a, ra, ca, f32x4.extract_lane(products, 0)))
  store<f32>(out, refinedKey(b, rb, cb, f32x4.extract_lane(products, 1)), 4)
  store<f32>(out, refinedKey(c, rc, cc, f32x4.extract_lane(products, 2)), 8)
  store<f32>(out, refinedKey(d, rd, cd, f32x4.extract_lane(products, 3)), 12)
}

/** Products with the values of codes from products with what is stored, which is 64 more. */
@inline
function valuesOf(dots: v128, querySum: i32): v128 {
  return f32x4.convert_i32x4_s(i32x4.sub(dots, i32x4.splat(querySum << 6)))
}

@inline
function refinedKey(id: u32, row: usize, cold: usize, dot: f32): f32 {
  const product = step * load<f32>(cold + coldStride - 4) * dot
  if (metric == L2) return max<f32>(0, square + load<f32>(row + codeBytes) - 2 * product)
  return keyFromProduct(id, row, product)
}

/**
 * Writes the exact keys of the `count` ordinals at `from` to `out`, f32 each. `out` is written up to a multiple of four.
 */
export function exactKeysOf(from: usize, count: i32, out: usize): void {
  if (precision == FLOAT32) {
    const last = from + (<usize>count << 2) - 4
    for (let p = from; p <= last; p += 16) {
      const b = coldOf(load<u32>(min(p + 4, last)))
      const c = coldOf(load<u32>(min(p + 8, last)))
      const d = coldOf(load<u32>(min(p + 12, last)))
      v128.store(out + (p - from), floatKeys4(query, coldOf(load<u32>(p)), b, c, d))
    }
    return
  }
  let i: i32 = 0
  if (precision == INT8 || precision == INT16)
    for (; i + 3 < count; i += 4) storeRefinedKeys4(from + (<usize>i << 2), out + (<usize>i << 2))
  for (; i < count; ++i) store<f32>(out + (<usize>i << 2), exactKey(load<u32>(from + (<usize>i << 2))))
}

/** The same for a scan, which compares many rows: as far as possible eight at a time. */
export function exactKeysOfScan(from: usize, count: i32, out: usize): void {
  let i: i32 = 0
  if (precision == FLOAT32)
    for (; i + 7 < count; i += 8) storeFloatKeys8(query, from + (<usize>i << 2), out + (<usize>i << 2))
  if (i < count) exactKeysOf(from + (<usize>i << 2), count - i, out + (<usize>i << 2))
}

/** Dot product of the query code with the residuals of 2 bits. One byte holds the residuals of the dimensions i, i+16, i+32, and i+48. */
function dotTwoBits(cold: usize): i32 {
  const three = i8x16.splat(<i8>variable(3))
  let total = i32x4.splat(0)
  let q = queryCode
  const end = queryCode + (codeBytes >> 4) * queryStep()
  let p = cold
  while (q < end) {
    const packed = v128.load(p)
    total = addDot(q, v128.and(packed, three), total)
    q += queryStep()
    if (q < end) {
      total = addDot(q, v128.and(i8x16.shr_u(packed, 2), three), total)
      q += queryStep()
    }
    if (q < end) {
      total = addDot(q, v128.and(i8x16.shr_u(packed, 4), three), total)
      q += queryStep()
    }
    if (q < end) {
      total = addDot(q, i8x16.shr_u(packed, 6), total)
      q += queryStep()
    }
    p += 16
  }
  return sumi(total)
}

/** The same for the residuals of four rows, as i32x4. */
function dotTwoBits4(a: usize, b: usize, c: usize, d: usize): v128 {
  const three = i8x16.splat(<i8>variable(3))
  let s0 = i32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let q = queryCode
  const end = queryCode + (codeBytes >> 4) * queryStep()
  for (let i: usize = 0; q < end; i += 16) {
    let x0 = v128.load(a + i)
    let x1 = v128.load(b + i)
    let x2 = v128.load(c + i)
    let x3 = v128.load(d + i)
    const stop = min(end, q + 4 * queryStep())
    for (; q < stop; q += queryStep()) {
      s0 = addDot(q, v128.and(x0, three), s0)
      s1 = addDot(q, v128.and(x1, three), s1)
      s2 = addDot(q, v128.and(x2, three), s2)
      s3 = addDot(q, v128.and(x3, three), s3)
      x0 = i8x16.shr_u(x0, 2)
      x1 = i8x16.shr_u(x1, 2)
      x2 = i8x16.shr_u(x2, 2)
      x3 = i8x16.shr_u(x3, 2)
    }
  }
  return sums4i(s0, s1, s2, s3)
}

/** Estimated inner product of the query (minus the center, except for ip) with the row minus the center, from the refined code. */
function fineProduct(row: usize, cold: usize): f32 {
  if (precision == BINARY || packing != 0) return productFromKey(row, keyOf(row))
  if (precision == FLOAT16) {
    const absMax = load<f32>(cold + coldStride - 4)
    return absMax * halfProduct(metric == IP ? query : queryCentered, cold, lanes)
  }
  const coarse = <f32>(dot1(queryCode, row, codeBytes) - (sum << 6))
  const low = <f32>(dot1(queryResidual, row, codeBytes) - (sumResidual << 6)) * <f32>(1.0 / 127.0)
  let fine: f32 = 0
  let factor = load<f32>(row + codeBytes, 4)
  if (precision == INT8) {
    fine = (<f32>dotTwoBits(cold) - 1.5 * <f32>sum) * 0.25
    factor = load<f32>(cold + coldStride - 4)
  } else if (precision == INT16) {
    fine = (<f32>dot1(queryCode, cold, codeBytes) - 63.5 * <f32>sum) * <f32>(1.0 / 127.0)
    factor = load<f32>(cold + coldStride - 4)
  }
  return step * factor * (coarse + low + fine)
}

/** The inner product of `fineProduct` from the key of a walk. */
@inline
function productFromKey(row: usize, key: f32): f32 {
  return metric == IP ? -key : (square + load<f32>(row + codeBytes) - key) * 0.5
}

/** The exact key of the row `id` where that is an estimate: from its key of a walk, without comparing the row again. */
export function exactKeyFrom(key: f32, id: u32): f32 {
  if (metric == L2) return key
  const row = rowOf(id)
  return keyFromProduct(id, row, productFromKey(row, key))
}

/** Whether the key of a float16 row is computed from its distance to the query: not for inner products, nor for zero vectors. */
@inline
function hasHalfDistance(id: u32): bool {
  return metric == L2 || (metric == COSINE && load<f32>(normOf(id)) != 0)
}

/**
 * Exact key of a float16 row from its distance to the query. The rounding of the row hardly changes the distance of a query that is near it,
 * but changes the product by as much as if the query were the center.
 */
function halfKey(cold: usize): f32 {
  const distance = halfDistance(queryCentered, cold, load<f32>(cold + coldStride - 4), lanes)
  return metric == L2 ? distance : -(dotCenter + (square - distance + 1 - centerSquare) * 0.5)
}

/** Exact key of the row `id` for the query that `prepareQuery` set. Smaller is nearer. */
export function exactKey(id: u32): f32 {
  const cold = coldOf(id)
  if (precision == FLOAT32) return f32x4.extract_lane(floatKeys4(query, cold, cold, cold, cold), 0)
  const row = rowOf(id)
  // The estimate is not clamped to valid distances, because the order of clamped estimates would be lost.
  if (rotated && metric == L2) return keyOf(row)
  if (precision == FLOAT16 && hasHalfDistance(id)) return halfKey(cold)
  const product = fineProduct(row, cold)
  if (metric == L2) return max<f32>(0, square + load<f32>(row + codeBytes) - 2 * product)
  return keyFromProduct(id, row, product)
}

@inline
function keyFromProduct(id: u32, row: usize, product: f32): f32 {
  if (metric != COSINE) return -(product + dotCenter)
  // In rules 1, `a` of a zero vector is its own squared length.
  const rowSquare: f32 = rules < 2 && load<f32>(normOf(id)) == 0 ? 0 : 1
  return -(product + dotCenter + (rowSquare - load<f32>(row + codeBytes) - centerSquare) * 0.5)
}

/**
 * Converts an exact key to the scale of walk keys, which are squared distances for cosine, |x - y|^2 = 2 - 2 cos = 2 + 2 key, and leave out the
 * product of the query with the center for inner products.
 */
@inline
export function toWalkKey(key: f32): f32 {
  return metric == COSINE ? 2 + 2 * key : metric == IP ? key + dotCenter : key
}
