// The nodes that are linked together. While they search for neighbors, the graph does not contain them. Links to a reused ordinal may still
// exist, but no walk may visit it, because its lists are being written.
import { JOB_ITEMS, JOB_START, JOB_STOP } from '../layout'
import { visited } from '../scratch'

/** The ordinal of the item at position `index` of the job. */
@inline
export function itemOf(index: u32): u32 {
  return load<u32>(<usize>load<u32>(JOB_ITEMS) + <usize>index * 12)
}

/** Adds an item whose row is already encoded. */
export function putItem(index: u32, id: u32): void {
  store<u32>(<usize>load<u32>(JOB_ITEMS) + <usize>index * 12, id)
}

/** Marks the sub-batch as visited, so that a walk with that mark skips it. */
export function ignoreSubBatch(mark: u32): void {
  const stop = load<u32>(JOB_STOP)
  for (let i = load<u32>(JOB_START); i < stop; ++i) store<u8>(visited + <usize>itemOf(i), <u8>mark)
}
