// Keys at the precision of the field: what re-ranking and scans order by, and the similarity they stand for. From
// float32 rows the squared distance (l2) or minus the inner product; from quantised rows the same by the finer code.
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
  precision,
  rotated,
  rowOf,
  rules,
} from '../layout'
import { query, queryCentred, queryCode, queryRest } from '../scratch'
import { sumf, sumi, sums4f } from '../lanes'
import { RELAXED, dot1, queryStep } from './code'
import { halfProduct } from './half'
import { keyOf } from './walk'

let step: f32 = 0
let sum: i32 = 0
let sumRest: i32 = 0
let square: f32 = 0
let toCentre: f32 = 0
let centreSquare: f32 = 0

export function setExactQuery(s: f32, total: i32, totalRest: i32, squared: f32, withCentre: f32, centreSquared: f32): void {
  step = s
  sum = total
  sumRest = totalRest
  square = squared
  toCentre = withCentre
  centreSquare = centreSquared
}

@inline
function fma(a: v128, b: v128, c: v128): v128 {
  return RELAXED ? f32x4.relaxed_madd(a, b, c) : f32x4.add(f32x4.mul(a, b), c)
}

/** Floats of a row, a multiple of four; the padding is zero on both sides. */
function squaredDistance(a: usize, b: usize): f32 {
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  const bytes = ((<usize>dimension << 2) + 15) & ~15
  let i: usize = 0
  for (; i + 48 < bytes; i += 64) {
    const d0 = f32x4.sub(v128.load(a + i), v128.load(b + i))
    const d1 = f32x4.sub(v128.load(a + i, 16), v128.load(b + i, 16))
    const d2 = f32x4.sub(v128.load(a + i, 32), v128.load(b + i, 32))
    const d3 = f32x4.sub(v128.load(a + i, 48), v128.load(b + i, 48))
    s0 = fma(d0, d0, s0)
    s1 = fma(d1, d1, s1)
    s2 = fma(d2, d2, s2)
    s3 = fma(d3, d3, s3)
  }
  for (; i < bytes; i += 16) {
    const d = f32x4.sub(v128.load(a + i), v128.load(b + i))
    s0 = fma(d, d, s0)
  }
  return sumf(f32x4.add(f32x4.add(s0, s1), f32x4.add(s2, s3)))
}

/** Squared distances of four float32 rows, or minus their inner products; four at once hide each other's loads. */
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

/** Keys of `count` ordinals at the field's precision. */
export function exactKeysOf(from: usize, count: i32, out: usize): void {
  let i: i32 = 0
  if (precision == FLOAT32) {
    for (; i + 3 < count; i += 4) {
      const p = from + (<usize>i << 2)
      const four = floatKeys4(
        query,
        coldOf(load<u32>(p)),
        coldOf(load<u32>(p, 4)),
        coldOf(load<u32>(p, 8)),
        coldOf(load<u32>(p, 12)),
      )
      v128.store(out + (<usize>i << 2), four)
    }
  }
  for (; i < count; ++i) store<f32>(out + (<usize>i << 2), exactKey(load<u32>(from + (<usize>i << 2))))
}

function innerProduct(a: usize, b: usize): f32 {
  let s0 = f32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  const bytes = ((<usize>dimension << 2) + 15) & ~15
  let i: usize = 0
  for (; i + 48 < bytes; i += 64) {
    s0 = fma(v128.load(a + i), v128.load(b + i), s0)
    s1 = fma(v128.load(a + i, 16), v128.load(b + i, 16), s1)
    s2 = fma(v128.load(a + i, 32), v128.load(b + i, 32), s2)
    s3 = fma(v128.load(a + i, 48), v128.load(b + i, 48), s3)
  }
  for (; i < bytes; i += 16) s0 = fma(v128.load(a + i), v128.load(b + i), s0)
  return sumf(f32x4.add(f32x4.add(s0, s1), f32x4.add(s2, s3)))
}

@inline
function addDot(q: usize, values: v128, total: v128): v128 {
  if (RELAXED) return i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(q), values, total)
  return i32x4.add(
    total,
    i32x4.add(
      i32x4.dot_i16x8_s(v128.load(q), i16x8.extend_low_i8x16_s(values)),
      i32x4.dot_i16x8_s(v128.load(q, 16), i16x8.extend_high_i8x16_s(values)),
    ),
  )
}

/** Dot of the query code with the 2-bit rests: one byte holds the rests of dimensions i, i+16, i+32, i+48. */
function dotTwoBits(cold: usize): i32 {
  const three = i8x16.splat(3)
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

/** Estimated inner product of the query (centred, but for ip) with the centred row, by the finer code. */
function fineProduct(row: usize, cold: usize): f32 {
  if (precision == BINARY) {
    const key = keyOf(row)
    return metric == IP ? -key : (square + load<f32>(row + codeBytes) - key) * 0.5
  }
  if (precision == FLOAT16) {
    const largest = load<f32>(cold + coldStride - 4)
    return largest * halfProduct(metric == IP ? query : queryCentred, cold, lanes)
  }
  const coarse = <f32>(dot1(queryCode, row, codeBytes) - (sum << 6))
  const low = <f32>(dot1(queryRest, row, codeBytes) - (sumRest << 6)) * <f32>(1.0 / 127.0)
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

/** Key at the field's precision; smaller is better, and minus the key is the similarity. */
export function exactKey(id: u32): f32 {
  const cold = coldOf(id)
  if (precision == FLOAT32) return metric == L2 ? squaredDistance(query, cold) : -innerProduct(query, cold)
  const row = rowOf(id)
  // Not held to what distances can be yet: of many estimates beyond it the farthest are the best. See inRange.
  if (rotated && metric == L2) return keyOf(row)
  const near = fineProduct(row, cold)
  if (metric == L2) return max<f32>(0, square + load<f32>(row + codeBytes) - 2 * near)
  if (metric != COSINE) return -(near + toCentre)
  // By the first rules a zero vector has its own length in `a`.
  const rowSquare: f32 = rules < 2 && load<f32>(normOf(id)) == 0 ? 0 : 1
  return -(near + toCentre + (rowSquare - load<f32>(row + codeBytes) - centreSquare) * 0.5)
}

/** A similarity that the metric can have, for estimates from signs: none is nearer than the same vector. */
export function inRange(similarity: f32): f32 {
  if (!rotated || metric == IP) return similarity
  if (metric == L2) return min<f32>(similarity, 0)
  return max<f32>(-1, min<f32>(similarity, 1))
}
