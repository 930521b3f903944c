// Compares a query with a row of a file of original vectors (docs/formats/originals.md), after verifying the checksum of the row. Both are in
// memory that belongs to one thread. Sums are those of `similarityOf` in src/search/max-sim.ts, bit for bit: eight at a time in double
// precision, components beyond a multiple of eight in a ninth.
import { COSINE, L2 } from '../layout'
import { xxh64 } from './hash'

/** Four doubles at a time of `p`: components 0 and 1 of the four floats. */
@inline
function low(p: usize): v128 {
  return f64x2.promote_low_f32x4(v128.load64_zero(p))
}

@inline
function sum(a: v128, b: v128, c: v128, d: v128, rest: f64): f64 {
  const s = f64x2.add(f64x2.add(a, b), f64x2.add(c, d))
  return f64x2.extract_lane(s, 0) + f64x2.extract_lane(s, 1) + rest
}

/** The sum of q x, or the square of the distance. */
function productOf(query: usize, vector: usize, dimension: i32): f64 {
  let a = f64x2.splat(0)
  let b = a
  let c = a
  let d = a
  const end = vector + (<usize>(dimension & ~7) << 2)
  let q = query
  let p = vector
  for (; p < end; p += 32) {
    a = f64x2.add(a, f64x2.mul(low(q), low(p)))
    b = f64x2.add(b, f64x2.mul(low(q + 8), low(p + 8)))
    c = f64x2.add(c, f64x2.mul(low(q + 16), low(p + 16)))
    d = f64x2.add(d, f64x2.mul(low(q + 24), low(p + 24)))
    q += 32
  }
  let rest: f64 = 0
  const stop = vector + (<usize>dimension << 2)
  for (; p < stop; p += 4) {
    rest += <f64>load<f32>(q) * <f64>load<f32>(p)
    q += 4
  }
  return sum(a, b, c, d, rest)
}

function squareOfDistance(query: usize, vector: usize, dimension: i32): f64 {
  let a = f64x2.splat(0)
  let b = a
  let c = a
  let d = a
  const end = vector + (<usize>(dimension & ~7) << 2)
  let q = query
  let p = vector
  for (; p < end; p += 32) {
    const x = f64x2.sub(low(q), low(p))
    const y = f64x2.sub(low(q + 8), low(p + 8))
    const z = f64x2.sub(low(q + 16), low(p + 16))
    const w = f64x2.sub(low(q + 24), low(p + 24))
    a = f64x2.add(a, f64x2.mul(x, x))
    b = f64x2.add(b, f64x2.mul(y, y))
    c = f64x2.add(c, f64x2.mul(z, z))
    d = f64x2.add(d, f64x2.mul(w, w))
    q += 32
  }
  let rest: f64 = 0
  const stop = vector + (<usize>dimension << 2)
  for (; p < stop; p += 4) {
    const x = <f64>load<f32>(q) - <f64>load<f32>(p)
    rest += x * x
    q += 4
  }
  return sum(a, b, c, d, rest)
}

/** The inner product of the query with the vector divided by its length, in one pass; 0 for a vector of zeros. */
function cosineOf(query: usize, vector: usize, dimension: i32): f64 {
  let a = f64x2.splat(0)
  let b = a
  let c = a
  let d = a
  let aa = a
  let bb = a
  let cc = a
  let dd = a
  const end = vector + (<usize>(dimension & ~7) << 2)
  let q = query
  let p = vector
  for (; p < end; p += 32) {
    const x = low(p)
    const y = low(p + 8)
    const z = low(p + 16)
    const w = low(p + 24)
    a = f64x2.add(a, f64x2.mul(low(q), x))
    b = f64x2.add(b, f64x2.mul(low(q + 8), y))
    c = f64x2.add(c, f64x2.mul(low(q + 16), z))
    d = f64x2.add(d, f64x2.mul(low(q + 24), w))
    aa = f64x2.add(aa, f64x2.mul(x, x))
    bb = f64x2.add(bb, f64x2.mul(y, y))
    cc = f64x2.add(cc, f64x2.mul(z, z))
    dd = f64x2.add(dd, f64x2.mul(w, w))
    q += 32
  }
  let rest: f64 = 0
  let square: f64 = 0
  const stop = vector + (<usize>dimension << 2)
  for (; p < stop; p += 4) {
    const x = <f64>load<f32>(p)
    rest += <f64>load<f32>(q) * x
    square += x * x
    q += 4
  }
  const squares = sum(aa, bb, cc, dd, square)
  return squares == 0 ? 0 : sum(a, b, c, d, rest) / sqrt(squares)
}

/**
 * The similarity of the query, `dimension` floats, with the vector of a row: the sum of the row before, the vector, and its sum. `head` is the
 * sum of the header of the file. NaN if the sum is wrong: similarities of stored vectors are finite.
 */
export function compareOriginal(query: usize, row: usize, dimension: i32, metric: i32, head: u64): f64 {
  const vector = row + 8
  const bytes = <usize>dimension << 2
  if (xxh64(vector, bytes, load<u64>(row) + head) != load<u64>(vector + bytes)) return NaN
  if (metric == COSINE) return cosineOf(query, vector, dimension)
  return metric == L2 ? -squareOfDistance(query, vector, dimension) : productOf(query, vector, dimension)
}
