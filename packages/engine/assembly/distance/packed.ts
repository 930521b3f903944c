// Dot products with packed codes: 2 or 4 bits per component of a rotated vector (rotate.ts). A code c of b bits stands for the odd number
// v = 2c - TOP, with TOP = 2^b - 1. So 16 bytes hold 32 or 64 components: the lowest bits of the bytes are the first 16, the next bits the
// next 16, and so on. A query has the form of code.ts, with one value for each component in order: -127 to 127 for a vector, v for a row.
// The functions return the sum of q c; `productFrom` makes it the sum of q v. All sums are integers, so both builds compute the same bits.
import { codeBytes, packing } from '../layout'
import { sumi, sums4i } from '../lanes'
import { RELAXED, addDot, queryStep } from './code'

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

@inline
function addNibbles(q: usize, packed: v128, mask: v128, total: v128): v128 {
  const first = addDot(q, v128.and(packed, mask), total)
  return addDot(q + queryStep(), v128.and(i16x8.shr_u(packed, 4), mask), first)
}

@inline
function addCrumbs(q: usize, packed: v128, mask: v128, total: v128): v128 {
  const step = queryStep()
  const first = addDot(q, v128.and(packed, mask), total)
  const second = addDot(q + step, v128.and(i16x8.shr_u(packed, 2), mask), first)
  const third = addDot(q + 2 * step, v128.and(i16x8.shr_u(packed, 4), mask), second)
  return addDot(q + 3 * step, v128.and(i16x8.shr_u(packed, 6), mask), third)
}

/** Sums of q c for four rows, as i32x4. Four rows at a time hide the latency of their loads. */
export function packedDots4(query: usize, a: usize, b: usize, c: usize, d: usize, bytes: usize): v128 {
  let s0 = i32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let q = query
  if (packing == 4) {
    const mask = i8x16.splat(15)
    for (let i: usize = 0; i < bytes; i += 16) {
      s0 = addNibbles(q, v128.load(a + i), mask, s0)
      s1 = addNibbles(q, v128.load(b + i), mask, s1)
      s2 = addNibbles(q, v128.load(c + i), mask, s2)
      s3 = addNibbles(q, v128.load(d + i), mask, s3)
      q += 2 * queryStep()
    }
  } else {
    const mask = i8x16.splat(3)
    for (let i: usize = 0; i < bytes; i += 16) {
      s0 = addCrumbs(q, v128.load(a + i), mask, s0)
      s1 = addCrumbs(q, v128.load(b + i), mask, s1)
      s2 = addCrumbs(q, v128.load(c + i), mask, s2)
      s3 = addCrumbs(q, v128.load(d + i), mask, s3)
      q += 4 * queryStep()
    }
  }
  return sums4i(s0, s1, s2, s3)
}

/** Sum of q c for one row. */
export function packedDot(query: usize, row: usize, bytes: usize): i32 {
  let sum = i32x4.splat(0)
  let q = query
  if (packing == 4) {
    const mask = i8x16.splat(15)
    for (let i: usize = 0; i < bytes; i += 16) {
      sum = addNibbles(q, v128.load(row + i), mask, sum)
      q += 2 * queryStep()
    }
  } else {
    const mask = i8x16.splat(3)
    for (let i: usize = 0; i < bytes; i += 16) {
      sum = addCrumbs(q, v128.load(row + i), mask, sum)
      q += 4 * queryStep()
    }
  }
  return sumi(sum)
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
