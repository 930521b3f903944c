// The key by which a walk orders rows: an estimate of the squared distance (l2, cosine) or of minus the inner product
// (ip) from codes alone. With v the query code and x a row: key = base + aWeight * a(x) - gain * factor(x) * <v, code(x) - 64>,
// and for binary rows <v, +1 or -1>.
// Strict float operations in a fixed order, so that graphs are the same on every machine.
import { BINARY, IP, codeBytes, dimension, precision, codeStride, blockTable, blockShift, blockMask, metric, rowOf } from '../layout'
import { ids, keys } from '../scratch'
import { dotBits, rowToPlanes } from './bits'
import { dot1, dot4, toQuery } from './code'

let form: usize = 0
let base: f32 = 0
let aWeight: f32 = 1
let gain: f32 = 0
let offset: i32 = 0
let bits: bool = false

/** Distances computed since the count was taken. */
export let distances: u32 = 0
export function takeDistances(): u32 {
  const n = distances
  distances = 0
  return n
}

/** Sets the query: the address of its code, the sum of its values, and the rest of the key's formula. */
export function setQuery(code: usize, sum: i32, queryBase: f32, queryWeight: f32, queryGain: f32): void {
  form = code
  bits = precision == BINARY
  offset = bits ? sum : sum << 6
  base = queryBase
  aWeight = queryWeight
  gain = queryGain
}

/** Makes a stored row the query. */
export function setRowAsQuery(row: usize, out: usize): void {
  const sum = precision == BINARY ? rowToPlanes(row, out, codeBytes, dimension) : toQuery(row, out, codeBytes)
  const factor = load<f32>(row + codeBytes, 4)
  setQuery(out, sum, load<f32>(row + codeBytes), 1, metric == IP ? factor : 2 * factor)
}

function dotBits4(a: usize, b: usize, c: usize, d: usize, bytes: usize): v128 {
  const first = i32x4.replace_lane(i32x4.splat(dotBits(form, a, bytes)), 1, dotBits(form, b, bytes))
  return i32x4.replace_lane(i32x4.replace_lane(first, 2, dotBits(form, c, bytes)), 3, dotBits(form, d, bytes))
}

@inline
function keys4(a: usize, b: usize, c: usize, d: usize): v128 {
  const bytes = codeBytes
  const dots = i32x4.sub(bits ? dotBits4(a, b, c, d, bytes) : dot4(form, a, b, c, d, bytes), i32x4.splat(offset))
  const ab = v128.load64_lane(b + bytes, v128.load64_zero(a + bytes), 1)
  const cd = v128.load64_lane(d + bytes, v128.load64_zero(c + bytes), 1)
  const as = v128.shuffle<f32>(ab, cd, 0, 2, 4, 6)
  const factors = v128.shuffle<f32>(ab, cd, 1, 3, 5, 7)
  const near = f32x4.mul(f32x4.mul(f32x4.splat(gain), factors), f32x4.convert_i32x4_s(dots))
  return f32x4.sub(f32x4.add(f32x4.splat(base), f32x4.mul(f32x4.splat(aWeight), as)), near)
}

/** Key of the row at an address. */
@inline
export function keyOf(row: usize): f32 {
  const bytes = codeBytes
  const near = gain * load<f32>(row + bytes, 4) * <f32>((bits ? dotBits(form, row, bytes) : dot1(form, row, bytes)) - offset)
  distances++
  return base + aWeight * load<f32>(row + bytes) - near
}

/** Keys of `count` ordinals. */
export function keysOf(from: usize, count: i32, out: usize): void {
  const table = blockTable
  const shift = blockShift
  const mask = blockMask
  const stride = codeStride
  distances += count
  let i: i32 = 0
  for (; i + 3 < count; i += 4) {
    const p = from + (<usize>i << 2)
    const a = load<u32>(p)
    const b = load<u32>(p, 4)
    const c = load<u32>(p, 8)
    const d = load<u32>(p, 12)
    const four = keys4(
      <usize>load<u32>(table + (<usize>(a >> shift) << 2)) + <usize>(a & mask) * stride,
      <usize>load<u32>(table + (<usize>(b >> shift) << 2)) + <usize>(b & mask) * stride,
      <usize>load<u32>(table + (<usize>(c >> shift) << 2)) + <usize>(c & mask) * stride,
      <usize>load<u32>(table + (<usize>(d >> shift) << 2)) + <usize>(d & mask) * stride,
    )
    v128.store(out + (<usize>i << 2), four)
  }
  if (i < count) {
    distances -= <u32>(count - i)
    for (; i < count; ++i) store<f32>(out + (<usize>i << 2), keyOf(rowOf(load<u32>(from + (<usize>i << 2)))))
  }
}

/** Keys of the ordinals in the scratch list. */
@inline
export function keysOfIds(count: i32): void {
  keysOf(ids, count, keys)
}

/** Four or fewer: true where any of the rows listed is nearer to the query than `limit`. */
@inline
export function anyNearer(from: usize, count: i32, limit: f32): bool {
  let j: i32 = 0
  const limits = f32x4.splat(limit)
  for (; j + 3 < count; j += 4) {
    const p = from + (<usize>j << 2)
    const four = keys4(rowOf(load<u32>(p)), rowOf(load<u32>(p, 4)), rowOf(load<u32>(p, 8)), rowOf(load<u32>(p, 12)))
    distances += 4
    if (v128.any_true(f32x4.lt(four, limits))) return true
  }
  for (; j < count; ++j) if (keyOf(rowOf(load<u32>(from + (<usize>j << 2)))) < limit) return true
  return false
}
