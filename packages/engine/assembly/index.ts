// Exports of the kernel that the host calls (src/vector/dense/kernel.ts). Parameters and results are addresses, counts, and numbers. The
// kernel allocates nothing. Vectors, lists of ordinals, and results are passed in the scratch of the calling thread.
import { initVariables } from './lanes'
import { attachLayout } from './layout'
import { attachScratch } from './scratch'

/**
 * Reads the layout of the arena and the scratch addresses of `thread` (0 and up). Call it before any other function, and again after the
 * arena has grown.
 */
export function attach(thread: i32): void {
  initVariables()
  attachLayout()
  attachScratch(thread)
}

/**
 * Version of the interface between host and kernel; kernel.ts in src/vector/dense has the same number. Increase both when an export, the
 * layout, or a rule of the graph changes.
 */
export const abi: i32 = 17

export { decodeRow } from './decode'
export { encodeRow } from './encode'
export { prepareQuery, prepareQueryBound } from './prepare-query'
export { boundsOfIds, estimatesFrom, projectRow, screen, takeHeads, useEstimates, writeHead } from './heads/head'
export {
  copyColumn,
  keysFromOrdinal,
  mirrorCovariance,
  multiply4,
  orthonormalize,
  writeCovariance,
} from './heads/learn'
export { exactKey } from './distance/exact'
export { keysOf, takeDistances } from './distance/walk'
export { countUnreachable } from './hnsw/reconnect'
export { isFollower, leaderOf } from './hnsw/copies'
export { setFarComparison } from './hnsw/allowed'
export { takeHops } from './hnsw/visit'
export { beginScan, compare, endScan, isLastUnresolved, scanIds, scanRange, search } from './answer'
export { claim, claimed, finish, openHeadsJob, openJob, work } from './job'
export { chooseEntry, clearBlock, firstUnsound, hash } from './audit'
export { levelOf } from './hnsw/level'
export { linksOf } from './layout'
export { compareOriginal } from './originals/compare'
