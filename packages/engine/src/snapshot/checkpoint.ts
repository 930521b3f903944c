// What a checkpoint is: a directory `<data>/checkpoints/<lsn>-<random>` with one file for each part of every collection and a
// manifest. Files of unchanged collections are links to those of the previous checkpoint. write-checkpoint.ts creates one,
// find-checkpoints.ts and load-collection.ts read them, and remove-checkpoints.ts decides which are kept.
import type { SteadyPace, Vfs } from '@annal/wal'
import type { CatalogState, CollectionEntry } from '../catalog/catalog-state.ts'
import type { Replica } from '../replica/replica.ts'
import type { WriteGate } from '../replica/write-gate.ts'
import type { KeyTable } from '../requests/key-table.ts'
import type { DeltaLimits } from './delta-limits.ts'
import type { Manifest } from './manifest.ts'
import type { RequestKeysCut } from './request-keys-cut.ts'

export interface CheckpointPlace {
  readonly vfs: Vfs
  /** `<data>/checkpoints` */
  readonly dir: string
  /** `<data>/originals` */
  readonly originalsDir: string
  /** The uuid of the data directory; undefined while it is unknown. Checkpoints of another directory are refused. */
  directory(): string | undefined
  /** Folder for checkpoints that recovery no longer needs. Without it, they are removed. */
  readonly archiveDir?: string
}

export interface Checkpoint {
  readonly path: string
  readonly manifest: Manifest
}

/** The content of a checkpoint as of its LSN. */
export interface CheckpointSource {
  readonly lsn: number
  readonly timeMs: number
  /** Where the log continues; only of a replicated log. */
  readonly logPlace?: string | undefined
  readonly catalog: CatalogState
  readonly collections: readonly CheckpointCollection[]
  readonly keys: KeyTable
}

/** A source whose records are durable. */
export interface DurableSource extends Omit<CheckpointSource, 'keys'> {
  /** The request keys of these records. */
  readonly keys: RequestKeysCut
}

export interface CheckpointCollection {
  readonly entry: CollectionEntry
  /** Undefined in quarantine: the part of the previous checkpoint that holds the collection is kept unchanged. */
  readonly recovering: Replica | undefined
  readonly gate: WriteGate
}

/** Instead of the id of a collection, for the files with request keys. */
export const requestKeysPart = 0

/** Damaged parts of checkpoints. No new checkpoint links to them, and they do not count as recovery paths. */
export class Damage {
  readonly #collections = new Map<string, Set<number>>()

  add({ path }: Checkpoint, collectionId: number): void {
    const ids = this.#collections.get(path) ?? new Set()
    this.#collections.set(path, ids.add(collectionId))
  }

  /**
   * Whether the snapshot of a collection in a checkpoint is damaged; without a collection, whether any snapshot in it
   * is.
   */
  has({ path }: Checkpoint, collectionId?: number): boolean {
    const ids = this.#collections.get(path)
    return ids !== undefined && (collectionId === undefined || ids.has(collectionId))
  }
}

/** How a checkpoint is written. */
export interface CheckpointWork {
  readonly pace: SteadyPace
  readonly damage: Damage
  /** Whether the log has all its records, which makes it a recovery path too. */
  readonly isLogWhole: boolean
  /** When only changes are written; the usual limits by default. */
  readonly deltas?: DeltaLimits
  readonly onProgress: (done: number, total: number) => void
  /** Makes every record durable that was applied so far. */
  readonly syncLog: () => Promise<unknown>
}
