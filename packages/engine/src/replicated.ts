// Engines of a cluster, apart from the public interface: an engine on one machine never needs this.

export type { FolderFile, SharedBackup, SharedBackups, SharedCheckpoint, SharedFiles } from './backup/shared-files.ts'
export { digestRequestKey } from './collection/state-digests.ts'
export type { EngineParts } from './engine/engine-parts.ts'
export { openReplicatedEngine } from './engine.ts'
export { placeholderRecord } from './events/placeholder.ts'
export type { LogOpener, OpenRequest, ReplicatedEngine } from './log-opener.ts'
export type { StateDigest } from './model/state-digest.ts'
