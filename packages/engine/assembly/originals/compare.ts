// Compares a query with a row of a file of original vectors (docs/formats/originals.md), and verifies the checksum of the row in the same pass:
// its multiplications wait for each other, and leave room for the arithmetic of the comparison. Both are in memory that belongs to one thread.
// Sums are those of `similarityOf` in src/search/max-sim.ts, bit for bit: eight at a time in double precision, components beyond a multiple
// of eight in a ninth.
import { COSINE, L2 } from '../layout'
import { PRIME1, PRIME2, finish, round, sumOfLanes, sumOfNone } from './hash'

/** Two floats as doubles. */
@inline
function two(p: usize): v128 {
  return f64x2.promote_low_f32x4(v128.load64_zero(p))
}

@inline
function sum(a: v128, b: v128, c: v128, d: v128, rest: f64): f64 {
  const s = f64x2.add(f64x2.add(a, b), f64x2.add(c, d))
  return f64x2.extract_lane(s, 0) + f64x2.extract_lane(s, 1) + rest
}

@inline
function addProduct(total: v128, x: v128, y: v128): v128 {
  return f64x2.add(total, f64x2.mul(x, y))
}

/**
 * The similarity of the query, `dimension` floats, with the vector of a row: the sum of the row before, the vector, and its sum. `head` is the
 * sum of the header of the file. NaN if the sum is wrong: similarities of stored vectors are finite.
 */
export function compareOriginal(query: usize, row: usize, dimension: i32, metric: i32, head: u64): f64 {
  const seed = load<u64>(row) + head
  const vector = row + 8
  const bytes = <usize>dimension << 2
  let p = vector
  let q = query
  let a = seed + PRIME1 + PRIME2
  let b = seed + PRIME2
  let c = seed
  let d = seed - PRIME1
  // Products, or squares of differences, and for cosine the squares of the vector.
  let s0 = f64x2.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let t0 = s0
  let t1 = s0
  let t2 = s0
  let t3 = s0
  const end = vector + (bytes & ~31)
  for (; p < end; p += 32) {
    a = round(a, load<u64>(p))
    b = round(b, load<u64>(p, 8))
    c = round(c, load<u64>(p, 16))
    d = round(d, load<u64>(p, 24))
    const x0 = two(p)
    const x1 = two(p + 8)
    const x2 = two(p + 16)
    const x3 = two(p + 24)
    if (metric == L2) {
      const d0 = f64x2.sub(two(q), x0)
      const d1 = f64x2.sub(two(q + 8), x1)
      const d2 = f64x2.sub(two(q + 16), x2)
      const d3 = f64x2.sub(two(q + 24), x3)
      s0 = addProduct(s0, d0, d0)
      s1 = addProduct(s1, d1, d1)
      s2 = addProduct(s2, d2, d2)
      s3 = addProduct(s3, d3, d3)
    } else {
      s0 = addProduct(s0, two(q), x0)
      s1 = addProduct(s1, two(q + 8), x1)
      s2 = addProduct(s2, two(q + 16), x2)
      s3 = addProduct(s3, two(q + 24), x3)
      if (metric == COSINE) {
        t0 = addProduct(t0, x0, x0)
        t1 = addProduct(t1, x1, x1)
        t2 = addProduct(t2, x2, x2)
        t3 = addProduct(t3, x3, x3)
      }
    }
    q += 32
  }
  const stripes = bytes < 32 ? sumOfNone(seed) : sumOfLanes(a, b, c, d)
  if (finish(stripes, bytes, end) != load<u64>(vector + bytes)) return NaN
  let rest: f64 = 0
  let square: f64 = 0
  for (; p < vector + bytes; p += 4) {
    const x = <f64>load<f32>(p)
    const y = <f64>load<f32>(q)
    rest += metric == L2 ? (y - x) * (y - x) : y * x
    square += x * x
    q += 4
  }
  const total = sum(s0, s1, s2, s3, rest)
  if (metric != COSINE) return metric == L2 ? -total : total
  const squares = sum(t0, t1, t2, t3, square)
  return squares == 0 ? 0 : total / sqrt(squares)
}
