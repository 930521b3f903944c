// Where the engine will be: empty until it can answer for the first collections, so that the server can listen and answer
// `starting` meanwhile; then recovering, until it answers for all of them.
import { type Database, type Engine, EngineError, type EngineHealth, type Progress } from '@annal/engine'
import { ServerError } from './http/errors.ts'

export class EngineSlot {
  #engine: Engine | undefined
  #recovering = false
  #progress: Progress | undefined
  #watched: (() => readonly string[]) | undefined

  /** The engine answers for all it holds. */
  fill(engine: Engine): void {
    this.#engine = engine
    this.#recovering = false
    this.#progress = undefined
  }

  /** The engine answers for what is ready; of the rest it may not even know the names yet. */
  fillEarly(engine: Engine): void {
    this.#engine = engine
    this.#recovering = true
  }

  /** The engine could not be opened after all. */
  empty(): void {
    this.#engine = undefined
  }

  /** Tells how far opening is. */
  report(progress: Progress): void {
    this.#progress = progress
  }

  isOpen(): boolean {
    return this.#engine !== undefined
  }

  /** Throws `starting` until there is an engine. */
  engine(): Engine {
    if (this.#engine !== undefined) return this.#engine
    throw new ServerError('starting', 'the server is starting and reading the log', {})
  }

  /** `default` when no name is given. Throws `starting`, database_not_found. */
  database(name?: string): Database {
    const database = this.engine().database(name)
    return this.#recovering ? whileRecovering(database) : database
  }

  /** What besides the engine may be a reason for concern. */
  watch(reasons: () => readonly string[]): void {
    this.#watched = reasons
  }

  health(): EngineHealth {
    if (this.#engine !== undefined) return withReasons(this.#engine.health(), this.#watched?.() ?? [])
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

export function slotWith(engine: Engine): EngineSlot {
  const slot = new EngineSlot()
  slot.fill(engine)
  return slot
}

/** What is not found may be further on in the log, so nothing is said to be absent, and no list to be complete. */
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
    // A backup of what is not all there yet would be one of another moment.
    get backups(): Database['backups'] {
      throw stillStarting()
    },
    // A record that was not replayed yet may determine the owner of this record.
    get history(): Database['history'] {
      throw stillStarting()
    },
    collections() {
      throw stillStarting()
    },
    usage() {
      throw new ServerError('starting', 'the server is starting: the log is still being replayed')
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
