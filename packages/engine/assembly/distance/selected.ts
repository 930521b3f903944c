// The neighbors selected so far, each in the form of a query. A candidate is compared with four of them at a time, and its row is read as it
// is stored. Keys equal those of walk.ts bit for bit: they do not depend on which of the two rows is the query.
//
//   selected   [a f32] x M0 | [gain f32] x M0 | [offset i32] x M0 | [query form] x M0, 16-byte aligned
import { BINARY, IP, M0, codeBytes, dimension, metric, packing, precision, rotated } from '../layout'
import { selected } from '../scratch'
import { dotBits, rowToPlanes } from './bits'
import { dotForms, formBytes, toQuery } from './code'
import { offsetFrom, packedForms, packedLength, productsFrom, unpackRow } from './packed'
import { countDifferences, products4 } from './signs'

@inline
function gainsStart(): usize {
  return selected + (<usize>M0 << 2)
}
@inline
function offsetsStart(): usize {
  return selected + (<usize>M0 << 3)
}
@inline
function formsStart(): usize {
  return (selected + <usize>M0 * 12 + 15) & ~15
}

/** Bytes from one query form to the next. */
@inline
function formStride(): usize {
  if (packing != 0) return formBytes(<usize>packedLength())
  if (rotated) return codeBytes
  return precision == BINARY ? codeBytes << 2 : formBytes(codeBytes)
}

/** Stores the row at `row` as the i-th selected neighbor. */
export function putSelected(i: i32, row: usize): void {
  const out = formsStart() + <usize>i * formStride()
  const offset = <usize>i << 2
  const factor = load<f32>(row + codeBytes, 4)
  store<f32>(selected + offset, load<f32>(row + codeBytes))
  store<f32>(gainsStart() + offset, metric == IP ? factor : 2 * factor)
  if (packing != 0) store<i32>(offsetsStart() + offset, offsetFrom(unpackRow(row, out, codeBytes)))
  else if (rotated) memory.copy(out, row, codeBytes)
  else if (precision == BINARY) store<i32>(offsetsStart() + offset, rowToPlanes(row, out, codeBytes, dimension))
  else store<i32>(offsetsStart() + offset, toQuery(row, out, codeBytes) << 6)
}

/** Whether the row is nearer than `limit` (a walk key) to one of the first `count` selected neighbors. */
export function isNearSelected(row: usize, count: i32, limit: f32): bool {
  const bytes = codeBytes
  const stride = formStride()
  const gains = gainsStart()
  const offsets = offsetsStart()
  const forms = formsStart()
  const last = forms + <usize>(count - 1) * stride
  const a = f32x4.splat(load<f32>(row + bytes))
  const factors = f32x4.splat(load<f32>(row + bytes, 4))
  const limits = f32x4.splat(limit)
  for (let j: i32 = 0; j < count; j += 4) {
    // The last form takes the place of those beyond `count`.
    const f0 = forms + <usize>j * stride
    const f1 = min(f0 + stride, last)
    const f2 = min(f1 + stride, last)
    const f3 = min(f2 + stride, last)
    const offset = <usize>j << 2
    const dots =
      rotated && packing == 0
        ? dotSigns(f0, f1, f2, f3, row, bytes)
        : dots4(f0, f1, f2, f3, row, bytes, offsets + offset)
    const products = f32x4.mul(f32x4.mul(v128.load(gains + offset), factors), dots)
    const keys = f32x4.sub(f32x4.add(v128.load(selected + offset), a), products)
    const nearer = i32x4.bitmask(f32x4.lt(keys, limits))
    if ((nearer & ((1 << min(4, count - j)) - 1)) != 0) return true
  }
  return false
}

@inline
function dots4(a: usize, b: usize, c: usize, d: usize, row: usize, bytes: usize, offsets: usize): v128 {
  if (packing != 0)
    return f32x4.convert_i32x4_s(productsFrom(packedForms(a, b, c, d, row, bytes), v128.load(offsets)))
  const products = precision == BINARY ? dotPlanes(a, b, c, d, row, bytes) : dotForms(a, b, c, d, row, bytes)
  return f32x4.convert_i32x4_s(i32x4.sub(products, v128.load(offsets)))
}

function dotSigns(a: usize, b: usize, c: usize, d: usize, row: usize, bytes: usize): v128 {
  const first = i32x4.replace_lane(i32x4.splat(countDifferences(a, row, bytes)), 1, countDifferences(b, row, bytes))
  const three = i32x4.replace_lane(first, 2, countDifferences(c, row, bytes))
  return products4(i32x4.replace_lane(three, 3, countDifferences(d, row, bytes)), <i32>bytes << 3)
}

function dotPlanes(a: usize, b: usize, c: usize, d: usize, row: usize, bytes: usize): v128 {
  const first = i32x4.replace_lane(i32x4.splat(dotBits(a, row, bytes)), 1, dotBits(b, row, bytes))
  return i32x4.replace_lane(i32x4.replace_lane(first, 2, dotBits(c, row, bytes)), 3, dotBits(d, row, bytes))
}
