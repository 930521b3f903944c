// The nodes that are being linked together. While they look for their neighbors the graph is as it was before them: a reused
// ordinal may still have links to it from its former place, and must be met by nobody, since its lists are being written.
import { JOB_ITEMS, JOB_START, JOB_STOP } from '../layout'
import { visited } from '../scratch'

@inline
export function itemOf(index: u32): u32 {
  return load<u32>(<usize>load<u32>(JOB_ITEMS) + <usize>index * 12)
}

/** Adds an item that has its row already. */
export function putItem(index: u32, id: u32): void {
  store<u32>(<usize>load<u32>(JOB_ITEMS) + <usize>index * 12, id)
}

/** Marks the sub-batch as visited, so that a walk with that mark passes it by: it is compared exactly, not walked. */
export function ignoreSubBatch(mark: u32): void {
  const stop = load<u32>(JOB_STOP)
  for (let i = load<u32>(JOB_START); i < stop; ++i) store<u8>(visited + <usize>itemOf(i), <u8>mark)
}
