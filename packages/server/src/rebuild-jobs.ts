// Rebuilds that were started over HTTP. The reply is sent immediately, while the rebuild is running. The engine has its progress; this
// file keeps the requested changes and the reason of a failure.
import type {
  Acknowledgement,
  Collection,
  Database,
  DenseFieldSchema,
  RebuildChanges,
  RebuildStatus,
  RequestClaim,
  WriteOptions,
} from '@annal/engine'
import { errorBody, isCoded, ServerError } from './errors.ts'

/** Parameters of a graph that a rebuild may change. */
export type GraphConfig = Pick<DenseFieldSchema['params'], 'M' | 'efConstruction'>

export interface RebuildJob {
  /** Dense fields named in the request, in its order. */
  readonly fields: readonly string[]
  /** Configuration of the first of these fields, or of the collection's first dense field; undefined if it has none. */
  readonly previous: GraphConfig | undefined
  readonly next: GraphConfig | undefined
  /** The reason of a failure, in a form that clients may see. */
  readonly failure?: string
}

export interface RebuildReport {
  readonly collection: string
  readonly state: RebuildStatus
  /** Undefined if no rebuild was started over HTTP. */
  readonly job: RebuildJob | undefined
  /** The current configuration. */
  readonly current: GraphConfig | undefined
}

const jobs = new WeakMap<Collection, RebuildJob>()
const unexplained = 'the rebuild failed; see the server log'

/** A rebuild that has started: its record follows when it ends. */
export interface BegunRebuild extends Acknowledgement {
  readonly job: RebuildJob
  /** Number of objects of the collection. */
  readonly objects: number
}

/**
 * Resolves when the rebuild has started, and rejects if it cannot start. `onFailed` is called if the rebuild fails later; the collection is
 * unchanged then.
 */
export async function beginRebuild(
  collection: Collection,
  changes: RebuildChanges,
  {
    onFailed,
    requestKey,
  }: { readonly onFailed: (error: Error) => void; readonly requestKey: RequestClaim | undefined },
): Promise<BegunRebuild> {
  await collection.served()
  refuseWhileRebuilding(collection)
  const job = jobOf(collection, changes)
  const { objects } = collection.describe()
  requestKey?.addFacts({ job, objects })
  const rebuilt = collection.rebuild(changes, { requestKey })
  const begun = { lsn: 0, durable: false, job, objects }
  // The status changes in the same turn of the event loop, unless the engine rejects the rebuild.
  if (collection.rebuildStatus().status !== 'running') {
    await rebuilt
    return begun
  }
  requestKey?.continueUntil(rebuilt)
  jobs.set(collection, job)
  rebuilt.catch((error: Error) => {
    jobs.set(collection, { ...job, failure: isCoded(error) ? errorBody(error, '').error : unexplained })
    onFailed(error)
  })
  return begun
}

/** Frees memory and disk space. Resolves with the amount when it is complete. */
export async function vacuum(
  collection: Collection,
  options?: WriteOptions,
): Promise<Acknowledgement & { readonly reclaimedBytes: number }> {
  await collection.served()
  refuseWhileRebuilding(collection)
  const shrunk = collection.vacuum(options)
  if (collection.rebuildStatus().status === 'running') jobs.set(collection, jobOf(collection, {}))
  return shrunk
}

export function rebuildReport(collection: Collection): RebuildReport {
  const job = jobs.get(collection)
  const current = configsOf(collection)
  const { error: _withPaths, ...state } = collection.rebuildStatus()
  return {
    collection: collection.name,
    state: state.status === 'failed' ? { ...state, error: job?.failure ?? unexplained } : state,
    job,
    current: current.get(job?.fields[0] ?? '') ?? first(current.values()),
  }
}

/** The running rebuild of a database, otherwise the last one; undefined if there was none. */
export function newestRebuild(database: Database): RebuildReport | undefined {
  const collections = database.collections().map(({ name }) => database.collection(name))
  const begun = (collection: Collection) => {
    const { status, startedAt = 0 } = collection.rebuildStatus()
    return status === 'running' ? Number.POSITIVE_INFINITY : startedAt
  }
  const newest = collections.reduce<Collection | undefined>(
    (best, collection) => (begun(collection) > (best === undefined ? 0 : begun(best)) ? collection : best),
    undefined,
  )
  return newest && rebuildReport(newest)
}

function refuseWhileRebuilding(collection: Collection): void {
  if (collection.rebuildStatus().status !== 'running') return
  throw new ServerError('rebuild_running', 'the collection is already being rebuilt', {
    field: 'collection',
    value: collection.name,
  })
}

function jobOf(collection: Collection, changes: RebuildChanges): RebuildJob {
  const fields = Object.keys(changes)
  const configs = configsOf(collection)
  const [name, previous] = [...configs].find(([field]) => field === fields[0]) ?? first(configs) ?? []
  const next = previous && { ...previous, ...changes[name ?? ''] }
  return { fields, previous, next }
}

/** Configurations of the fields with a graph, in the order of the definition. */
function configsOf(collection: Collection): ReadonlyMap<string, GraphConfig> {
  return new Map(
    collection
      .describe()
      .fields.flatMap((field) =>
        field.kind === 'dense' || field.kind === 'multi'
          ? [[field.name, { M: field.params.M, efConstruction: field.params.efConstruction }] as const]
          : [],
      ),
  )
}

function first<T>(items: Iterable<T>): T | undefined {
  for (const item of items) return item
  return undefined
}
