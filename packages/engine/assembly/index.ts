// The door of the kernel: what the host calls. Addresses and counts go in, numbers come out, nothing is allocated.
import { attachLayout } from './layout'
import { attachScratch } from './scratch'

/** Reads the plan of the arena and the scratch of `thread`. Called before anything else, and again after growth. */
export function attach(thread: i32): void {
  attachLayout()
  attachScratch(thread)
}

/** What host and kernel must agree on; kernel.ts has the same number. Raised with any change of these exports, the layout or the rules. */
export const abi: i32 = 9

export { decodeRow, encodeRow, prepareQuery } from './encode'
export { exactKey } from './distance/exact'
export { keysOf, takeDistances } from './distance/walk'
export { countUnreachable } from './hnsw/mend'
export { isFollower, leaderOf } from './hnsw/copies'
export { takeHops } from './hnsw/search'
export { beginScan, compare, endScan, scanIds, scanRange, search } from './answer'
export { claim, claimed, finish, openJob, work } from './job'
export { chooseEntry, clearBlock, firstUnsound, hash } from './audit'
export { levelOf } from './hnsw/level'
export { linksOf } from './layout'
