// The key by which a walk orders rows: an estimate of the squared distance (l2, cosine) or of the negative inner product (ip) from codes
// alone. For the query code v and a row x, key = base + aWeight * a(x) - gain * factor(x) * <v, code(x) - 64>; for binary rows the product
// is <v, +1 or -1>, for two rotated binary rows that of signs.ts, and for packed rows that of packed.ts. Strict float operations in a fixed order make graphs equal on every
// machine.
import { BINARY, IP, codeBytes, dimension, metric, packing, precision, rotated, rowOf } from '../layout'
import { reportProgress, ids, keys } from '../scratch'
import { dotBits, rowToPlanes } from './bits'
import { dot1, dot4, toQuery } from './code'
import { dotSigns } from './sign-dots'
import { offsetFrom, packedDot, packedDots4, productFrom, productsFrom, unpackRow } from './packed'
import { countDifferences, productOf, products4 } from './signs'

let form: usize = 0
let base: f32 = 0
let aWeight: f32 = 1
let gain: f32 = 0
let offset: i32 = 0
let isBinary: bool = false
/** Whether rows are signs of rotated vectors, and the query form that of a vector. */
let isSigned: bool = false
/** Whether the query form is the code of a rotated row. */
let signs: bool = false

/** Number of distances computed since `takeDistances` was last called. */
export let distances: u32 = 0
/** Returns the number of distances computed since the last call. */
export function takeDistances(): u32 {
  const n = distances
  distances = 0
  return n
}
/** Sets the counter back to `n`, to exclude work that is not part of the query. */
export function setDistances(n: u32): void {
  distances = n
}

/** Sets the query: the address of its code, the sum of its components, and base, aWeight, and gain of the key formula. */
export function setQuery(code: usize, sum: i32, queryBase: f32, queryWeight: f32, queryGain: f32): void {
  form = code
  isBinary = precision == BINARY
  isSigned = isBinary && rotated
  signs = false
  offset = packing != 0 ? offsetFrom(sum) : isBinary ? sum : sum << 6
  base = queryBase
  aWeight = queryWeight
  gain = queryGain
}

/** Makes the stored row at `row` the query. Its query form is written to `out`. */
export function setRowAsQuery(row: usize, out: usize): void {
  const factor = load<f32>(row + codeBytes, 4)
  let sum: i32 = 0
  if (packing != 0) sum = unpackRow(row, out, codeBytes)
  else if (rotated) memory.copy(out, row, codeBytes)
  else if (precision == BINARY) sum = rowToPlanes(row, out, codeBytes, dimension)
  else sum = toQuery(row, out, codeBytes)
  setQuery(out, sum, load<f32>(row + codeBytes), 1, metric == IP ? factor : 2 * factor)
  signs = rotated && packing == 0
}

function dotBits4(a: usize, b: usize, c: usize, d: usize, bytes: usize): v128 {
  const first = i32x4.replace_lane(i32x4.splat(dotBits(form, a, bytes)), 1, dotBits(form, b, bytes))
  return i32x4.replace_lane(i32x4.replace_lane(first, 2, dotBits(form, c, bytes)), 3, dotBits(form, d, bytes))
}

function dotSigns4(a: usize, b: usize, c: usize, d: usize, bytes: usize): v128 {
  const first = i32x4.replace_lane(i32x4.splat(dotSigns(form, a, bytes)), 1, dotSigns(form, b, bytes))
  return i32x4.replace_lane(i32x4.replace_lane(first, 2, dotSigns(form, c, bytes)), 3, dotSigns(form, d, bytes))
}

function products4OfSigns(a: usize, b: usize, c: usize, d: usize, bytes: usize): v128 {
  const ab = i32x4.replace_lane(i32x4.splat(countDifferences(form, a, bytes)), 1, countDifferences(form, b, bytes))
  const abc = i32x4.replace_lane(ab, 2, countDifferences(form, c, bytes))
  return products4(i32x4.replace_lane(abc, 3, countDifferences(form, d, bytes)), <i32>bytes << 3)
}

/** Products of the query with the codes of four rows. */
@inline
function dots4(a: usize, b: usize, c: usize, d: usize, bytes: usize): v128 {
  if (signs) return products4OfSigns(a, b, c, d, bytes)
  if (isSigned) return f32x4.convert_i32x4_s(i32x4.sub(dotSigns4(a, b, c, d, bytes), i32x4.splat(offset)))
  if (packing != 0)
    return f32x4.convert_i32x4_s(productsFrom(packedDots4(form, a, b, c, d, bytes), i32x4.splat(offset)))
  const dots = isBinary ? dotBits4(a, b, c, d, bytes) : dot4(form, a, b, c, d, bytes)
  return f32x4.convert_i32x4_s(i32x4.sub(dots, i32x4.splat(offset)))
}

@inline
function dotOf(row: usize, bytes: usize): f32 {
  if (signs) return productOf(countDifferences(form, row, bytes), <i32>bytes << 3)
  if (isSigned) return <f32>(dotSigns(form, row, bytes) - offset)
  if (packing != 0) return <f32>productFrom(packedDot(form, row, bytes), offset)
  return <f32>((isBinary ? dotBits(form, row, bytes) : dot1(form, row, bytes)) - offset)
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

/** Key of the row at the address `row`. */
@inline
export function keyOf(row: usize): f32 {
  const bytes = codeBytes
  const near = gain * load<f32>(row + bytes, 4) * dotOf(row, bytes)
  distances++
  return base + aWeight * load<f32>(row + bytes) - near
}

/** Prevents the compiler from removing loads that only prefetch. */
let sink: u32 = 0

/**
 * Prefetches the cache lines of a row that the hardware prefetcher misses: the first two, which make it fetch the following ones, and the
 * line of the tail.
 */
@inline
function prefetch(row: usize, bytes: usize): u32 {
  return <u32>load<u8>(row) ^ <u32>load<u8>(row, 64) ^ <u32>load<u8>(row + bytes)
}

/** Prefetches every line of a packed code, which is so short that the hardware prefetcher would begin too late. */
@inline
function prefetchPacked(row: usize, bytes: usize): u32 {
  let touched = <u32>load<u8>(row + bytes + 15)
  for (let p = row; p <= row + bytes; p += 64) touched ^= <u32>load<u8>(p)
  return touched
}

/**
 * Writes the keys of the `count` ordinals at `from` to `out`, f32 each. It first touches every row, so that as many cache lines as possible
 * are loaded at the same time, then compares four rows at a time. Until then `out` holds the addresses of the rows. `out` is written up to
 * a multiple of four; the last row fills the rest.
 */
export function keysOf(from: usize, count: i32, out: usize): void {
  if (count == 0) return
  distances += count
  reportProgress()
  const bytes = codeBytes
  const end = from + (<usize>count << 2)
  const stop = out + (<usize>((count + 3) & ~3) << 2)
  let touched: u32 = 0
  let row: usize = 0
  let target = out
  for (let p = from; p < end; p += 4) {
    row = rowOf(load<u32>(p))
    touched ^= packing != 0 ? prefetchPacked(row, bytes) : prefetch(row, bytes)
    store<u32>(target, <u32>row)
    target += 4
  }
  for (; target < stop; target += 4) store<u32>(target, <u32>row)
  sink = touched
  for (target = out; target < stop; target += 16)
    v128.store(target, keys4(load<u32>(target), load<u32>(target, 4), load<u32>(target, 8), load<u32>(target, 12)))
}

/** Like `keysOf` with the stored row at `row` as the query, whose form is written to `code`. Restores the current query. */
export function keysFromRow(row: usize, code: usize, from: usize, count: i32, out: usize): void {
  const savedForm = form
  const savedOffset = offset
  const savedBase = base
  const savedWeight = aWeight
  const savedGain = gain
  const savedSigns = signs
  setRowAsQuery(row, code)
  keysOf(from, count, out)
  form = savedForm
  offset = savedOffset
  base = savedBase
  aWeight = savedWeight
  gain = savedGain
  signs = savedSigns
}

/** Writes the keys of the first `count` ordinals of the scratch list `ids` to `keys`. */
@inline
export function keysOfIds(count: i32): void {
  keysOf(ids, count, keys)
}
