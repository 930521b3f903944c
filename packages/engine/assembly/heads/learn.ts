// The heavy steps of learning a projection (src/vector/dense/projection.ts): the covariance of a sample of codes, and steps of a subspace
// iteration. Covariances are integers. Everything else is float64 with strict operations in a fixed order. All addresses are those of space
// that the host lends; dimensions are padded to `lanes`.
import { codeBytes, lanes, rowOf } from '../layout'
import { ids, keys, rowCode } from '../scratch'
import { dot4, toQuery } from '../distance/code'
import { keysFromRow } from '../distance/walk'

/** Writes the code of the row `id` as column `column` of a table with `columns` columns, one line for each dimension. */
export function copyColumn(id: u32, table: usize, columns: usize, column: usize): void {
  const row = rowOf(id)
  let to = table + column
  for (let i: usize = 0; i < codeBytes; ++i) {
    store<u8>(to, load<u8>(row + i))
    to += columns
  }
}

/** Writes the keys of the first `count` ordinals of `ids` to `keys`, with the row `id` as the query. */
export function keysFromOrdinal(id: u32, count: i32): void {
  keysFromRow(rowOf(id), rowCode, ids, count, keys)
}

/**
 * Writes line `line` of the covariance matrix of the table up to a multiple of four after its diagonal: i32 sums of products of values. The
 * query form of the line is written to `form`. `columns` is a multiple of 16.
 */
export function writeCovariance(table: usize, columns: usize, line: usize, form: usize, matrix: usize): void {
  const sum = i32x4.splat(toQuery(table + line * columns, form, columns) << 6)
  const to = matrix + ((line * <usize>lanes) << 2)
  for (let i: usize = 0; i <= line; i += 4) {
    const other = table + i * columns
    const dots = dot4(form, other, other + columns, other + 2 * columns, other + 3 * columns, columns)
    v128.store(to + (i << 2), i32x4.sub(dots, sum))
  }
}

/** Copies what is below the diagonal of a line of the covariance matrix to above the diagonal. */
export function mirrorCovariance(line: usize, matrix: usize): void {
  const from = matrix + ((line * <usize>lanes) << 2)
  for (let i: usize = 0; i < line; ++i)
    store<i32>(matrix + ((i * <usize>lanes + line) << 2), load<i32>(from + (i << 2)))
}

@inline
function sum2(a: v128): f64 {
  return f64x2.extract_lane(a, 0) + f64x2.extract_lane(a, 1)
}

/** Multiplies the matrix with the four vectors at `from`. */
export function multiply4(matrix: usize, from: usize, to: usize): void {
  const bytes = <usize>lanes << 3
  let line = matrix
  for (let i: usize = 0; i < bytes; i += 8) {
    let s0 = f64x2.splat(0)
    let s1 = s0
    let s2 = s0
    let s3 = s0
    for (let k: usize = 0; k < bytes; k += 16) {
      const c = f64x2.convert_low_i32x4_s(v128.load64_zero(line + (k >> 1)))
      const p = from + k
      s0 = f64x2.add(s0, f64x2.mul(c, v128.load(p)))
      s1 = f64x2.add(s1, f64x2.mul(c, v128.load(p + bytes)))
      s2 = f64x2.add(s2, f64x2.mul(c, v128.load(p + 2 * bytes)))
      s3 = f64x2.add(s3, f64x2.mul(c, v128.load(p + 3 * bytes)))
    }
    const q = to + i
    store<f64>(q, sum2(s0))
    store<f64>(q + bytes, sum2(s1))
    store<f64>(q + 2 * bytes, sum2(s2))
    store<f64>(q + 3 * bytes, sum2(s3))
    line += bytes >> 1
  }
}

function dot(a: usize, b: usize): f64 {
  let s = f64x2.splat(0)
  for (let i: usize = 0; i < <usize>lanes << 3; i += 16) s = f64x2.add(s, f64x2.mul(v128.load(a + i), v128.load(b + i)))
  return sum2(s)
}

/** Share of a square below which nothing is left of a vector but rounding errors. */
const NOTHING: f64 = 1e-18

/**
 * Makes vector `index` at right angles to those before it, and of length 1. A vector that depends on those before becomes 0, because the
 * sample varies in fewer directions.
 */
export function orthonormalize(vectors: usize, index: usize): void {
  const bytes = <usize>lanes << 3
  const own = vectors + index * bytes
  const before = dot(own, own)
  for (let other = vectors; other < own; other += bytes) {
    const along = f64x2.splat(dot(other, own))
    for (let i: usize = 0; i < bytes; i += 16)
      v128.store(own + i, f64x2.sub(v128.load(own + i), f64x2.mul(along, v128.load(other + i))))
  }
  const after = dot(own, own)
  const scale = f64x2.splat(after > NOTHING * before ? 1 / sqrt(after) : 0)
  for (let i: usize = 0; i < bytes; i += 16) v128.store(own + i, f64x2.mul(v128.load(own + i), scale))
}
