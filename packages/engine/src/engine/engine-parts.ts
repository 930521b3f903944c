// What the creator of an engine may replace. Tests, nodes of a cluster, and checks of directories use it.
import type { Vfs } from '@annal/wal'
import type { MemoryReading } from '../admission/memory-reading.ts'
import type { LogOpener } from '../log-opener.ts'
import type { DeltaLimits } from '../snapshot/delta-limits.ts'
import type { WorkerPool } from '../vector/pool.ts'

/** Replacements for tests, or parts shared between engines. */
export interface EngineParts {
  readonly vfs?: Vfs
  /** Opens the identity and the log. By default they are files of the data directory. */
  readonly opener?: LogOpener
  /** Its creator closes it. */
  readonly pool?: WorkerPool
  /** Takes no checkpoints, not even on close. */
  readonly readOnly?: boolean
  /** When checkpoints contain only changes; the usual limits by default. */
  readonly deltas?: DeltaLimits
  /** Takes checkpoints only when they are called for, and on close. */
  readonly checkpointsOnDemand?: boolean
  /** Keeps digests of the states of collections, at least this many records apart. Without it no digests are kept. */
  readonly digestEvery?: number
  /** How often expired objects are deleted. */
  readonly expiryEveryMs?: number
  /** The limits of memory and what counts against them; read from the system by default. */
  readonly readMemory?: () => readonly MemoryReading[]
}
