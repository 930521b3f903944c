// Rows among which another is to be nearer to none than it is to something else. Each is made a query once, when it is put
// among them, so that those that are compared with them are read as they are. The keys are those of walk.ts, to the last bit:
// nothing in them changes where row and query change places.
//
//   among    [a f32] x M0 | [gain f32] x M0 | [offset i32] x M0 | [query form] x M0, 16-byte aligned
import { BINARY, IP, M0, codeBytes, dimension, metric, precision, rotated } from '../layout'
import { among } from '../scratch'
import { dotBits, rowToPlanes } from './bits'
import { dotForms, formBytes, toQuery } from './code'
import { differences, products4 } from './signs'

@inline
function gainsAt(): usize {
  return among + (<usize>M0 << 2)
}
@inline
function offsetsAt(): usize {
  return among + (<usize>M0 << 3)
}
@inline
function formsAt(): usize {
  return (among + <usize>M0 * 12 + 15) & ~15
}

/** Bytes from one form to the next. */
@inline
function formStride(): usize {
  if (rotated) return codeBytes
  return precision == BINARY ? codeBytes << 2 : formBytes(codeBytes)
}

/** Puts a row among them, as the i-th. */
export function putAmong(i: i32, row: usize): void {
  const out = formsAt() + <usize>i * formStride()
  const place = <usize>i << 2
  const factor = load<f32>(row + codeBytes, 4)
  store<f32>(among + place, load<f32>(row + codeBytes))
  store<f32>(gainsAt() + place, metric == IP ? factor : 2 * factor)
  if (rotated) memory.copy(out, row, codeBytes)
  else if (precision == BINARY) store<i32>(offsetsAt() + place, rowToPlanes(row, out, codeBytes, dimension))
  else store<i32>(offsetsAt() + place, toQuery(row, out, codeBytes) << 6)
}

/** True where a row is nearer than `limit` to any of the first `count`. */
export function isNearAny(row: usize, count: i32, limit: f32): bool {
  const bytes = codeBytes
  const stride = formStride()
  const gains = gainsAt()
  const offsets = offsetsAt()
  const forms = formsAt()
  const last = forms + <usize>(count - 1) * stride
  const a = f32x4.splat(load<f32>(row + bytes))
  const factors = f32x4.splat(load<f32>(row + bytes, 4))
  const limits = f32x4.splat(limit)
  for (let j: i32 = 0; j < count; j += 4) {
    // The last stands in for those that are missing.
    const f0 = forms + <usize>j * stride
    const f1 = min(f0 + stride, last)
    const f2 = min(f1 + stride, last)
    const f3 = min(f2 + stride, last)
    const place = <usize>j << 2
    const dots = rotated ? dotSigns(f0, f1, f2, f3, row, bytes) : dots4(f0, f1, f2, f3, row, bytes, offsets + place)
    const near = f32x4.mul(f32x4.mul(v128.load(gains + place), factors), dots)
    const four = f32x4.sub(f32x4.add(v128.load(among + place), a), near)
    const nearer = i32x4.bitmask(f32x4.lt(four, limits))
    if ((nearer & ((1 << min(4, count - j)) - 1)) != 0) return true
  }
  return false
}

@inline
function dots4(a: usize, b: usize, c: usize, d: usize, row: usize, bytes: usize, offsets: usize): v128 {
  const products = precision == BINARY ? dotPlanes(a, b, c, d, row, bytes) : dotForms(a, b, c, d, row, bytes)
  return f32x4.convert_i32x4_s(i32x4.sub(products, v128.load(offsets)))
}

function dotSigns(a: usize, b: usize, c: usize, d: usize, row: usize, bytes: usize): v128 {
  const first = i32x4.replace_lane(i32x4.splat(differences(a, row, bytes)), 1, differences(b, row, bytes))
  const three = i32x4.replace_lane(first, 2, differences(c, row, bytes))
  return products4(i32x4.replace_lane(three, 3, differences(d, row, bytes)), <i32>bytes << 3)
}

function dotPlanes(a: usize, b: usize, c: usize, d: usize, row: usize, bytes: usize): v128 {
  const first = i32x4.replace_lane(i32x4.splat(dotBits(a, row, bytes)), 1, dotBits(b, row, bytes))
  return i32x4.replace_lane(i32x4.replace_lane(first, 2, dotBits(c, row, bytes)), 3, dotBits(d, row, bytes))
}
