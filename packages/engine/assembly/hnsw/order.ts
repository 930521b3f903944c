// The order in which the nodes of a sub-batch search for neighbors. Nodes near each other come one after another, because they meet the
// same rows, which are then in the cache. The order does not affect what they find.
import { JOB_ORDER, JOB_START, JOB_STOP, rowOf } from '../layout'
import { ids, keys, ranked, rowCode } from '../scratch'
import { keysOf, setRowAsQuery } from '../distance/walk'
import { itemOf } from './sub-batch'

/** Sample nodes of the sub-batch. The others are grouped by the nearest sample node. */
const PIVOTS: i32 = 16
/** A shorter sub-batch is not ordered, because this gains nothing. */
const LENGTH_MIN: i32 = 64

@inline
function orderAddress(index: i32): usize {
  return <usize>load<u32>(JOB_ORDER) + (<usize>index << 2)
}

/** The item of the sub-batch at position `index` of the order. */
export function orderedItem(index: u32): u32 {
  return load<u32>(orderAddress(index))
}

/** Computes the order of the sub-batch, whose rows must be encoded. */
export function orderSubBatch(): void {
  const start = load<u32>(JOB_START)
  const length = <i32>(load<u32>(JOB_STOP) - start)
  if (length < LENGTH_MIN) {
    for (let i: i32 = 0; i < length; ++i) store<u32>(orderAddress(i), start + <u32>i)
    return
  }
  for (let p: i32 = 0; p < PIVOTS; ++p) store<u32>(ids + (<usize>p << 2), itemOf(start + <u32>((p * length) / PIVOTS)))
  for (let i: i32 = 0; i < length; ++i) store<i32>(ranked + (<usize>i << 2), nearestPivot(itemOf(start + <u32>i)))
  let index: i32 = 0
  for (let p: i32 = 0; p < PIVOTS; ++p)
    for (let i: i32 = 0; i < length; ++i) {
      if (load<i32>(ranked + (<usize>i << 2)) != p) continue
      store<u32>(orderAddress(index), start + <u32>i)
      index++
    }
}

function nearestPivot(id: u32): i32 {
  setRowAsQuery(rowOf(id), rowCode)
  keysOf(ids, PIVOTS, keys)
  let best: i32 = 0
  for (let p: i32 = 1; p < PIVOTS; ++p) if (load<f32>(keys + (<usize>p << 2)) < load<f32>(keys + (<usize>best << 2))) best = p
  return best
}
