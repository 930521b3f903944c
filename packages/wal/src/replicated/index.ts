// The replicated log, apart from the local one: a program that uses one machine never loads it.
export { beginLog, type LogBeginning } from './begin-log.ts'
export { CopiedDirectory, type CopiedDirectoryOptions, type CopiedPiece } from './copied-directory.ts'
export type { ChainPosition } from './frame-chain.ts'
export {
  type FrameStore,
  type StoredMessage,
  type StoreOutcome,
  type StoreRange,
  StoreUnavailable,
} from './frame-store.ts'
export { type TrimFacts, trimUpTo } from './log-trim.ts'
export { isStoreOf, oldestPosition } from './message-reader.ts'
export {
  decodePosition,
  encodePosition,
  openReplicatedDirectory,
  type ReplicatedDirectoryOptions,
} from './replicated-directory.ts'
export { openReplicatedLog, type ReplicatedLog, type ReplicatedLogOptions, type Tailed } from './replicated-log.ts'
export { makeSingleDirectory, ownLogFolder, type SingleDirectoryOptions } from './single-directory.ts'
