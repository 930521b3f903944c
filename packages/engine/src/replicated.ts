// Engines of a cluster, apart from the public interface: an engine on one machine never needs this.

export { type EngineParts, openReplicatedEngine } from './engine.ts'
export type { LogOpener, OpenRequest, ReplicatedEngine } from './log-opener.ts'
export type { StateDigest } from './model/state-digest.ts'
