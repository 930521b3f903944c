// Heads of rows: 128 bytes from which a walk tells that a row is too far away without reading its code. A head has 192 components of the row
// along the directions in which the sample of the field varies most, and what the bound needs of the rest. Heads are computed from codes:
// products of codes are integers, and the float operations are strict and in a fixed order, so every machine computes the same bytes.
//
//   head        [value + 64, u8 x 32 | value + 7.5, two 4-bit values in a byte x 80 | a f32 | factor f32 | restFactor f32 | rest f32]
//   projection  [direction + 64, u8 x lanes] x 192 | scale f32 x 192 | width f32 x 192 | mean f32 | deviation f32 | slope f32 | 0
//
// A component is factor(row) * scale * <row code, direction>, and its value in the head is that divided by its width. Byte i of the k-th
// group of 16 bytes has components 32 + 32 k + i (low) and 48 + 32 k + i (high).
import { IP, codeBytes, headOf, lanes, metric, projection, rowOf } from '../layout'
import { headForm, headValues, ids, keys, query, queryCentered, rowCode } from '../scratch'
import { maxf, sumf, sumi, sums4i, variable } from '../lanes'
import { keepFour } from '../keep'
import { RELAXED, dot1, dot4, formBytes, storeQueryValues, toQuery } from '../distance/code'

/** Components of a head, and those of them that have seven bits. */
export const COMPONENTS: usize = 192
const FINE: usize = 32
/** Offset of the four floats in a head, and the bytes of a head. */
const TAIL: usize = 112
export const HEAD_BYTES: usize = 128

@inline
export function scalesOf(from: usize): usize {
  return from + COMPONENTS * codeBytes
}
@inline
function widthsOf(from: usize): usize {
  return scalesOf(from) + (COMPONENTS << 2)
}
/** Three floats: mean, deviation, and slope of the cosines of rests. */
@inline
function cosinesOf(from: usize): usize {
  return widthsOf(from) + (COMPONENTS << 2)
}

/** Writes the components of the vector `factor` * code to `out`. The code is in query form, and its values have this sum. */
function project(form: usize, sum: i32, factor: f32, out: usize): void {
  const bytes = codeBytes
  const offset = i32x4.splat(sum << 6)
  const scales = scalesOf(projection)
  let direction = projection
  for (let i: usize = 0; i < COMPONENTS << 2; i += 16) {
    const dots = dot4(form, direction, direction + bytes, direction + 2 * bytes, direction + 3 * bytes, bytes)
    const along = f32x4.convert_i32x4_s(i32x4.sub(dots, offset))
    v128.store(out + i, f32x4.mul(along, f32x4.mul(f32x4.splat(factor), v128.load(scales + i))))
    direction += 4 * bytes
  }
}

/** Writes the components of the row `id` to `headValues`: the spread of a sample of them determines the widths. */
export function projectRow(id: u32): void {
  const row = rowOf(id)
  const sum = toQuery(row, rowCode, codeBytes)
  project(rowCode, sum, load<f32>(row + codeBytes, 4), headValues)
}

/** Writes the head of the row `id`. Its code, `a`, and factor are written already. */
export function writeHead(id: u32): void {
  const row = rowOf(id)
  const head = headOf(id)
  const factor = load<f32>(row + codeBytes, 4)
  const sum = toQuery(row, rowCode, codeBytes)
  // <v, v + 64> - 64 sum(v) = |v|^2
  const square = factor * factor * <f32>(dot1(rowCode, row, codeBytes) - (sum << 6))
  project(rowCode, sum, factor, headValues)
  const widths = widthsOf(projection)
  let squares = f32x4.splat(0)
  let along = squares
  for (let i: usize = 0; i < FINE << 2; i += 16) {
    const x = v128.load(headValues + i)
    const width = v128.load(widths + i)
    const value = clampTo(f32x4.nearest(f32x4.div(x, width)), -63, 63)
    storeBytes(head + (i >> 2), i32x4.add(value, i32x4.splat(64)))
    squares = f32x4.add(squares, f32x4.mul(x, x))
    along = f32x4.add(along, f32x4.mul(x, f32x4.mul(f32x4.convert_i32x4_s(value), width)))
  }
  for (let i: usize = FINE << 2; i < COMPONENTS << 2; i += 16) {
    const x = v128.load(headValues + i)
    const width = v128.load(widths + i)
    const value = clampTo(f32x4.floor(f32x4.div(x, width)), -8, 7)
    storeNibbles(head, (i >> 2) - FINE, i32x4.add(value, i32x4.splat(8)))
    squares = f32x4.add(squares, f32x4.mul(x, x))
    const middle = f32x4.add(f32x4.convert_i32x4_s(value), f32x4.splat(0.5))
    along = f32x4.add(along, f32x4.mul(x, f32x4.mul(middle, width)))
  }
  const headSquare = sumf(squares)
  const dot = sumf(along)
  const headFactor: f32 = dot > 0 ? headSquare / dot : 0
  const rest = sqrt(max<f32>(0, square - headSquare))
  store<f32>(head + TAIL, load<f32>(row + codeBytes))
  store<f32>(head + TAIL, headFactor, 4)
  store<f32>(head + TAIL, headSquare > 0 ? (headFactor * rest) / sqrt(headSquare) : 0, 8)
  store<f32>(head + TAIL, rest, 12)
}

/** Not a number becomes 0. */
@inline
function clampTo(values: v128, low: i32, high: i32): v128 {
  return i32x4.max_s(i32x4.min_s(i32x4.trunc_sat_f32x4_s(values), i32x4.splat(high)), i32x4.splat(low))
}
@inline
function storeBytes(to: usize, values: v128): void {
  const words = i16x8.narrow_i32x4_s(values, values)
  v128.store32_lane(to, i8x16.narrow_i16x8_u(words, words), 0)
}
/** Stores four values of 4 bits of the components `first` to `first` + 3, counted after the fine ones. */
@inline
function storeNibbles(head: usize, first: usize, values: v128): void {
  const to = head + FINE + ((first >> 5) << 4) + (first & 15)
  const words = i16x8.narrow_i32x4_s(values, values)
  const bytes = i32x4.extract_lane(i8x16.narrow_i16x8_u(words, words), 0)
  if (first & 16) store<i32>(to, load<i32>(to) | (bytes << 4))
  else store<i32>(to, bytes)
}

/** The query's part of the bound. */
let base: f32 = 0
let gain: f32 = 0
let restGain: f32 = 0
let rest: f32 = 0
/** The values of `rest` for bounds and for estimates. */
let boundRest: f32 = 0
let estimateRest: f32 = 0
/** Twice what the values of a head add to the product because they are stored without a sign. */
let offset: i32 = 0

/**
 * Prepares the bound for a query: its code in query form, the sum and the step of its values, its square, and how many deviations the bound
 * is from the mean. `estimateFrom` uses it with `isEstimate`: then the bound is the estimate without a rest.
 */
function prepare(form: usize, sum: i32, step: f32, square: f32, deviations: f32, isEstimate: bool): void {
  project(form, sum, step, headValues)
  const widths = widthsOf(projection)
  let squares = f32x4.splat(0)
  let most = squares
  for (let i: usize = 0; i < COMPONENTS << 2; i += 16) {
    const x = v128.load(headValues + i)
    squares = f32x4.add(squares, f32x4.mul(x, x))
    const weighted = f32x4.mul(x, v128.load(widths + i))
    v128.store(headValues + i, weighted)
    most = f32x4.max(most, f32x4.abs(weighted))
  }
  const largest = maxf(most)
  const scale = f32x4.splat(largest > 0 ? 127 / largest : 0)
  const fine = storeValues(0, FINE, scale)
  const coarse = storeValues(FINE, COMPONENTS, scale)
  offset = 128 * fine + 15 * coarse
  const headSquare = sumf(squares)
  const left = sqrt(max<f32>(0, square - headSquare))
  const weight: f32 = metric == IP ? 1 : 2
  // Half, because products are doubled to be integers.
  const unit = (weight * largest) / 254
  const cosines = cosinesOf(projection)
  const slope: f32 = isEstimate ? 0 : load<f32>(cosines, 8)
  const cosine: f32 = isEstimate ? 0 : load<f32>(cosines) + deviations * load<f32>(cosines, 4)
  base = metric == IP ? 0 : square
  gain = unit
  restGain = headSquare > 0 ? (unit * slope * left) / sqrt(headSquare) : 0
  boundRest = weight * cosine * left
  estimateRest = isEstimate ? 0 : weight * load<f32>(cosines) * left
  rest = boundRest
}

/** Makes `boundsOfIds` return estimates of keys, with the mean of what the rests add, instead of bounds. */
export function useEstimates(on: bool): void {
  rest = on ? estimateRest : boundRest
}

/** Stores the weighted components in query form. Returns the sum of the values. */
@inline
function storeValues(from: usize, to: usize, scale: v128): i32 {
  let sums = i32x4.splat(0)
  for (let i = from; i < to; i += 8) {
    const p = headValues + (i << 2)
    const low = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(p), scale)))
    const high = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(p, 16), scale)))
    const values = i16x8.narrow_i32x4_s(low, high)
    sums = i32x4.add(sums, i32x4.extadd_pairwise_i16x8_s(values))
    storeQueryValues(headForm, i, values)
  }
  return sumi(sums)
}

/** Deviations of the bound for a walk that keeps `ef` rows. One that keeps few cannot afford to lose a row that leads to others. */
@inline
function deviationsFor(ef: i32): f32 {
  return ef <= 48 ? 2.5 : 2
}

/** Prepares the bound for the query of a walk that keeps `ef` rows. For l2 and cosine, its code is at `code` with these constants. */
export function prepareBound(code: usize, sum: i32, step: f32, square: f32, ef: i32): void {
  if (metric == IP) prepareCentered(deviationsFor(ef))
  else prepare(code, sum, step, square, deviationsFor(ef), false)
}

/** Codes for inner products are of queries as given. The bound is for the query minus the center, whose product with rows is in `a`. */
function prepareCentered(deviations: f32): void {
  const zero = f32x4.splat(0)
  let most = zero
  let squares = zero
  for (let i: usize = 0; i < <usize>lanes << 2; i += 16) {
    const v = v128.load(queryCentered + i)
    most = f32x4.max(most, f32x4.abs(v))
    squares = f32x4.add(squares, f32x4.mul(v, v))
  }
  const largest = maxf(most)
  const scale = f32x4.splat(largest > 0 ? 127 / largest : 0)
  let sums = i32x4.splat(0)
  for (let i: usize = 0; i < codeBytes; i += 8) {
    const p = queryCentered + (i << 2)
    const low = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(p), scale)))
    const high = i32x4.trunc_sat_f32x4_s(f32x4.nearest(f32x4.mul(v128.load(p, 16), scale)))
    const values = i16x8.narrow_i32x4_s(low, high)
    sums = i32x4.add(sums, i32x4.extadd_pairwise_i16x8_s(values))
    storeQueryValues(rowCode, i, values)
  }
  prepare(rowCode, sumi(sums), largest / 127, sumf(squares), deviations, false)
}

@inline
function fineStep(form: usize, values: v128, sum: v128): v128 {
  if (RELAXED) return i32x4.relaxed_dot_i8x16_i7x16_add_s(v128.load(form), values, sum)
  const low = i32x4.dot_i16x8_s(v128.load(form), i16x8.extend_low_i8x16_u(values))
  return i32x4.add(sum, i32x4.add(low, i32x4.dot_i16x8_s(v128.load(form, 16), i16x8.extend_high_i8x16_u(values))))
}
@inline
function coarseStep(form: usize, head: usize, four: v128, sum: v128): v128 {
  const values = v128.load(head)
  const low = fineStep(form, v128.and(values, four), sum)
  return fineStep(form + formBytes(16), v128.and(i16x8.shr_u(values, 4), four), low)
}

/** Bounds of four heads. */
@inline
function bounds4(a: usize, b: usize, c: usize, d: usize): v128 {
  let s0 = i32x4.splat(0)
  let s1 = s0
  let s2 = s0
  let s3 = s0
  let form = headForm
  for (let i: usize = 0; i < FINE; i += 16) {
    s0 = fineStep(form, v128.load(a + i), s0)
    s1 = fineStep(form, v128.load(b + i), s1)
    s2 = fineStep(form, v128.load(c + i), s2)
    s3 = fineStep(form, v128.load(d + i), s3)
    form += formBytes(16)
  }
  const four = i8x16.splat(<i8>variable(15))
  for (let i = FINE; i < TAIL; i += 16) {
    s0 = coarseStep(form, a + i, four, s0)
    s1 = coarseStep(form, b + i, four, s1)
    s2 = coarseStep(form, c + i, four, s2)
    s3 = coarseStep(form, d + i, four, s3)
    form += formBytes(32)
  }
  const doubled = i32x4.sub(i32x4.shl(sums4i(s0, s1, s2, s3), 1), i32x4.splat(offset))
  const dots = f32x4.convert_i32x4_s(doubled)
  const ta = v128.load(a + TAIL)
  const tb = v128.load(b + TAIL)
  const tc = v128.load(c + TAIL)
  const td = v128.load(d + TAIL)
  const ab = v128.shuffle<f32>(ta, tb, 0, 4, 1, 5)
  const cd = v128.shuffle<f32>(tc, td, 0, 4, 1, 5)
  const abRest = v128.shuffle<f32>(ta, tb, 2, 6, 3, 7)
  const cdRest = v128.shuffle<f32>(tc, td, 2, 6, 3, 7)
  const as = v128.shuffle<f32>(ab, cd, 0, 1, 4, 5)
  const factors = f32x4.mul(f32x4.splat(gain), v128.shuffle<f32>(ab, cd, 2, 3, 6, 7))
  const restFactors = f32x4.mul(f32x4.splat(restGain), v128.shuffle<f32>(abRest, cdRest, 0, 1, 4, 5))
  const rests = f32x4.mul(f32x4.splat(rest), v128.shuffle<f32>(abRest, cdRest, 2, 3, 6, 7))
  const near = f32x4.mul(f32x4.add(factors, restFactors), dots)
  return f32x4.sub(f32x4.sub(f32x4.add(f32x4.splat(base), as), near), rests)
}

/** Prevents the compiler from removing loads that only prefetch. */
let sink: u32 = 0

/** Number of heads compared since `takeHeads` was last called. */
let compared: u32 = 0
/** Returns the number of heads compared since the last call. */
export function takeHeads(): u32 {
  const n = compared
  compared = 0
  return n
}

/** Touches the heads of the first `count` ordinals of `ids`, and writes their addresses to `keys`, up to a multiple of four. */
@inline
function listHeads(count: i32): void {
  compared += count
  let touched: u32 = 0
  let head: usize = 0
  let to = keys
  for (let p = ids; p < ids + (<usize>count << 2); p += 4) {
    head = headOf(load<u32>(p))
    touched ^= <u32>load<u8>(head) ^ <u32>load<u8>(head, 64)
    store<u32>(to, <u32>head)
    to += 4
  }
  for (const stop = keys + (<usize>((count + 3) & ~3) << 2); to < stop; to += 4) store<u32>(to, <u32>head)
  sink = touched
}

@inline
function boundsAt(listed: usize): v128 {
  return bounds4(load<u32>(listed), load<u32>(listed, 4), load<u32>(listed, 8), load<u32>(listed, 12))
}

/**
 * Removes the ordinals whose bound is above `limit` from the first `count` of `ids`. Returns the number of the others, whose bounds are then
 * in `keys`.
 */
export function screen(count: i32, limit: f32): i32 {
  listHeads(count)
  const limits = f32x4.splat(limit)
  let kept: usize = 0
  for (let i: i32 = 0; i < count; i += 4) {
    const from = <usize>i << 2
    const bounds = boundsAt(keys + from)
    const near = ~i32x4.bitmask(f32x4.gt(bounds, limits)) & ((1 << min(4, count - i)) - 1)
    if (near != 0) kept = keepFour(kept, from, bounds, near)
  }
  return <i32>(kept >> 2)
}

/** Writes the bounds of the first `count` ordinals of `ids` to `keys`, up to a multiple of four. */
export function boundsOfIds(count: i32): void {
  listHeads(count)
  for (let to = keys; to < keys + (<usize>count << 2); to += 16) v128.store(to, boundsAt(to))
}

/** Like `boundsOfIds` with the row `id` as the query and without a rest: what heads alone say about its keys. */
export function estimatesFrom(id: u32, count: i32): void {
  const row = rowOf(id)
  const factor = load<f32>(row + codeBytes, 4)
  const sum = toQuery(row, rowCode, codeBytes)
  const square = factor * factor * <f32>(dot1(rowCode, row, codeBytes) - (sum << 6))
  prepare(rowCode, sum, factor, square, 0, true)
  boundsOfIds(count)
}
