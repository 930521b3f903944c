// In which order the nodes of a sub-batch look for their neighbors: those that stand near each other one after another, for
// they meet the same rows, which the processor has at hand by then. What they find is the same in any order.
import { JOB_ORDER, JOB_START, JOB_STOP, rowOf } from '../layout'
import { ids, keys, ranked, rowCode } from '../scratch'
import { keysOf, setRowAsQuery } from '../distance/walk'
import { itemOf } from './sub-batch'

/** Nodes of the sub-batch, spread over it, by which the others are put together. */
const PIVOTS: i32 = 16
/** Below so many there is nothing to be won. */
const LENGTH_MIN: i32 = 64

@inline
function orderAt(place: i32): usize {
  return <usize>load<u32>(JOB_ORDER) + (<usize>place << 2)
}

/** Which item of the sub-batch comes at a place. */
export function inOrder(place: u32): u32 {
  return load<u32>(orderAt(place))
}

/** To be called when the sub-batch is known and its rows are there. */
export function orderSubBatch(): void {
  const start = load<u32>(JOB_START)
  const length = <i32>(load<u32>(JOB_STOP) - start)
  if (length < LENGTH_MIN) {
    for (let i: i32 = 0; i < length; ++i) store<u32>(orderAt(i), start + <u32>i)
    return
  }
  for (let p: i32 = 0; p < PIVOTS; ++p) store<u32>(ids + (<usize>p << 2), itemOf(start + <u32>((p * length) / PIVOTS)))
  for (let i: i32 = 0; i < length; ++i) store<i32>(ranked + (<usize>i << 2), nearestPivot(itemOf(start + <u32>i)))
  let place: i32 = 0
  for (let p: i32 = 0; p < PIVOTS; ++p)
    for (let i: i32 = 0; i < length; ++i) {
      if (load<i32>(ranked + (<usize>i << 2)) != p) continue
      store<u32>(orderAt(place), start + <u32>i)
      place++
    }
}

function nearestPivot(id: u32): i32 {
  setRowAsQuery(rowOf(id), rowCode)
  keysOf(ids, PIVOTS, keys)
  let best: i32 = 0
  for (let p: i32 = 1; p < PIVOTS; ++p) if (load<f32>(keys + (<usize>p << 2)) < load<f32>(keys + (<usize>best << 2))) best = p
  return best
}
