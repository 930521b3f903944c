// A new engine in this process as a target.
import { type Collection, type Engine, openEngine, type Precision, type SearchRequest } from '@annal/engine'
import type { Event } from '@annal/engine/events'
import type { ReplayTarget } from './target.ts'

/** The engine that a trace is replayed in. */
export interface EngineTargetOptions {
  /** Must be a new directory, which will hold only the trace. */
  readonly dataDir: string
  readonly threads?: number
  readonly fsync?: 'always' | 'interval' | 'none'
  /** Overrides the values of the trace. */
  readonly precision?: Precision
  readonly M?: number
  readonly efConstruction?: number
}

/** Opens a new engine that a trace is replayed in. `close` of the target closes it. */
export async function engineTarget(options: EngineTargetOptions): Promise<ReplayTarget> {
  const target = new EngineTarget(options)
  await target.open()
  return target
}

class EngineTarget implements ReplayTarget {
  readonly name: string
  readonly #options: EngineTargetOptions
  /** The current name of each collection of the trace. */
  readonly #places = new Map<number, { readonly databaseId: number; readonly name: string }>()
  readonly #databases = new Map([[1, 'default']])
  #engine: Engine | undefined
  /** The time of the current event: replayed objects keep their age. */
  #timeMs = 0

  #checkpointSince: number | undefined
  #checkpointMs = 0

  constructor(options: EngineTargetOptions) {
    this.#options = options
    const { precision, M, efConstruction, threads } = options
    const changes = Object.entries({ precision, M, efConstruction, threads }).filter(([, value]) => value !== undefined)
    this.name = ['engine', ...changes.map(([key, value]) => `${key} ${value}`)].join(', ')
  }

  async open(): Promise<void> {
    const { dataDir, threads, fsync = 'always' } = this.#options
    this.#engine = await openEngine({
      dataDir,
      fsync,
      clock: { now: () => this.#timeMs },
      ...(threads !== undefined && { threads }),
      onProgress: ({ job, done, total }) => {
        if (job === 'checkpoint') this.#checkpointing(done < total)
      },
    })
  }

  #checkpointing(isRunning: boolean): void {
    const now = performance.now()
    if (this.#checkpointSince !== undefined) this.#checkpointMs += now - this.#checkpointSince
    this.#checkpointSince = isRunning ? now : undefined
  }

  takeCheckpointMs(): number {
    if (this.#checkpointSince !== undefined) this.#checkpointing(true)
    const taken = this.#checkpointMs
    this.#checkpointMs = 0
    return taken
  }

  get #running(): Engine {
    if (this.#engine === undefined) throw new Error('broken invariant: the target is open')
    return this.#engine
  }

  async apply(event: Event): Promise<void> {
    this.#timeMs = event.timeMs
    const changed = this.#changed(event)
    if (event.kind === 'collection-created') this.#places.set(event.collectionId, event)
    if (event.kind === 'database-created') this.#databases.set(event.databaseId, event.name)
    await this.#running.repeat(changed)
    this.#noteNames(event)
  }

  #noteNames(event: Event): void {
    if (event.kind === 'collection-dropped') this.#places.delete(event.collectionId)
    else if (event.kind === 'database-dropped') {
      this.#databases.delete(event.databaseId)
      for (const id of event.collectionIds) this.#places.delete(id)
    } else if (event.kind === 'collection-promoted') {
      const replaced = this.#places.get(event.replacedId)
      if (replaced) this.#places.set(event.promotedId, replaced)
      this.#places.set(event.replacedId, { databaseId: event.databaseId, name: event.keptAs })
    }
  }

  #changed(event: Event): Event {
    if (event.kind !== 'collection-created' && event.kind !== 'collection-rebuilt' && event.kind !== 'fields-changed')
      return event
    const { precision, M, efConstruction } = this.#options
    const changes = {
      ...(precision !== undefined && { precision }),
      ...(M !== undefined && { M }),
      ...(efConstruction !== undefined && { efConstruction }),
    }
    const fields = event.fields.map((field) =>
      field.kind === 'sparse' ? field : ({ ...field, params: { ...field.params, ...changes } } as typeof field),
    )
    return { ...event, fields }
  }

  async search(
    collectionId: number,
    request: SearchRequest,
  ): Promise<ReadonlyMap<string, readonly string[]> | undefined> {
    const collection = this.#collection(collectionId)
    if (collection === undefined) return undefined
    const { results, fused } = await collection.search(request)
    const lists = new Map(Object.entries(results).map(([field, hits]) => [field, hits.map(({ id }) => id)]))
    if (fused)
      lists.set(
        'fused',
        fused.map(({ hit }) => hit.id),
      )
    return lists
  }

  #collection(id: number): Collection | undefined {
    const place = this.#places.get(id)
    const database = place && this.#databases.get(place.databaseId)
    if (place === undefined || database === undefined) return undefined
    const found = this.#running
      .database(database)
      .collections()
      .some(({ name }) => name === place.name)
    return found ? this.#running.database(database).collection(place.name) : undefined
  }

  async memory(): Promise<number> {
    return process.memoryUsage.rss()
  }

  digests(): Readonly<Record<string, string>> {
    const digests: Record<string, string> = {}
    for (const [id, { databaseId, name }] of this.#places) {
      const collection = this.#collection(id)
      if (collection) digests[`${databaseId}/${name}`] = collection.stateDigest()
    }
    return digests
  }

  async restart(): Promise<number> {
    await this.#running.checkpoint()
    await this.#running.close()
    const from = performance.now()
    await this.open()
    return performance.now() - from
  }

  close(): Promise<void> {
    return this.#running.close()
  }
}
