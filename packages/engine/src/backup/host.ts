// The functions of the engine that backups, restores and archives use.
import type { Identity, Log, Vfs } from '@annal/wal'
import type { MemoryGuard } from '../admission/memory-guard.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { CollectionEntry } from '../catalog/catalog-state.ts'
import type { Clock } from '../model/engine.ts'
import type { Replica, ReplicaHost } from '../replica/replica.ts'
import type { WriteGate } from '../replica/write-gate.ts'
import type { Checkpoint } from '../snapshot/checkpoint.ts'
import type { PastRecords } from './past-records.ts'
import type { SharedFiles } from './shared-files.ts'

export interface BackupHost {
  readonly vfs: Vfs
  readonly dataDir: string
  readonly clock: Clock
  readonly memory: MemoryGuard
  catalog(): Catalog
  /** Identity of the data directory. */
  identity(): Pick<Identity, 'uuid' | 'timeline' | 'forkedAfterLsn'>
  log(): Log
  /** The records of the log and its archive. */
  past(): PastRecords
  /** Time of the newest record. */
  timeMs(): number
  newestCheckpoint(): Checkpoint | undefined
  takeCheckpoint(): Promise<unknown>
  /** Files that other engines on the same log can read. */
  readonly shared?: SharedFiles | undefined
  /** The next checkpoint writes the collection again, because its files in the newest one are damaged or missing. */
  renewSnapshot(collectionId: number): void
  /** The options for replicas of a collection with this hash seed. */
  replicaHost(hashSeed: ReplicaHost['seed']): ReplicaHost
}

/** The same host for files from outside: the engine itself is not damaged if they are. */
export function withoutReports(host: BackupHost): BackupHost {
  return {
    ...host,
    replicaHost(hashSeed) {
      const { originals, ...rest } = host.replicaHost(hashSeed)
      const { onDamaged: _, ...place } = originals
      return { ...rest, originals: place }
    },
  }
}

/** A collection as the source of an image. */
export interface Imaged {
  readonly entry: CollectionEntry
  readonly gate: WriteGate
  /** Throws unless the collection serves. */
  readonly replica: Replica
  /** Undefined when there is none yet, or none any more. */
  readonly recovering: Replica | undefined
  /** Resolves when it serves, or when it never will. */
  served(): Promise<void>
  checkOpen(): void
}
