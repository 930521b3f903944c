// Dot products with packed codes: 2 or 4 bits per component of a rotated vector (rotate.ts). A code c of b bits stands for the odd number
// v = 2c - TOP, with TOP = 2^b - 1. So 16 bytes hold 32 or 64 components: the lowest bits of the bytes are the first 16, the next bits the
// next 16, and so on. A query has the form of code.ts, with one value for each component in order: -127 to 127 for a vector, v for a row.
// The functions return the sum of q c; `productFrom` makes it the sum of q v. All sums are integers, so both builds compute the same bits.
import { codeBytes, packing } from '../layout'
import { sumi, sums4i } from '../lanes'
import { RELAXED, addDot, addDotAt, queryStep } from './code'

/** Number of components of a packed code: 16 to each query step. */
@inline
export function packedLength(): i32 {
  return <i32>((codeBytes << 3) / <usize>packing)
}

/** The largest value of a row's code, TOP above. */
@inline
export function topOf(): i32 {
  return (1 << packing) - 1
}

/** The offset that `productFrom` subtracts, for a query whose values add up to `sum`. */
@inline
export function offsetFrom(sum: i32): i32 {
  return topOf() * sum
}

/** Four sums of q v from four sums of q c. */
@inline
export function productsFrom(sums: v128, offsets: v128): v128 {
  return i32x4.sub(i32x4.shl(sums, 1), offsets)
}

@inline
export function productFrom(sum: i32, offset: i32): i32 {
  return 2 * sum - offset
}

/** The bits of the first component of each byte. Computed, so it stays in a register (see `variable`). */
@inline
function lowest(): v128 {
  return i8x16.splat(<i8>topOf())
}

/** The sums of pairs of lanes: two of `a`, two of `b`. */
@inline
function pairSums(a: v128, b: v128): v128 {
  return i32x4.add(v128.shuffle<i32>(a, b, 0, 2, 4, 6), v128.shuffle<i32>(a, b, 1, 3, 5, 7))
}

/** Sums of q c for two rows of four bits, two lanes each. */
function nibbles2(query: usize, a: usize, b: usize, bytes: usize): v128 {
  const mask = lowest()
  let a0 = i32x4.splat(0)
  let a1 = a0
  let b0 = a0
  let b1 = a0
  let q = query
  const end = a + bytes
  for (; a < end; a += 16) {
    const x = v128.load(a)
    const y = v128.load(b)
    a0 = addDotAt(q, 0, v128.and(x, mask), a0)
    b0 = addDotAt(q, 0, v128.and(y, mask), b0)
    a1 = addDotAt(q, 1, v128.and(i16x8.shr_u(x, 4), mask), a1)
    b1 = addDotAt(q, 1, v128.and(i16x8.shr_u(y, 4), mask), b1)
    b += 16
    q += 2 * queryStep()
  }
  return pairSums(i32x4.add(a0, a1), i32x4.add(b0, b1))
}

/** Sums of q c for two rows of two bits, two lanes each. */
function crumbs2(query: usize, a: usize, b: usize, bytes: usize): v128 {
  const first = lowest()
  const second = i16x8.shl(first, 2)
  const third = i16x8.shl(first, 4)
  let a0 = i32x4.splat(0)
  let a1 = a0
  let a2 = a0
  let a3 = a0
  let b0 = a0
  let b1 = a0
  let b2 = a0
  let b3 = a0
  let q = query
  const end = a + bytes
  for (; a < end; a += 16) {
    const x = v128.load(a)
    const y = v128.load(b)
    a0 = addDotAt(q, 0, v128.and(x, first), a0)
    b0 = addDotAt(q, 0, v128.and(y, first), b0)
    a1 = addDotAt(q, 1, v128.and(x, second), a1)
    b1 = addDotAt(q, 1, v128.and(y, second), b1)
    a2 = addDotAt(q, 2, v128.and(x, third), a2)
    b2 = addDotAt(q, 2, v128.and(y, third), b2)
    a3 = addDotAt(q, 3, v128.and(i16x8.shr_u(x, 2), third), a3)
    b3 = addDotAt(q, 3, v128.and(i16x8.shr_u(y, 2), third), b3)
    b += 16
    q += 4 * queryStep()
  }
  const sa = i32x4.add(i32x4.add(a0, i32x4.shr_s(a1, 2)), i32x4.shr_s(i32x4.add(a2, a3), 4))
  const sb = i32x4.add(i32x4.add(b0, i32x4.shr_s(b1, 2)), i32x4.shr_s(i32x4.add(b2, b3), 4))
  return pairSums(sa, sb)
}

/** Sums of q c for four rows, as i32x4. */
export function packedDots4(query: usize, a: usize, b: usize, c: usize, d: usize, bytes: usize): v128 {
  if (packing == 4) return pairSums(nibbles2(query, a, b, bytes), nibbles2(query, c, d, bytes))
  return pairSums(crumbs2(query, a, b, bytes), crumbs2(query, c, d, bytes))
}

/** Sum of q c for one row. */
export function packedDot(query: usize, row: usize, bytes: usize): i32 {
  const sums = packing == 4 ? nibbles2(query, row, row, bytes) : crumbs2(query, row, row, bytes)
  return i32x4.extract_lane(sums, 0) + i32x4.extract_lane(sums, 1)
}

/** Sums of q c for four queries and one row, as i32x4. */
export function packedForms(a: usize, b: usize, c: usize, d: usize, row: usize, bytes: usize): v128 {
  let s0 = i32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  const mask = i8x16.splat(<i8>topOf())
  let offset: usize = 0
  for (let i: usize = 0; i < bytes; i += 16) {
    let packed = v128.load(row + i)
    for (let shift: i32 = 0; shift < 8; shift += packing) {
      const values = v128.and(packed, mask)
      s0 = addDot(a + offset, values, s0)
      s1 = addDot(b + offset, values, s1)
      s2 = addDot(c + offset, values, s2)
      s3 = addDot(d + offset, values, s3)
      packed = i16x8.shr_u(packed, packing)
      offset += queryStep()
    }
  }
  return sums4i(s0, s1, s2, s3)
}

/** Writes the values of a row in the form of a query. Returns their sum. */
export function unpackRow(row: usize, out: usize, bytes: usize): i32 {
  const mask = i8x16.splat(<i8>topOf())
  let sum = i32x4.splat(0)
  let to = out
  for (let i: usize = 0; i < bytes; i += 16) {
    let packed = v128.load(row + i)
    for (let shift: i32 = 0; shift < 8; shift += packing) {
      const codes = v128.and(packed, mask)
      const values = i8x16.sub(i8x16.add(codes, codes), mask)
      const low = i16x8.extend_low_i8x16_s(values)
      const high = i16x8.extend_high_i8x16_s(values)
      sum = i32x4.add(sum, i32x4.extadd_pairwise_i16x8_s(i16x8.add(low, high)))
      if (RELAXED) {
        v128.store(to, values)
      } else {
        v128.store(to, low)
        v128.store(to, high, 16)
      }
      packed = i16x8.shr_u(packed, packing)
      to += queryStep()
    }
  }
  return sumi(sum)
}

/** The value v of component `i` of a row. */
export function packedValue(row: usize, i: i32): i32 {
  const perByte = 8 / packing
  const block = <usize>(i / (16 * perByte)) << 4
  const shift = ((i >> 4) % perByte) * packing
  return 2 * ((<i32>load<u8>(row + block + <usize>(i & 15)) >> shift) & topOf()) - topOf()
}
