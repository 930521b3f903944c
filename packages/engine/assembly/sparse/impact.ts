// What a posting of a text adds to a score. Its weight has the count of the term and the length of the text in its bits
// (src/vector/sparse/packed-counts.ts): | 0 u1 | count u11 | length u20 |. The host computes everything that does not depend on the posting:
//
//   weight * count / (count + (base + slope * length))

export const COUNT_SHIFT: u32 = 20
export const LENGTH_MASK: u32 = (1 << 20) - 1

@inline
function ratioOf(bits: u32, base: f64, slope: f64): f64 {
  const count = <f64>(bits >> COUNT_SHIFT)
  return count / (count + (base + slope * <f64>(bits & LENGTH_MASK)))
}

@inline
export function impactOf(bits: u32, weight: f64, base: f64, slope: f64): i64 {
  return <i64>(weight * ratioOf(bits, base, slope))
}

/** The ratios of the first two of four postings. */
@inline
function ratiosOf(bits: v128, bases: v128, slopes: v128): v128 {
  const counts = f64x2.convert_low_i32x4_u(i32x4.shr_u(bits, COUNT_SHIFT))
  const lengths = f64x2.convert_low_i32x4_u(v128.and(bits, i32x4.splat(LENGTH_MASK)))
  return f64x2.div(counts, f64x2.add(counts, f64x2.add(bases, f64x2.mul(slopes, lengths))))
}

/** More than `impactOf` of any posting whose count is not larger and whose length is not smaller, although quotients are rounded. */
@inline
export function impactBound(bits: u32, weight: f64, base: f64, slope: f64): i64 {
  if (bits == 0) return 0
  return <i64>(weight * ratioOf(bits, base, slope) * 1.000000000001) + 1
}

/** Stores the impacts, i64 each, of `count` postings; may write one more. Equal to `impactOf` in every bit. */
export function storeImpacts(postings: usize, count: u32, weight: f64, base: f64, slope: f64, sums: usize): void {
  const weights = f64x2.splat(weight)
  const bases = f64x2.splat(base)
  const slopes = f64x2.splat(slope)
  for (let i: u32 = 0; i < count; i += 2) {
    // The host allocates blocks of an even number of words.
    const bits = v128.load64_zero(postings + (<usize>i << 2))
    const impacts = f64x2.mul(weights, ratiosOf(bits, bases, slopes))
    store<i64>(sums + (<usize>i << 3), <i64>f64x2.extract_lane(impacts, 0))
    store<i64>(sums + (<usize>i << 3), <i64>f64x2.extract_lane(impacts, 1), 8)
  }
}
