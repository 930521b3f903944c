// The key by which a walk orders rows: an estimate of the squared distance (l2, cosine) or of minus the inner product
// (ip) from codes alone. With v the query code and x a row: key = base + aWeight * a(x) - gain * factor(x) * <v, code(x) - 64>,
// and for binary rows <v, +1 or -1>. Of two rotated binary rows the product is that of signs.ts.
// Strict float operations in a fixed order, so that graphs are the same on every machine.
import { BINARY, IP, codeBytes, dimension, metric, precision, rotated, rowOf } from '../layout'
import { beat, ids, keys } from '../scratch'
import { dotBits, rowToPlanes } from './bits'
import { dot1, dot4, toQuery } from './code'
import { differences, product, products4 } from './signs'

let form: usize = 0
let base: f32 = 0
let aWeight: f32 = 1
let gain: f32 = 0
let offset: i32 = 0
let bits: bool = false
/** Whether the form is the code of a rotated row. */
let signs: bool = false

/** Distances computed since the count was taken. */
export let distances: u32 = 0
export function takeDistances(): u32 {
  const n = distances
  distances = 0
  return n
}
/** Leaves out of the count what was computed since it was `n`: work that is not the query's own. */
export function leaveUncounted(n: u32): void {
  distances = n
}

/** Sets the query: the address of its code, the sum of its values, and the rest of the key's formula. */
export function setQuery(code: usize, sum: i32, queryBase: f32, queryWeight: f32, queryGain: f32): void {
  form = code
  bits = precision == BINARY
  signs = false
  offset = bits ? sum : sum << 6
  base = queryBase
  aWeight = queryWeight
  gain = queryGain
}

/** Makes a stored row the query. */
export function setRowAsQuery(row: usize, out: usize): void {
  const factor = load<f32>(row + codeBytes, 4)
  let sum: i32 = 0
  if (rotated) memory.copy(out, row, codeBytes)
  else if (precision == BINARY) sum = rowToPlanes(row, out, codeBytes, dimension)
  else sum = toQuery(row, out, codeBytes)
  setQuery(out, sum, load<f32>(row + codeBytes), 1, metric == IP ? factor : 2 * factor)
  signs = rotated
}

function dotBits4(a: usize, b: usize, c: usize, d: usize, bytes: usize): v128 {
  const first = i32x4.replace_lane(i32x4.splat(dotBits(form, a, bytes)), 1, dotBits(form, b, bytes))
  return i32x4.replace_lane(i32x4.replace_lane(first, 2, dotBits(form, c, bytes)), 3, dotBits(form, d, bytes))
}

function products4OfSigns(a: usize, b: usize, c: usize, d: usize, bytes: usize): v128 {
  const ab = i32x4.replace_lane(i32x4.splat(differences(form, a, bytes)), 1, differences(form, b, bytes))
  const abc = i32x4.replace_lane(ab, 2, differences(form, c, bytes))
  return products4(i32x4.replace_lane(abc, 3, differences(form, d, bytes)), <i32>bytes << 3)
}

/** Products of the query with the codes of four rows. */
@inline
function dots4(a: usize, b: usize, c: usize, d: usize, bytes: usize): v128 {
  if (signs) return products4OfSigns(a, b, c, d, bytes)
  const dots = bits ? dotBits4(a, b, c, d, bytes) : dot4(form, a, b, c, d, bytes)
  return f32x4.convert_i32x4_s(i32x4.sub(dots, i32x4.splat(offset)))
}

@inline
function dotOf(row: usize, bytes: usize): f32 {
  if (signs) return product(differences(form, row, bytes), <i32>bytes << 3)
  return <f32>((bits ? dotBits(form, row, bytes) : dot1(form, row, bytes)) - offset)
}

@inline
function keys4(a: usize, b: usize, c: usize, d: usize): v128 {
  const bytes = codeBytes
  const dots = dots4(a, b, c, d, bytes)
  const ab = v128.load64_lane(b + bytes, v128.load64_zero(a + bytes), 1)
  const cd = v128.load64_lane(d + bytes, v128.load64_zero(c + bytes), 1)
  const as = v128.shuffle<f32>(ab, cd, 0, 2, 4, 6)
  const factors = v128.shuffle<f32>(ab, cd, 1, 3, 5, 7)
  const near = f32x4.mul(f32x4.mul(f32x4.splat(gain), factors), dots)
  return f32x4.sub(f32x4.add(f32x4.splat(base), f32x4.mul(f32x4.splat(aWeight), as)), near)
}

/** Key of the row at an address. */
@inline
export function keyOf(row: usize): f32 {
  const bytes = codeBytes
  const near = gain * load<f32>(row + bytes, 4) * dotOf(row, bytes)
  distances++
  return base + aWeight * load<f32>(row + bytes) - near
}

/** Keeps loads whose only purpose is to bring a line near from being dropped. */
let sink: u32 = 0

/**
 * The lines of a row that the processor does not come to by itself: the first two, which lead it to those between, and that
 * of what stands behind the code.
 */
@inline
function touch(row: usize, bytes: usize): u32 {
  return <u32>load<u8>(row) ^ <u32>load<u8>(row, 64) ^ <u32>load<u8>(row + bytes)
}

/**
 * Keys of the `count` ordinals listed. First every row is touched, and nothing else is done meanwhile, so that as many lines as can
 * be are on their way at once; then they are compared, four at a time. Until then `out` holds where the rows are; it is used up
 * to a multiple of four, the last row standing in for those that are missing.
 */
export function keysOf(from: usize, count: i32, out: usize): void {
  if (count == 0) return
  distances += count
  beat()
  const bytes = codeBytes
  const end = from + (<usize>count << 2)
  const stop = out + (<usize>((count + 3) & ~3) << 2)
  let touched: u32 = 0
  let row: usize = 0
  let to = out
  for (let p = from; p < end; p += 4) {
    row = rowOf(load<u32>(p))
    touched ^= touch(row, bytes)
    store<u32>(to, <u32>row)
    to += 4
  }
  for (; to < stop; to += 4) store<u32>(to, <u32>row)
  sink = touched
  for (to = out; to < stop; to += 16)
    v128.store(to, keys4(load<u32>(to), load<u32>(to, 4), load<u32>(to, 8), load<u32>(to, 12)))
}

/** Keys of the `count` ordinals listed with a stored row as the query, whose form is made at `code`; the query stays what it was. */
export function keysFromRow(row: usize, code: usize, from: usize, count: i32, out: usize): void {
  const heldForm = form
  const heldOffset = offset
  const heldBase = base
  const heldWeight = aWeight
  const heldGain = gain
  const heldSigns = signs
  setRowAsQuery(row, code)
  keysOf(from, count, out)
  form = heldForm
  offset = heldOffset
  base = heldBase
  aWeight = heldWeight
  gain = heldGain
  signs = heldSigns
}

/** Keys of the ordinals in the scratch list. */
@inline
export function keysOfIds(count: i32): void {
  keysOf(ids, count, keys)
}
