// Encodes vectors as rows, with strict float operations in a fixed order, so the same vector gives the same bytes on every machine. The
// scalar quantization has one scale for each vector, max |x'| / 63, and a factor that corrects the length, |x'|^2 / <x', code>, where x' is
// the vector minus the center of the segment.
import {
  ALIVE,
  BINARY,
  COSINE,
  IP,
  FLOAT16,
  FLOAT32,
  INT8,
  INT16,
  INT4,
  center,
  codeBytes,
  coldOf,
  coldStride,
  dimension,
  hasHeads,
  lanes,
  metric,
  normOf,
  packing,
  precision,
  rotated,
  rowOf,
  rules,
} from './layout'
import { query, queryCentered } from './scratch'
import { sumf } from './lanes'
import { dotf, maxAbs, rotateCentered, rotatedLength, subtractCenter } from './centered'
import { toHalf } from './distance/half'
import { topOf } from './distance/packed'
import { writeHead } from './heads/head'

/** Largest absolute code value, so that value + 64 fits in seven bits. */
const HALF: f32 = 63

@inline
function roundScaled(source: usize, inverse: v128): v128 {
  return f32x4.nearest(f32x4.mul(v128.load(source), inverse))
}

/**
 * Encodes the vector in the query buffer as the row `id`: code, `a`, factor, norm, and the cold part. `norm` is the length of the original
 * vector. Also writes its head if rows have heads. The row becomes visible last, when birth and death are written.
 */
export function encodeRow(id: u32, birth: u32, norm: f32): void {
  const row = rowOf(id)
  const absMax = subtractCenter(query, queryCentered)
  const inverse = f32x4.splat(absMax > 0 ? HALF / absMax : 0)
  const square = dotf(queryCentered, queryCentered)
  const a = metric == IP ? -dotf(center, queryCentered) : square + zeroVectorOffset()
  const dot = encodeRowCode(row, inverse, square)
  const tail = row + codeBytes
  store<f32>(tail, a)
  store<f32>(tail, dot > 0 ? square / dot : 0, 4)
  store<f32>(normOf(id), norm)
  if (precision == FLOAT32) memory.copy(coldOf(id), query, <usize>dimension << 2)
  else if (precision == INT8) encodeResiduals(id, row, inverse, square, 4, 3)
  else if (precision == INT16) encodeResiduals(id, row, inverse, square, 127, 127)
  else if (precision == FLOAT16) encodeHalves(coldOf(id), absMax)
  if (hasHeads) writeHead(id)
  // A reader may know the ordinal from its earlier row. It sees the row hidden until both words are new, because the old death is not after
  // the version of the reader, and the new birth is after it.
  atomic.store<u32>(tail, birth, 8)
  atomic.store<u32>(tail, ALIVE, 12)
}

/**
 * Addition to `a` of a zero vector. Its cosine similarity with every vector is 0, so its distance must be that of a vector at a right
 * angle. Without the addition it would be near the center, and the nearest neighbor of many rows.
 */
function zeroVectorOffset(): f32 {
  return rules >= 2 && metric == COSINE && dotf(query, query) == 0 ? 1 : 0
}

/** Writes the code of the centered vector. Returns the inner product of the vector with the values of the code. */
function encodeRowCode(row: usize, inverse: v128, square: f32): f32 {
  if (packing != 0) return encodePacked(row, square)
  if (rotated) return encodeSigns(row)
  return precision == BINARY ? encodeBits(row) : encodeCode(row, inverse)
}

/** Writes codes of seven bits per dimension (value + 64). Returns <x', code>. */
function encodeCode(row: usize, inverse: v128): f32 {
  const half = i8x16.splat(64)
  let dot = f32x4.splat(0)
  for (let i: usize = 0; i < codeBytes; i += 16) {
    const source = queryCentered + (i << 2)
    const a = roundScaled(source, inverse)
    const b = roundScaled(source + 16, inverse)
    const c = roundScaled(source + 32, inverse)
    const d = roundScaled(source + 48, inverse)
    const low = i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(a), i32x4.trunc_sat_f32x4_s(b))
    const high = i16x8.narrow_i32x4_s(i32x4.trunc_sat_f32x4_s(c), i32x4.trunc_sat_f32x4_s(d))
    v128.store(row + i, i8x16.add(i8x16.narrow_i16x8_s(low, high), half))
    const ab = f32x4.add(f32x4.mul(v128.load(source), a), f32x4.mul(v128.load(source, 16), b))
    const cd = f32x4.add(f32x4.mul(v128.load(source, 32), c), f32x4.mul(v128.load(source, 48), d))
    dot = f32x4.add(dot, f32x4.add(ab, cd))
  }
  return sumf(dot)
}

/** Writes codes of one bit per dimension, set if the component is above the center. Returns <x', signs>, which is the sum of |x'|. */
function encodeBits(row: usize): f32 {
  memory.fill(row, 0, codeBytes)
  let dot: f32 = 0
  for (let i: i32 = 0; i < dimension; ++i) {
    const x = load<f32>(queryCentered + (<usize>i << 2))
    dot += abs(x)
    const p = row + <usize>(i >> 3)
    store<u8>(p, load<u8>(p) | <u8>(<i32>(x > 0) << (i & 7)))
  }
  return dot
}

/** Rotates the centered vector and writes its signs. Returns the inner product of the rotated vector with its signs. */
function encodeSigns(row: usize): f32 {
  rotateCentered()
  const zero = f32x4.splat(0)
  let dot = zero
  for (let i: usize = 0; i < codeBytes; ++i) {
    const low = v128.load(queryCentered + (i << 5))
    const high = v128.load(queryCentered + (i << 5), 16)
    dot = f32x4.add(f32x4.add(dot, f32x4.abs(low)), f32x4.abs(high))
    store<u8>(row + i, <u8>(i32x4.bitmask(f32x4.gt(low, zero)) | (i32x4.bitmask(f32x4.gt(high, zero)) << 4)))
  }
  return sumf(dot)
}

/**
 * Step of codes of two bits in standard deviations of a component: that of least error for normally distributed values (Max 1960), which
 * components of rotated vectors nearly are. Codes of four bits have a step such that nothing is cut off.
 */
const CRUMB_STEP: f32 = 0.9957

/**
 * Rotates the centered vector of squared length `square` and writes its packed code. Returns the inner product of the rotated vector with
 * the values of the code.
 */
function encodePacked(row: usize, square: f32): f32 {
  rotateCentered()
  const length = rotatedLength()
  const top = topOf()
  const step: f32 =
    precision == INT4 ? maxAbs(queryCentered, length) / (<f32>top * 0.5) : CRUMB_STEP * sqrt<f32>(square / <f32>length)
  const inverse = f32x4.splat(step > 0 ? 1 / step : 0)
  memory.fill(row, 0, codeBytes)
  let dot = f32x4.splat(0)
  let source = queryCentered
  for (let i: usize = 0; i < codeBytes; i += 16) {
    for (let shift: i32 = 0; shift < 8; shift += packing) {
      const a = packedCodes(source, inverse, top)
      dot = f32x4.add(dot, codedProducts)
      const b = packedCodes(source + 16, inverse, top)
      dot = f32x4.add(dot, codedProducts)
      const c = packedCodes(source + 32, inverse, top)
      dot = f32x4.add(dot, codedProducts)
      const d = packedCodes(source + 48, inverse, top)
      dot = f32x4.add(dot, codedProducts)
      const codes = i8x16.narrow_i16x8_u(i16x8.narrow_i32x4_s(a, b), i16x8.narrow_i32x4_s(c, d))
      v128.store(row + i, v128.or(v128.load(row + i), i8x16.shl(codes, shift)))
      source += 64
    }
  }
  return sumf(dot)
}

/** Set by `packedCodes`: component times value, for four components. */
let codedProducts: v128 = i64x2.splat(0)

@inline
function packedCodes(source: usize, inverse: v128, top: i32): v128 {
  const y = v128.load(source)
  const half = <f32>((top + 1) >> 1)
  const level = f32x4.floor(f32x4.mul(y, inverse))
  const bounded = f32x4.max(f32x4.min(level, f32x4.splat(half - 1)), f32x4.splat(-half))
  const codes = i32x4.trunc_sat_f32x4_s(f32x4.add(bounded, f32x4.splat(half)))
  codedProducts = f32x4.mul(y, f32x4.convert_i32x4_s(i32x4.sub(i32x4.shl(codes, 1), i32x4.splat(top))))
  return codes
}

/** Writes the centered vector divided by its largest absolute component as float16, followed by that component as f32. */
function encodeHalves(cold: usize, absMax: f32): void {
  const scale: f32 = absMax > 0 ? 1 / absMax : 0
  for (let i: i32 = 0; i < lanes; ++i)
    store<u16>(cold + (<usize>i << 1), <u16>toHalf(load<f32>(queryCentered + (<usize>i << 2)) * scale))
  store<f32>(cold + coldStride - 4, absMax)
}

/**
 * Writes the residual of the code and then the factor of the refined value. `steps` is the number of residual steps in one step of the
 * code, `residualMax` the largest residual: 2 bits per dimension for int8, 7 bits for int16. For 2 bits, one byte holds the dimensions i,
 * i+16, i+32, i+48 (see dotTwoBits in distance/exact).
 */
function encodeResiduals(id: u32, row: usize, inverse: v128, square: f32, steps: f32, residualMax: i32): void {
  const cold = coldOf(id)
  const packed = precision == INT8
  if (packed) memory.fill(cold, 0, coldStride)
  let dot: f32 = 0
  for (let i: usize = 0; i < codeBytes; i += 16) {
    const low = i16x8.sub(v128.load_ext<u8>(row + i), i16x8.splat(64))
    const high = i16x8.sub(v128.load_ext<u8>(row + i, 8), i16x8.splat(64))
    const source = queryCentered + (i << 2)
    const a = residualsOf(source, i32x4.extend_low_i16x8_s(low), inverse, steps, residualMax)
    dot = addLanes(dot, products)
    const b = residualsOf(source + 16, i32x4.extend_high_i16x8_s(low), inverse, steps, residualMax)
    dot = addLanes(dot, products)
    const c = residualsOf(source + 32, i32x4.extend_low_i16x8_s(high), inverse, steps, residualMax)
    dot = addLanes(dot, products)
    const d = residualsOf(source + 48, i32x4.extend_high_i16x8_s(high), inverse, steps, residualMax)
    dot = addLanes(dot, products)
    const residuals = i8x16.narrow_i16x8_u(i16x8.narrow_i32x4_s(a, b), i16x8.narrow_i32x4_s(c, d))
    if (packed) {
      const p = cold + ((i >> 6) << 4)
      v128.store(p, v128.or(v128.load(p), i8x16.shl(residuals, <i32>((i >> 4) & 3) << 1)))
    } else {
      v128.store(cold + i, residuals)
    }
  }
  store<f32>(cold + coldStride - 4, dot > 0 ? square / dot : 0)
}

/** Set by `residualsOf`: component times refined value, for four dimensions. */
let products: v128 = i64x2.splat(0)

@inline
function residualsOf(source: usize, codes: v128, inverse: v128, steps: f32, residualMax: i32): v128 {
  const x = v128.load(source)
  const value = f32x4.convert_i32x4_s(codes)
  const scaled = f32x4.add(f32x4.sub(f32x4.mul(x, inverse), value), f32x4.splat(0.5))
  const left = f32x4.mul(scaled, f32x4.splat(steps))
  const whole = i32x4.trunc_sat_f32x4_s(precision == INT8 ? f32x4.floor(left) : f32x4.nearest(left))
  const residual = i32x4.min_s(i32x4.max_s(whole, i32x4.splat(0)), i32x4.splat(residualMax))
  const finer = f32x4.sub(f32x4.convert_i32x4_s(residual), f32x4.splat(<f32>residualMax / 2))
  products = f32x4.mul(x, f32x4.add(value, f32x4.div(finer, f32x4.splat(steps))))
  return residual
}

/** Adds in the order of the dimensions, because another order rounds differently. */
@inline
function addLanes(sum: f32, four: v128): f32 {
  const two = sum + f32x4.extract_lane(four, 0) + f32x4.extract_lane(four, 1)
  return two + f32x4.extract_lane(four, 2) + f32x4.extract_lane(four, 3)
}
