// Up to where a replicated log may be trimmed. What is trimmed cannot be read again, so a node that needs it begins with a snapshot.

/** What decides how far a log may be trimmed. A checkpoint or a snapshot with an LSN needs the log after that record. */
export interface TrimFacts {
  /** LSN of each complete snapshot. */
  readonly snapshots: readonly number[]
  /** LSN of the newest checkpoint of each node that belongs to the cluster. */
  readonly checkpoints: readonly number[]
  /** LSN of the newest snapshot that is older than the retention; 0 if there is none. */
  readonly expired: number
}

/** Without this many complete snapshots nothing is trimmed, so that a damaged one leaves a way to begin. */
const snapshotsMin = 2

/**
 * Returns the newest record that may go, with all before it; 0 if none may. Never past the second newest snapshot. Up to there, the
 * checkpoints of nodes hold back what they need, unless it is older than the retention.
 */
export function trimUpTo({ snapshots, checkpoints, expired }: TrimFacts): number {
  const limit = [...snapshots].sort((a, b) => b - a)[snapshotsMin - 1] ?? 0
  return Math.min(limit, Math.max(expired, Math.min(limit, ...checkpoints)))
}
