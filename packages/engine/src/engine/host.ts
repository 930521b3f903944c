// The interface through which the parts of an engine use each other. A file of this folder makes each part.

import type { MemoryGuard } from '../admission/memory-guard.ts'
import type { Catalog } from '../catalog/catalog.ts'
import type { CatalogWrites } from '../catalog-writes.ts'
import type { LocalCollection } from '../collection/collection.ts'
import type { Collections } from '../collection/collections.ts'
import type { ExpiryJob } from '../collection/expiry-job.ts'
import type { StateDigests } from '../collection/state-digests.ts'
import type { CatalogDraft, CommitOptions } from '../commit.ts'
import type { ControlHost } from '../control.ts'
import type { DatabaseHost } from '../database.ts'
import type { Database } from '../model/database.ts'
import type { Acknowledgement } from '../model/object.ts'
import type { PastStates } from '../past/past-states.ts'
import type { RecentPast } from '../past/recent-past.ts'
import type { RecoveryTarget } from '../recovery.ts'
import type { Checkpointer } from '../snapshot/checkpointer.ts'
import type { Foundation } from './foundation.ts'

export interface EngineHost extends DatabaseHost, ControlHost, RecoveryTarget {
  readonly base: Foundation
  readonly catalog: Catalog
  readonly memory: MemoryGuard
  readonly checkpointer: Checkpointer
  readonly recent: RecentPast
  readonly pastStates: PastStates
  /** Undefined if no digests are kept. */
  readonly digests: StateDigests | undefined
  readonly collections: Collections
  readonly catalogWrites: CatalogWrites
  /** Undefined unless the engine is open and writes. */
  expiry: ExpiryJob | undefined
  loaded(id: number): LocalCollection | undefined
  database(name: string): Database
  commit(makeDraft: () => CatalogDraft, options?: CommitOptions): Promise<Acknowledgement>
  /** Creates the draft when every earlier catalog event is applied, and admits no other until this one is applied. */
  commitAlone(makeDraft: () => CatalogDraft, options?: CommitOptions): Promise<Acknowledgement>
  /** Stops the engine. */
  fail(error: Error): void
}
