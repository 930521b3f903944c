// Dot products of a query code (i8, -127 to 127) with row codes (u8, 0 to 127). The results are integers, so all machines and both builds
// compute the same values. The relaxed build reads the query as i8, the plain build as i16. All lengths are multiples of 16.
import { sumi, sums4i } from '../lanes'

/** Whether this is the build with relaxed SIMD; folded at compile time. */
export const RELAXED: bool = ASC_FEATURE_RELAXED_SIMD

/** Bytes of the query form of 16 dimensions. */
@inline
export function queryStep(): usize {
  return RELAXED ? 16 : 32
}

/** Bytes of the query form of a code of `bytes` bytes. */
@inline
export function formBytes(bytes: usize): usize {
  return RELAXED ? bytes : bytes << 1
}

@inline
function step(q0: v128, q1: v128, row: usize, sum: v128): v128 {
  if (RELAXED) return i32x4.relaxed_dot_i8x16_i7x16_add_s(q0, v128.load(row), sum)
  return i32x4.add(
    sum,
    i32x4.add(i32x4.dot_i16x8_s(q0, v128.load_ext<i8>(row)), i32x4.dot_i16x8_s(q1, v128.load_ext<i8>(row, 8))),
  )
}

/** Adds the products of 16 components of a query with 16 values of 0 to 63. Integers, so both builds compute the same. */
@inline
export function addDot(q: usize, values: v128, total: v128): v128 {
  if (RELAXED) return i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(q), values, total)
  return i32x4.add(
    total,
    i32x4.add(
      i32x4.dot_i16x8_s(v128.load(q), i16x8.extend_low_i8x16_u(values)),
      i32x4.dot_i16x8_s(v128.load(q, 16), i16x8.extend_high_i8x16_u(values)),
    ),
  )
}

/** The same for the 16 components after `step` times 16 others, 0 to 7: their address is the query's with a constant. */
@inline
export function addDotAt(q: usize, step: i32, values: v128, total: v128): v128 {
  if (!RELAXED) return addDot(q + <usize>step * queryStep(), values, total)
  return i32x4.relaxed_dot_i8x16_i7x16_add_s(stepAt(q, step), values, total)
}

/** Loads a query step. Offsets of loads must be constants of the source. */
@inline
function stepAt(q: usize, step: i32): v128 {
  if (step == 0) return v128.load(q)
  if (step == 1) return v128.load(q, 16)
  if (step == 2) return v128.load(q, 32)
  if (step == 3) return v128.load(q, 48)
  if (step == 4) return v128.load(q, 64)
  if (step == 5) return v128.load(q, 80)
  if (step == 6) return v128.load(q, 96)
  return v128.load(q, 112)
}

/** Dot products of the query with four rows, as i32x4. Four rows at a time hide the latency of their loads. */
@inline
export function dot4(query: usize, a: usize, b: usize, c: usize, d: usize, bytes: usize): v128 {
  let s0 = i32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let q = query
  let i: usize = 0
  // Unrolled twice in the relaxed build, which halves the address arithmetic.
  if (RELAXED) {
    for (; i + 16 < bytes; i += 32) {
      const q0 = v128.load(q)
      const q1 = v128.load(q, 16)
      const pa = a + i
      const pb = b + i
      const pc = c + i
      const pd = d + i
      s0 = i32x4.relaxed_dot_i8x16_i7x16_add_s(q0, v128.load(pa), s0)
      s1 = i32x4.relaxed_dot_i8x16_i7x16_add_s(q0, v128.load(pb), s1)
      s2 = i32x4.relaxed_dot_i8x16_i7x16_add_s(q0, v128.load(pc), s2)
      s3 = i32x4.relaxed_dot_i8x16_i7x16_add_s(q0, v128.load(pd), s3)
      s0 = i32x4.relaxed_dot_i8x16_i7x16_add_s(q1, v128.load(pa, 16), s0)
      s1 = i32x4.relaxed_dot_i8x16_i7x16_add_s(q1, v128.load(pb, 16), s1)
      s2 = i32x4.relaxed_dot_i8x16_i7x16_add_s(q1, v128.load(pc, 16), s2)
      s3 = i32x4.relaxed_dot_i8x16_i7x16_add_s(q1, v128.load(pd, 16), s3)
      q += 32
    }
  }
  for (; i < bytes; i += 16) {
    const q0 = v128.load(q)
    const q1 = RELAXED ? q0 : v128.load(q, 16)
    s0 = step(q0, q1, a + i, s0)
    s1 = step(q0, q1, b + i, s1)
    s2 = step(q0, q1, c + i, s2)
    s3 = step(q0, q1, d + i, s3)
    q += queryStep()
  }
  return sums4i(s0, s1, s2, s3)
}

/** Dot products of four query forms with one row, as i32x4. */
export function dotForms(a: usize, b: usize, c: usize, d: usize, row: usize, bytes: usize): v128 {
  let s0 = i32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let offset: usize = 0
  for (let i: usize = 0; i < bytes; i += 16) {
    if (RELAXED) {
      const code = v128.load(row + i)
      s0 = i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(a + offset), code, s0)
      s1 = i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(b + offset), code, s1)
      s2 = i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(c + offset), code, s2)
      s3 = i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(d + offset), code, s3)
    } else {
      const low = v128.load_ext<i8>(row + i)
      const high = v128.load_ext<i8>(row + i, 8)
      s0 = stepWide(a + offset, low, high, s0)
      s1 = stepWide(b + offset, low, high, s1)
      s2 = stepWide(c + offset, low, high, s2)
      s3 = stepWide(d + offset, low, high, s3)
    }
    offset += queryStep()
  }
  return sums4i(s0, s1, s2, s3)
}

@inline
function stepWide(form: usize, low: v128, high: v128, sum: v128): v128 {
  return i32x4.add(
    sum,
    i32x4.add(i32x4.dot_i16x8_s(v128.load(form), low), i32x4.dot_i16x8_s(v128.load(form, 16), high)),
  )
}

/** Dot product of the query with one row. */
@inline
export function dot1(query: usize, row: usize, bytes: usize): i32 {
  let sum = i32x4.splat(0)
  let q = query
  for (let i: usize = 0; i < bytes; i += 16) {
    const q0 = v128.load(q)
    const q1 = RELAXED ? q0 : v128.load(q, 16)
    sum = step(q0, q1, row + i, sum)
    q += queryStep()
  }
  return sumi(sum)
}

/** Writes the code of a row minus 64 in query form to `out`. Returns the sum of the values. */
export function toQuery(row: usize, out: usize, bytes: usize): i32 {
  const zero = i8x16.splat(64)
  let sum = i32x4.splat(0)
  for (let i: usize = 0; i < bytes; i += 16) {
    const v = i8x16.sub(v128.load(row + i), zero)
    const low = i16x8.extend_low_i8x16_s(v)
    const high = i16x8.extend_high_i8x16_s(v)
    sum = i32x4.add(sum, i32x4.extadd_pairwise_i16x8_s(i16x8.add(low, high)))
    if (RELAXED) {
      v128.store(out + i, v)
    } else {
      v128.store(out + (i << 1), low)
      v128.store(out + (i << 1), high, 16)
    }
  }
  return sumi(sum)
}

/** Stores eight i16 components of a query at dimension `i`. */
@inline
export function storeQueryValues(out: usize, i: usize, values: v128): void {
  if (RELAXED) v128.store64_lane(out + i, i8x16.narrow_i16x8_s(values, values), 0)
  else v128.store(out + (i << 1), values)
}
