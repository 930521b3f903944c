// Holds the engine. The slot is empty until the engine can serve the first collections, so that the server listens and replies
// `starting` in the meantime. Then it is recovering until the engine serves all collections.
import { type Database, type Engine, EngineError, type EngineHealth, type Progress } from '@annal/engine'
import type { ReplicatedEngine } from '@annal/engine/replicated'
import type { BucketArchive } from './archive/bucket-archive.ts'
import type { Follower } from './archive/follower.ts'
import type { ClusterView } from './cluster/cluster-view.ts'
import type { Providers } from './embed/providers.ts'
import { ServerError } from './errors.ts'

/** The place of the engine. It may be empty. */
export class EngineSlot {
  /** The archive in a bucket; undefined where there is none, and before it is opened. */
  archive: BucketArchive | undefined
  /** The cluster that this server is a node of; undefined if it serves alone. */
  cluster: ClusterView | undefined
  /** When the certificate in use ends, in milliseconds since 1970; undefined without TLS. */
  certificateEndMs: number | undefined
  /** What this server follows; undefined where it follows nothing. */
  follower: Pick<Follower, 'status'> | undefined
  /** What makes vectors of texts. */
  providers: Providers | undefined
  #engine: Engine | undefined
  #recovering = false
  #progress: Progress | undefined
  readonly #opened: (() => void)[] = []
  readonly #watched: (() => readonly string[])[] = []

  /** The engine serves every collection. */
  fill(engine: Engine): void {
    this.#engine = engine
    this.#recovering = false
    this.#progress = undefined
    for (const opened of this.#opened.splice(0)) opened()
  }

  /** Calls `opened` as soon as the engine serves every collection. */
  onOpen(opened: () => void): void {
    if (this.#engine !== undefined && !this.#recovering) opened()
    else this.#opened.push(opened)
  }

  /** The engine serves the collections that are ready. It may not know all names yet. */
  fillEarly(engine: Engine): void {
    this.#engine = engine
    this.#recovering = true
  }

  /** The engine could not be opened. */
  empty(): void {
    this.#engine = undefined
  }

  /** Reports the progress of opening. */
  report(progress: Progress): void {
    this.#progress = progress
  }

  /** Whether the slot has an engine. */
  isOpen(): boolean {
    return this.#engine !== undefined
  }

  /** Throws `starting` while the slot is empty. */
  engine(): Engine {
    if (this.#engine !== undefined) return this.#engine
    throw new ServerError('starting', 'the server is starting and reading the log', {})
  }

  /** On a node of a cluster: resolves to true when every record up to this LSN is applied, and to false after `timeoutMs`. */
  whenApplied(lsn: number, timeoutMs: number): Promise<boolean> {
    // The engine of a node is one of openReplicatedEngine.
    return (this.engine() as ReplicatedEngine).whenApplied(lsn, timeoutMs)
  }

  /** The database with this name, `default` if none is given. Throws `starting`, database_not_found. */
  database(name?: string): Database {
    const database = this.engine().database(name)
    return this.#recovering ? whileRecovering(database) : database
  }

  /** Adds reasons for a degraded state that come from outside the engine. */
  watch(reasons: () => readonly string[]): void {
    this.#watched.push(reasons)
  }

  /** The health of the engine, or the progress of its start. */
  health(): EngineHealth {
    const { role, reason = '' } = this.cluster?.status() ?? {}
    if (role === 'out-of-service') return { status: 'failed', reasons: [`this node is out of service: ${reason}`] }
    if (this.#engine !== undefined) {
      const more = this.#watched.flatMap((reasons) => reasons())
      const health = withReasons(this.#engine.health(), more)
      // The engine has replayed everything a while before this slot serves every route.
      const serves = !this.#recovering || (health.status !== 'ok' && health.status !== 'degraded')
      return serves ? health : { ...health, status: 'starting' }
    }
    return { status: 'starting', reasons: [], ...(this.#progress === undefined ? {} : { progress: this.#progress }) }
  }
}

function withReasons(health: EngineHealth, more: readonly string[]): EngineHealth {
  if (more.length === 0) return health
  return {
    ...health,
    status: health.status === 'ok' ? 'degraded' : health.status,
    reasons: [...health.reasons, ...more],
  }
}

/** A slot with an engine that serves every collection. */
export function slotWith(engine: Engine): EngineSlot {
  const slot = new EngineSlot()
  slot.fill(engine)
  return slot
}

/**
 * While records are replayed, a collection that is missing may still appear, so nothing is reported as missing and no list is
 * returned.
 */
function whileRecovering(database: Database): Database {
  const collection: Database['collection'] = (name) => {
    try {
      return database.collection(name)
    } catch (error) {
      if (!(error instanceof EngineError && error.code === 'collection_not_found')) throw error
      const details = { field: 'collection', value: name }
      throw new ServerError('collection_loading', 'the log is still being replayed; try again', details)
    }
  }
  return {
    name: database.name,
    describe: () => database.describe(),
    createCollection: (definition) => database.createCollection(definition),
    collection,
    // A backup of a collection that is not fully replayed would contain an earlier state than expected.
    get backups(): Database['backups'] {
      throw stillStarting()
    },
    // A record that was not replayed yet may determine the database of this record.
    get history(): Database['history'] {
      throw stillStarting()
    },
    get cursors(): Database['cursors'] {
      throw stillStarting()
    },
    changes() {
      throw stillStarting()
    },
    async asOf() {
      throw stillStarting()
    },
    collections() {
      throw stillStarting()
    },
    usage() {
      throw new ServerError('starting', 'the server is starting: the log is still being replayed')
    },
    aliases() {
      throw stillStarting()
    },
    branches() {
      throw stillStarting()
    },
    // The engine rejects writes of the catalog during a replay.
    putAlias: (...input) => database.putAlias(...input),
    deleteAlias: (...input) => database.deleteAlias(...input),
    promote: (...input) => database.promote(...input),
    async branch() {
      throw stillStarting()
    },
    async deleteCollection(name) {
      collection(name)
      return database.deleteCollection(name)
    },
    dropCollection(name) {
      return this.deleteCollection(name)
    },
  }
}

function stillStarting(): ServerError {
  return new ServerError('starting', 'the server is starting: the log is still being replayed')
}
