// The replicated log, apart from the local one: a program that uses one machine never loads it.
export { CopiedDirectory, type CopiedDirectoryOptions, type CopiedPiece } from './copied-directory.ts'
export type { ChainPlace } from './frame-chain.ts'
export {
  type FrameStore,
  type StoredMessage,
  type StoreOutcome,
  type StoreRange,
  StoreUnavailable,
} from './frame-store.ts'
export {
  decodePlace,
  encodePlace,
  openReplicatedDirectory,
  type ReplicatedDirectoryOptions,
} from './replicated-directory.ts'
export { openReplicatedLog, type ReplicatedLog, type ReplicatedLogOptions, type Tailed } from './replicated-log.ts'
