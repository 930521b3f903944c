// From float32 to what an arena keeps, and from a query to the forms the distances need. Rows are encoded by strict
// operations in a fixed order: the same vector gives the same bytes on every machine.
import {
  ALIVE,
  BINARY,
  COSINE,
  IP,
  L2,
  FLOAT16,
  FLOAT32,
  INT8,
  INT16,
  centre,
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
} from './layout'
import { query, queryCentred, queryCode, queryRest } from './scratch'
import { sumf, sumi } from './lanes'
import { BITS_HALF, storePlanes, storePlanes16 } from './distance/bits'
import { storeQueryValues } from './distance/code'
import { fromHalf, toHalf } from './distance/half'
import { setQuery } from './distance/walk'
import { setExactQuery } from './distance/exact'
import { rotate, rotateBack } from './rotate'

/** The largest code value either side of zero, so that value + 64 fits seven bits. */
const HALF: f32 = 63

/** Writes query minus centre and returns its largest absolute value. */
function centred(from: usize, out: usize): f32 {
  let most = f32x4.splat(0)
  for (let i: usize = 0; i < <usize>lanes << 2; i += 16) {
    const v = f32x4.sub(v128.load(from + i), v128.load(centre + i))
    v128.store(out + i, v)
    most = f32x4.max(most, f32x4.abs(v))
  }
  return max(
    max(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1)),
    max(f32x4.extract_lane(most, 2), f32x4.extract_lane(most, 3)),
  )
}

/** Largest absolute value of so many floats. */
function largest(from: usize, count: i32): f32 {
  let most = f32x4.splat(0)
  for (let i: usize = 0; i < <usize>count << 2; i += 16) most = f32x4.max(most, f32x4.abs(v128.load(from + i)))
  return max(
    max(f32x4.extract_lane(most, 0), f32x4.extract_lane(most, 1)),
    max(f32x4.extract_lane(most, 2), f32x4.extract_lane(most, 3)),
  )
}

/** Inner product of two padded vectors. */
function dotf(a: usize, b: usize): f32 {
  let s = f32x4.splat(0)
  for (let i: usize = 0; i < <usize>lanes << 2; i += 16) s = f32x4.add(s, f32x4.mul(v128.load(a + i), v128.load(b + i)))
  return sumf(s)
}

@inline
function rounded(at: usize, inverse: v128): v128 {
  return f32x4.nearest(f32x4.mul(v128.load(at), inverse))
}

/** Encodes the vector in the query buffer as the row of `id`. Does not make it visible: birth and death come last. */
export function encodeRow(id: u32, birth: u32, norm: f32): void {
  const row = rowOf(id)
  const most = centred(query, queryCentred)
  const inverse = f32x4.splat(most > 0 ? HALF / most : 0)
  const square = dotf(queryCentred, queryCentred)
  const a = metric == IP ? -dotf(centre, queryCentred) : square + beyondZero()
  const along = rotated ? encodeSigns(row) : precision == BINARY ? encodeBits(row) : encodeCode(row, inverse)
  const tail = row + codeBytes
  store<f32>(tail, a)
  store<f32>(tail, along > 0 ? square / along : 0, 4)
  store<f32>(normOf(id), norm)
  if (precision == FLOAT32) memory.copy(coldOf(id), query, <usize>dimension << 2)
  else if (precision == INT8) encodeRest(id, row, inverse, square, 4, 3)
  else if (precision == INT16) encodeRest(id, row, inverse, square, 127, 127)
  else if (precision == FLOAT16) encodeHalves(coldOf(id), most)
  // A reader that knows the ordinal from before sees the row hidden until both words are new: the old death is at or
  // before its version, and so is the new birth after it.
  atomic.store<u32>(tail, birth, 8)
  atomic.store<u32>(tail, ALIVE, 12)
}

/**
 * A zero vector is as similar to all others by cosine as one at a right angle to them, so a walk meets it as far away as that and not
 * in their midst, where it would be everybody's nearest.
 */
function beyondZero(): f32 {
  return rules >= 2 && metric == COSINE && dotf(query, query) == 0 ? 1 : 0
}

/** Seven bits a dimension; returns the inner product of the vector with its code. */
function encodeCode(row: usize, inverse: v128): f32 {
  const half = i8x16.splat(64)
  let along = f32x4.splat(0)
  for (let i: usize = 0; i < codeBytes; i += 16) {
    const at = queryCentred + (i << 2)
    const a = rounded(at, inverse)
    const b = rounded(at + 16, inverse)
    const c = rounded(at + 32, inverse)
    const d = rounded(at + 48, inverse)
    const low = i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(a), i32x4.trunc_sat_f32x4_s(b))
    const high = i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(c), i32x4.trunc_sat_f32x4_s(d))
    v128.store(row + i, i8x16.add(i8x16.narrow_i16x8_s(low, high), half))
    const ab = f32x4.add(f32x4.mul(v128.load(at), a), f32x4.mul(v128.load(at, 16), b))
    const cd = f32x4.add(f32x4.mul(v128.load(at, 32), c), f32x4.mul(v128.load(at, 48), d))
    along = f32x4.add(along, f32x4.add(ab, cd))
  }
  return sumf(along)
}

/** One bit a dimension, set where the value is above the centre; returns the inner product of the vector with its signs. */
function encodeBits(row: usize): f32 {
  memory.fill(row, 0, codeBytes)
  let along: f32 = 0
  for (let i: i32 = 0; i < dimension; ++i) {
    const x = load<f32>(queryCentred + (<usize>i << 2))
    along += abs(x)
    const p = row + <usize>(i >> 3)
    store<u8>(p, load<u8>(p) | <u8>(<i32>(x > 0) << (i & 7)))
  }
  return along
}

/** Places of a rotated vector: as many as its code has bits. */
@inline
function places(): i32 {
  return <i32>codeBytes << 3
}

/** Rotates the centred vector in its place. */
function rotateCentred(): void {
  memory.fill(queryCentred + (<usize>lanes << 2), 0, <usize>(places() - lanes) << 2)
  rotate(queryCentred, places())
}

/** The signs of the rotated vector; returns its inner product with them. */
function encodeSigns(row: usize): f32 {
  rotateCentred()
  const zero = f32x4.splat(0)
  let along = zero
  for (let i: usize = 0; i < codeBytes; ++i) {
    const low = v128.load(queryCentred + (i << 5))
    const high = v128.load(queryCentred + (i << 5), 16)
    along = f32x4.add(f32x4.add(along, f32x4.abs(low)), f32x4.abs(high))
    store<u8>(row + i, <u8>(i32x4.bitmask(f32x4.gt(low, zero)) | (i32x4.bitmask(f32x4.gt(high, zero)) << 4)))
  }
  return sumf(along)
}

/** Halves of the vector divided by its largest value, then that value. */
function encodeHalves(cold: usize, most: f32): void {
  const scale: f32 = most > 0 ? 1 / most : 0
  for (let i: i32 = 0; i < lanes; ++i)
    store<u16>(cold + (<usize>i << 1), <u16>toHalf(load<f32>(queryCentred + (<usize>i << 2)) * scale))
  store<f32>(cold + coldStride - 4, most)
}

/**
 * What the code left over, in `steps` steps: 2 bits a dimension (int8) or 7 (int16), then the factor of the finer value.
 * Two bits are packed so that one byte holds dimensions 16 apart: see restOf in distance/exact.
 */
function encodeRest(id: u32, row: usize, inverse: v128, square: f32, steps: f32, most: i32): void {
  const cold = coldOf(id)
  const packed = precision == INT8
  if (packed) memory.fill(cold, 0, coldStride)
  let along: f32 = 0
  for (let i: usize = 0; i < codeBytes; i += 16) {
    const low = i16x8.sub(v128.load_ext<u8>(row + i), i16x8.splat(64))
    const high = i16x8.sub(v128.load_ext<u8>(row + i, 8), i16x8.splat(64))
    const at = queryCentred + (i << 2)
    const a = restsOf(at, i32x4.extend_low_i16x8_s(low), inverse, steps, most)
    along = added(along, products)
    const b = restsOf(at + 16, i32x4.extend_high_i16x8_s(low), inverse, steps, most)
    along = added(along, products)
    const c = restsOf(at + 32, i32x4.extend_low_i16x8_s(high), inverse, steps, most)
    along = added(along, products)
    const d = restsOf(at + 48, i32x4.extend_high_i16x8_s(high), inverse, steps, most)
    along = added(along, products)
    const rests = i8x16.narrow_i16x8_u(i16x8.narrow_i32x4_s(a, b), i16x8.narrow_i32x4_s(c, d))
    if (packed) {
      const p = cold + ((i >> 6) << 4)
      v128.store(p, v128.or(v128.load(p), i8x16.shl(rests, <i32>((i >> 4) & 3) << 1)))
    } else {
      v128.store(cold + i, rests)
    }
  }
  store<f32>(cold + coldStride - 4, along > 0 ? square / along : 0)
}

/** Of the dimensions whose rests were computed last: value times what code and rest stand for together. */
let products: v128 = i64x2.splat(0)

@inline
function restsOf(at: usize, codes: v128, inverse: v128, steps: f32, most: i32): v128 {
  const x = v128.load(at)
  const value = f32x4.convert_i32x4_s(codes)
  const scaled = f32x4.add(f32x4.sub(f32x4.mul(x, inverse), value), f32x4.splat(0.5))
  const left = f32x4.mul(scaled, f32x4.splat(steps))
  const whole = i32x4.trunc_sat_f32x4_s(precision == INT8 ? f32x4.floor(left) : f32x4.nearest(left))
  const rest = i32x4.min_s(i32x4.max_s(whole, i32x4.splat(0)), i32x4.splat(most))
  const finer = f32x4.sub(f32x4.convert_i32x4_s(rest), f32x4.splat(<f32>most / 2))
  products = f32x4.mul(x, f32x4.add(value, f32x4.div(finer, f32x4.splat(steps))))
  return rest
}

/** In the order of the dimensions: a sum taken otherwise would be another. */
@inline
function added(sum: f32, four: v128): f32 {
  const two = sum + f32x4.extract_lane(four, 0) + f32x4.extract_lane(four, 1)
  return two + f32x4.extract_lane(four, 2) + f32x4.extract_lane(four, 3)
}

@inline
function nearest8(a: v128, b: v128): v128 {
  return i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(f32x4.nearest(a)), i32x4.trunc_sat_f32x4_s(f32x4.nearest(b)))
}
/** What rounding leaves over, in steps of a 127th. */
@inline
function restOf(values: v128): v128 {
  return f32x4.mul(f32x4.sub(values, f32x4.nearest(values)), f32x4.splat(127))
}

/** Makes the vector in the query buffer the query of walks and of exact keys. */
export function prepareQuery(): void {
  if (rotated) {
    prepareRotated()
    return
  }
  let source = query
  let most: f32 = 0
  if (metric == IP) {
    most = largest(query, lanes)
  } else {
    most = centred(query, queryCentred)
    source = queryCentred
  }
  const largestValue: f32 = precision == BINARY ? <f32>BITS_HALF : 127
  const step: f32 = most / largestValue
  const inverse: f32 = most > 0 ? largestValue / most : 0
  let sum: i32 = 0
  let sumRest: i32 = 0
  if (precision == BINARY) {
    memory.fill(queryCode, 0, codeBytes << 2)
    for (let i: i32 = 0; i < dimension; ++i) {
      const value = <i32>nearest(load<f32>(source + (<usize>i << 2)) * inverse)
      sum += value
      storePlanes(queryCode, i, value)
    }
  } else {
    const scale = f32x4.splat(inverse)
    // What rounding left over refines the keys of quantised rows alone.
    const refined = precision == INT8 || precision == INT16
    let sums = i32x4.splat(0)
    let sumsRest = sums
    for (let i: usize = 0; i < codeBytes; i += 8) {
      const at = source + (i << 2)
      const a = f32x4.mul(v128.load(at), scale)
      const b = f32x4.mul(v128.load(at, 16), scale)
      const values = nearest8(a, b)
      sums = i32x4.add(sums, i32x4.extadd_pairwise_i16x8_s(values))
      storeQueryValues(queryCode, i, values)
      if (!refined) continue
      const rests = nearest8(restOf(a), restOf(b))
      sumsRest = i32x4.add(sumsRest, i32x4.extadd_pairwise_i16x8_s(rests))
      storeQueryValues(queryRest, i, rests)
    }
    sum = sumi(sums)
    sumRest = sumi(sumsRest)
  }
  const square = dotf(source, source)
  const toCentre: f32 = metric == L2 ? <f32>0 : dotf(query, centre)
  const centreSquare: f32 = metric == L2 ? <f32>0 : dotf(centre, centre)
  setQuery(queryCode, sum, metric == IP ? 0 : square, metric == IP ? 0 : 1, metric == IP ? step : 2 * step)
  setExactQuery(step, sum, sumRest, square, toCentre, centreSquare)
}

/**
 * The same for rotated codes. For inner products, too, the query less the centre is compared: what the centre adds is known of each row
 * without an estimate.
 */
function prepareRotated(): void {
  centred(query, queryCentred)
  const square = dotf(queryCentred, queryCentred)
  rotateCentred()
  const most = largest(queryCentred, places())
  const step: f32 = most / <f32>BITS_HALF
  const scale = f32x4.splat(most > 0 ? <f32>BITS_HALF / most : 0)
  let sums = i32x4.splat(0)
  for (let i: usize = 0; i < <usize>places(); i += 16) {
    const at = queryCentred + (i << 2)
    const low = nearest8(f32x4.mul(v128.load(at), scale), f32x4.mul(v128.load(at, 16), scale))
    const high = nearest8(f32x4.mul(v128.load(at, 32), scale), f32x4.mul(v128.load(at, 48), scale))
    sums = i32x4.add(sums, i32x4.extadd_pairwise_i16x8_s(i16x8.add(low, high)))
    storePlanes16(queryCode, i, i8x16.narrow_i16x8_s(low, high))
  }
  const sum = sumi(sums)
  setQuery(queryCode, sum, metric == IP ? 0 : square, 1, metric == IP ? step : 2 * step)
  const toCentre: f32 = metric == L2 ? <f32>0 : dotf(query, centre)
  const centreSquare: f32 = metric == L2 ? <f32>0 : dotf(centre, centre)
  setExactQuery(step, sum, 0, square, toCentre, centreSquare)
}

/** Mean size of a normally distributed value over its factor: the scale at which signs come nearest to what they stand for. */
const SIGN_SHARE: f32 = 0.6366

/** Writes the row of `id` as float32 into the query buffer. */
export function decodeRow(id: u32): void {
  const cold = coldOf(id)
  if (precision == FLOAT32) {
    memory.copy(query, cold, <usize>dimension << 2)
    return
  }
  if (rotated) {
    decodeSigns(rowOf(id))
    return
  }
  const row = rowOf(id)
  const coarse = load<f32>(row + codeBytes, 4)
  if (precision == FLOAT16 || precision == BINARY) {
    const scale: f32 = precision == FLOAT16 ? load<f32>(cold + coldStride - 4) : coarse * SIGN_SHARE
    for (let i: i32 = 0; i < dimension; ++i) {
      const value =
        precision == FLOAT16
          ? fromHalf(load<u16>(cold + (<usize>i << 1)))
          : <f32>(((load<u8>(row + <usize>(i >> 3)) >> <u8>(i & 7)) & 1) << 1) - 1
      store<f32>(query + (<usize>i << 2), value * scale + load<f32>(centre + (<usize>i << 2)))
    }
    return
  }
  const fine = precision == INT8 || precision == INT16 ? load<f32>(cold + coldStride - 4) : coarse
  for (let i: i32 = 0; i < dimension; ++i) {
    let value = <f32>(<i32>load<u8>(row + <usize>i) - 64)
    if (precision == INT8) {
      const bits = load<u8>(cold + (<usize>(i >> 6) << 4) + <usize>(i & 15)) >> <u8>(((i >> 4) & 3) << 1)
      value += (<f32>(bits & 3) - 1.5) / 4
    } else if (precision == INT16) {
      value += (<f32>load<u8>(cold + <usize>i) - 63.5) / 127
    }
    store<f32>(query + (<usize>i << 2), value * fine + load<f32>(centre + (<usize>i << 2)))
  }
}

function decodeSigns(row: usize): void {
  const scale = load<f32>(row + codeBytes, 4) * SIGN_SHARE
  for (let i: i32 = 0; i < places(); ++i) {
    const isSet = (load<u8>(row + <usize>(i >> 3)) >> <u8>(i & 7)) & 1
    store<f32>(queryCentred + (<usize>i << 2), isSet ? scale : -scale)
  }
  rotateBack(queryCentred, places())
  for (let i: usize = 0; i < <usize>dimension << 2; i += 4)
    store<f32>(query + i, load<f32>(queryCentred + i) + load<f32>(centre + i))
}
