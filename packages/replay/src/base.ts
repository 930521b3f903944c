// The state of a log as of one record, as the fewest events that recreate it: the existing collections and the current values of every
// object. The log is read twice; memory holds one entry per live object.
import type { FieldSchema } from '@annal/engine'
import {
  type CollectionCreated,
  type DenseColumn,
  decodeEvent,
  type Event,
  type FiltersReplaced,
  type MultiColumn,
  type ObjectsDeleted,
  type ObjectsExpired,
  type ObjectsPatched,
  type ObjectsRestored,
  type ObjectsUpserted,
  type SparseColumn,
  type TextColumn,
  withFilter,
} from '@annal/engine/events'
import { nodeVfs, readLogFiles } from '@annal/wal'
import { BaseCatalog } from './base-catalog.ts'
import { ReplayError } from './trace.ts'

/** The folder of a log, and that of its archive. */
export interface LogFiles {
  readonly dir: string
  readonly archiveDir: string
}

interface Living {
  /** The record with the object's values. */
  readonly lsn: number
  /** Its text since its filter values were replaced, or since it was patched. */
  readonly filter?: string | undefined
  /** A patch gave the text, with the expiry. Otherwise the object keeps the expiry that it was written with. */
  readonly isPatched?: boolean
  /** Its meta since it was patched. */
  readonly meta?: Uint8Array | undefined
}

interface Known {
  /** With the name and the default expiry that it has now. */
  created: CollectionCreated
  fields: readonly FieldSchema[]
  readonly objects: Map<string, Living>
}

/** Requires a log that begins with its first record. Throws ReplayError window_not_held. */
export async function* baseEvents(log: LogFiles, lsnTo: number): AsyncGenerator<Event, void> {
  const { catalog, collections } = await survey(log, lsnTo)
  yield* catalog.databases()
  for (const { created, fields } of collections.values()) yield { ...created, fields }
  yield* catalog.names()
  for await (const { lsn, event } of eventsOf(log, lsnTo)) {
    if (event.kind !== 'objects-upserted' && event.kind !== 'objects-restored') continue
    const objects = collections.get(event.collectionId)?.objects
    const positions = event.ids.flatMap((id, index) => (objects?.get(id)?.lsn === lsn ? [index] : []))
    if (objects === undefined || positions.length === 0) continue
    const filters = event.ids.map((id, index) => {
      const written = event.filters[index] as string
      const { filter = written, isPatched } = objects.get(id) ?? { filter: written }
      return isPatched ? filter : withFilter(written, filter)
    })
    const metas = event.ids.map((id, index) => objects.get(id)?.meta ?? (event.metas[index] as Uint8Array))
    yield picked({ ...event, metas, filters }, positions)
  }
}

/** The collections that exist at the end, and which record holds each object. */
async function survey(
  log: LogFiles,
  lsnTo: number,
): Promise<{ readonly catalog: BaseCatalog; readonly collections: ReadonlyMap<number, Known> }> {
  const catalog = new BaseCatalog()
  const collections = new Map<number, Known>()
  for await (const { lsn, event } of eventsOf(log, lsnTo)) {
    catalog.note(event)
    switch (event.kind) {
      case 'collection-created':
        collections.set(event.collectionId, { created: event, fields: event.fields, objects: new Map() })
        break
      case 'collection-dropped':
        collections.delete(event.collectionId)
        break
      case 'collection-promoted': {
        const [promoted, replaced] = [collections.get(event.promotedId), collections.get(event.replacedId)]
        if (promoted && replaced) {
          promoted.created = { ...promoted.created, name: replaced.created.name }
          replaced.created = { ...replaced.created, name: event.keptAs }
        }
        break
      }
      case 'collection-rebuilt':
      case 'fields-changed': {
        const known = collections.get(event.collectionId)
        if (known === undefined) break
        known.fields = event.fields
        if (event.kind === 'fields-changed') known.created = withDefaultTtl(known.created, event.ttlSeconds)
        break
      }
      case 'database-dropped':
        for (const id of event.collectionIds) collections.delete(id)
        break
      case 'collection-restored':
        throw new ReplayError(
          'window_not_held',
          `record ${lsn} restored a collection from a backup, which the log does not hold`,
          {
            lsn,
          },
        )
      default: {
        const objects = 'collectionId' in event ? collections.get(event.collectionId)?.objects : undefined
        if (objects && 'ids' in event) noteObjects(objects, lsn, event)
      }
    }
  }
  return { catalog, collections }
}

/** The event with this default expiry, or none. */
function withDefaultTtl(
  { ttlSeconds: _, ...created }: CollectionCreated,
  ttlSeconds: number | undefined,
): CollectionCreated {
  return { ...created, ...(ttlSeconds !== undefined && { ttlSeconds }) }
}

function noteObjects(
  objects: Map<string, Living>,
  lsn: number,
  event: ObjectsUpserted | ObjectsRestored | ObjectsDeleted | ObjectsExpired | FiltersReplaced | ObjectsPatched,
): void {
  for (const [index, id] of event.ids.entries()) {
    const living = objects.get(id)
    if (event.kind === 'objects-upserted' || event.kind === 'objects-restored') objects.set(id, { lsn })
    else if (event.kind === 'objects-deleted' || event.kind === 'objects-expired') objects.delete(id)
    else if (living !== undefined) {
      const filter = event.filters[index] as string
      // A copy: a slice of a Buffer would keep the whole block of the log in memory.
      if (event.kind === 'objects-patched')
        objects.set(id, { ...living, filter, meta: new Uint8Array(event.metas[index] ?? []), isPatched: true })
      else objects.set(id, { ...living, filter: withFilter(living.filter ?? '', filter) })
    }
  }
  if (event.kind === 'objects-restored') for (const id of event.deleted) objects.delete(id)
}

/** The log may write a few records of its own before the first event. */
const firstRecordMax = 16

/** Throws ReplayError window_not_held unless the log goes back to its first record. */
export function checkWhole(lsnFirst: number): void {
  if (lsnFirst <= firstRecordMax) return
  const message = `the log begins at record ${lsnFirst}; earlier records are only in checkpoints. Keep the log (NDD_KEEP_LOG, or keepLog of the engine) or archive it (NDD_ARCHIVE_HOURS)`
  throw new ReplayError('window_not_held', message, { lsnFirst })
}

async function* eventsOf(log: LogFiles, lsnTo: number): AsyncGenerator<{ lsn: number; event: Event }, void> {
  for await (const record of readLogFiles({ vfs: nodeVfs(), ...log, lsnTo }))
    yield { lsn: record.lsn, event: decodeEvent(record) }
}

/** The event with only some of its objects, in the same order. */
function picked(event: ObjectsUpserted | ObjectsRestored, positions: readonly number[]): ObjectsUpserted {
  const places = new Map(positions.map((position, index) => [position, index]))
  const pick = <T>(values: readonly T[]) => positions.map((position) => values[position] as T)
  const { timeMs, collectionId } = event
  return {
    kind: 'objects-upserted',
    ...{ timeMs, collectionId },
    ids: pick(event.ids),
    metas: pick(event.metas),
    filters: pick(event.filters),
    dense: event.dense.flatMap((column) => pickedDense(column, places)),
    sparse: event.sparse.flatMap((column) => pickedCounted(column, places, ['indices', 'values'])),
    multi: event.multi.flatMap((column) => pickedCounted(column, places, ['vectors'])),
    text: event.text.flatMap((column) => pickedTexts(column, places)),
  }
}

type Places = ReadonlyMap<number, number>

function pickedTexts(column: TextColumn, places: Places): TextColumn[] {
  const rows = rowsIn(column.objects, places)
  if (rows.length === 0) return []
  const objects = Uint32Array.from(rows, (row) => places.get(column.objects[row] as number) as number)
  return [{ field: column.field, objects, texts: rows.map((row) => column.texts[row] as string) }]
}

function pickedDense(column: DenseColumn, places: Places): DenseColumn[] {
  const rows = rowsIn(column.objects, places)
  if (rows.length === 0) return []
  const length = column.vectors.length / column.objects.length
  const vectors = new Float32Array(rows.length * length)
  rows.forEach((row, i) => {
    vectors.set(column.vectors.subarray(row * length, (row + 1) * length), i * length)
  })
  return [
    {
      ...column,
      objects: objectsOf(column.objects, rows, places),
      vectors,
      norms: Float32Array.from(rows, (row) => column.norms[row] as number),
      ...(column.forms && { forms: Uint8Array.from(rows, (row) => column.forms?.[row] as number) }),
    },
  ]
}

/** Columns with a different number of values per object; `counts` is the number of units that belong to each row. */
function pickedCounted<T extends SparseColumn | MultiColumn>(
  column: T,
  places: Places,
  arrays: readonly (keyof T & string)[],
): T[] {
  const rows = rowsIn(column.objects, places)
  if (rows.length === 0) return []
  const total = column.counts.reduce((sum, count) => sum + count, 0)
  const starts = [0]
  for (const count of column.counts) starts.push((starts.at(-1) as number) + count)
  const cut = (values: Float32Array | Uint32Array) => {
    const unit = total === 0 ? 0 : values.length / total
    const pieces = rows.map((row) =>
      values.subarray((starts[row] as number) * unit, (starts[row + 1] as number) * unit),
    )
    const joined = new (values.constructor as Float32ArrayConstructor)(
      pieces.reduce((sum, { length }) => sum + length, 0),
    )
    let offset = 0
    for (const piece of pieces) {
      joined.set(piece, offset)
      offset += piece.length
    }
    return joined
  }
  const cuts = Object.fromEntries(arrays.map((name) => [name, cut(column[name] as Float32Array)]))
  const counts = Uint32Array.from(rows, (row) => column.counts[row] as number)
  return [{ ...column, objects: objectsOf(column.objects, rows, places), counts, ...cuts }]
}

/** Column positions of the objects that are kept. */
function rowsIn(objects: Uint32Array, places: Places): number[] {
  return Array.from(objects.keys()).filter((row) => places.has(objects[row] as number))
}

function objectsOf(objects: Uint32Array, rows: readonly number[], places: Places): Uint32Array {
  return Uint32Array.from(rows, (row) => {
    const object = objects[row] as number
    return places.get(object) as number
  })
}
