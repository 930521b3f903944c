// Keeps the listed rows that are near, without a branch for each row: which rows those are is unpredictable.
import { ids, keys } from './scratch'

/**
 * Moves the rows of `near`, a bit for each of the four ordinals at offset `from` of `ids`, to offset `kept` of `ids`, and their keys in `four`
 * to the same offset of `keys`. Returns the offset behind them. `kept` is at most `from`, so nothing is written before it was read.
 */
@inline
export function keepFour(kept: usize, from: usize, four: v128, near: i32): usize {
  // Each is written, and the next takes its place unless it is near.
  const rows = v128.load(ids + from)
  let to = kept
  store<i32>(ids + to, i32x4.extract_lane(rows, 0))
  store<f32>(keys + to, f32x4.extract_lane(four, 0))
  to += <usize>(near & 1) << 2
  store<i32>(ids + to, i32x4.extract_lane(rows, 1))
  store<f32>(keys + to, f32x4.extract_lane(four, 1))
  to += <usize>(near & 2) << 1
  store<i32>(ids + to, i32x4.extract_lane(rows, 2))
  store<f32>(keys + to, f32x4.extract_lane(four, 2))
  to += <usize>(near & 4)
  store<i32>(ids + to, i32x4.extract_lane(rows, 3))
  store<f32>(keys + to, f32x4.extract_lane(four, 3))
  return to + (<usize>(near & 8) >> 1)
}
