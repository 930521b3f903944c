// Rebuilds in the API, for both versions: what a rebuild may change, and its progress.
import {
  type CollectionDescription,
  efConstructionMax,
  efConstructionMin,
  mMax,
  mMin,
  type RebuildChanges,
  type RebuildStatus,
} from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { invalidArgument } from '../errors.ts'
import type { BegunRebuild, GraphConfig, RebuildReport } from '../rebuild-jobs.ts'
import { type Infer, optionalInteger } from './schema.ts'
import type { IndexParams } from './v1-index.ts'

const graphParams = {
  M: optionalInteger({ minimum: mMin, maximum: mMax }, 'Links per node of the graph; unchanged by default.'),
  ef_con: optionalInteger(
    { minimum: efConstructionMin, maximum: efConstructionMax },
    'Candidates considered while a node is linked; unchanged by default.',
  ),
  precision: Type.Optional(Type.Unknown({ description: 'Rejected: it cannot be changed.' })),
  space_type: Type.Optional(Type.Unknown({ description: 'Rejected: it cannot be changed.' })),
}

/** Body of a rebuild in /api/v1. */
export const rebuildIndexBody = Type.Object(graphParams, { $id: 'RebuildIndex' })
export type RebuildIndexBody = Infer<typeof rebuildIndexBody>

/** Body of a rebuild in /api/v2. */
export const rebuildCollectionBody = Type.Object(
  {
    fields: Type.Array(
      Type.Object({ field: Type.String({ description: 'A field; sparse fields are skipped.' }), ...graphParams }),
      { description: 'Fields to rebuild with other parameters. All fields are rebuilt, including those not listed.' },
    ),
  },
  { $id: 'RebuildCollection' },
)
export type RebuildCollectionBody = Infer<typeof rebuildCollectionBody>

/** Like the published servers, rejects a rebuild that would change nothing, and a rebuild of an empty index. */
export function readIndexRebuild(
  body: RebuildIndexBody,
  description: CollectionDescription,
  { dense, denseField }: IndexParams,
): RebuildChanges {
  const change = readChange(body, '')
  if ((change.M ?? dense.M) === dense.M && (change.efConstruction ?? dense.efConstruction) === dense.efConstruction) {
    throw invalidArgument(
      `nothing would change: M is already ${dense.M} and ef_con is already ${dense.efConstruction}`,
      {
        field: 'M',
        value: dense.M,
      },
    )
  }
  if (description.condition === 'ready' && description.objects === 0)
    throw invalidArgument('the index is empty: there is nothing to rebuild', { field: 'name', value: description.name })
  return { [denseField]: change }
}

/** The changes that a rebuild in /api/v2 requests. */
export function readCollectionRebuild(body: RebuildCollectionBody, description: CollectionDescription): RebuildChanges {
  const sparse = new Set(description.fields.filter(({ kind }) => kind === 'sparse').map(({ name }) => name))
  const changes = body.fields.flatMap((entry, i) => {
    const change = [entry.field, readChange(entry, `fields[${i}].`)] as const
    return sparse.has(entry.field) ? [] : [change]
  })
  const named = new Set(changes.map(([name]) => name))
  if (named.size === changes.length) return Object.fromEntries(changes)
  throw invalidArgument('fields must not name a field twice', { field: 'fields', value: changes.length })
}

function readChange(given: RebuildIndexBody, where: string): RebuildChanges[string] {
  for (const fixed of ['precision', 'space_type'] as const) {
    if (given[fixed] === undefined) continue
    const message = `${where}${fixed} cannot be changed by a rebuild, only M and ef_con`
    throw invalidArgument(message, { field: `${where}${fixed}`, value: given[fixed] })
  }
  return {
    ...(given.M == null ? {} : { M: given.M }),
    ...(given.ef_con == null ? {} : { efConstruction: given.ef_con }),
  }
}

/** The reply of a rebuild that started, in /api/v1. */
export function indexRebuildBegun({ job: { previous, next }, objects }: BegunRebuild) {
  return {
    status: 'rebuilding',
    previous_config: configJson(previous),
    new_config: configJson(next),
    total_vectors: objects,
  }
}

/** The progress of a rebuild in /api/v1. */
export function indexRebuildStatus({ state }: RebuildReport) {
  if (state.status === 'idle') return { status: 'idle' }
  return {
    status: stateWord(state),
    vectors_processed: state.objectsDone,
    total_vectors: state.objects,
    percent_complete: percentOf(state),
    ...timesOf(state),
  }
}

/** The reply of a rebuild that started, in /api/v2. */
export function collectionRebuildBegun({ job: { fields, previous, next }, objects }: BegunRebuild) {
  return {
    status: 'in_progress',
    fields_total: fields.length,
    total_objects: objects,
    new_config: configJson(next),
    previous_config: configJson(previous),
  }
}

/** The progress of a rebuild in /api/v2. */
export function collectionRebuildStatus({ collection, state, job, current }: RebuildReport) {
  const fields = job?.fields ?? []
  return {
    status: stateWord(state),
    in_progress: state.status === 'running',
    collection,
    field: fields[0] ?? null,
    // The graphs of all fields grow at the same time, object by object.
    fields_done: state.status === 'completed' ? fields.length : 0,
    fields_total: fields.length,
    objects_processed: state.objectsDone,
    total_objects: state.objects,
    percent_complete: percentOf(state),
    current_config: configJson(current),
    new_config: configJson(job?.next ?? current),
    previous_config: configJson(job?.previous ?? current),
    ...timesOf(state),
  }
}

/** The status of a database in which nothing was rebuilt. */
export const noRebuild = {
  status: 'idle',
  in_progress: false,
  fields_done: 0,
  fields_total: 0,
  objects_processed: 0,
  total_objects: 0,
  percent_complete: 0,
}

/** Published clients know a running rebuild as in_progress. */
function stateWord({ status }: RebuildStatus): 'idle' | 'in_progress' | 'completed' | 'failed' {
  return status === 'running' ? 'in_progress' : status
}

function percentOf({ status, objectsDone, objects }: RebuildStatus): number {
  if (status === 'completed') return 100
  // All objects may be linked before the record is durable, so a running rebuild shows at most 99 %.
  return objects === 0 ? 0 : Math.min(99, Math.floor((100 * objectsDone) / objects))
}

function timesOf({ startedAt, completedAt, error }: RebuildStatus) {
  return {
    ...(startedAt === undefined ? {} : { started_at: new Date(startedAt).toISOString() }),
    ...(completedAt === undefined ? {} : { completed_at: new Date(completedAt).toISOString() }),
    ...(error === undefined ? {} : { error }),
  }
}

function configJson(config: GraphConfig | undefined) {
  return config === undefined ? null : { M: config.M, ef_con: config.efConstruction }
}
