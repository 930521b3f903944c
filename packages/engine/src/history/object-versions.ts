// Follows one object through the records of the log, and says what each record changed. It keeps the meta and the filter values of the
// newest version, and of its vectors and texts only digests.
import { createHash } from 'node:crypto'
import { storedValues } from '../filter/indexed-values.ts'
import type {
  DenseColumn,
  MultiColumn,
  ObjectEvent,
  ObjectsRestored,
  ObjectsUpserted,
  SparseColumn,
  TextColumn,
} from '../model/event.ts'
import type { ChangedValues, ObjectVersion } from '../model/history.ts'
import type { JsonObject } from '../model/json.ts'
import { MetaBudget } from '../model/packed-meta.ts'
import type { Author } from '../model/requests.ts'
import { splitText, withFilter } from '../model/stored-text.ts'

/** An object as of a record. */
interface Content {
  readonly meta: Uint8Array
  /** With the expiry. */
  readonly filter: string
  /** Digests of vectors and texts, by position of the field. */
  readonly fields: ReadonlyMap<number, string>
}

/** What is known of an object: its content, that it does not exist, or nothing yet. */
export type Known = Content | 'absent' | 'unknown'

/** Where and by whom a record was written. */
export interface RecordPlace {
  readonly lsn: number
  readonly timeMs: number
  readonly author?: Author | undefined
}

/** The state after a record and the version that it made; no version if it changed nothing. */
export interface Followed {
  readonly known: Known
  readonly version?: ObjectVersion
}

/** `fieldNames` are those of the collection, by position. */
export function follow(
  before: Known,
  event: ObjectEvent,
  {
    id,
    fieldNames,
    place,
  }: { readonly id: string; readonly fieldNames: readonly string[]; readonly place: RecordPlace },
): Followed {
  const { lsn, timeMs, author } = place
  const head = { lsn, timeMs, ...(author && { author }) }
  switch (event.kind) {
    case 'objects-upserted':
    case 'objects-restored': {
      if (event.kind === 'objects-restored' && event.deleted.includes(id)) {
        if (before === 'absent') return { known: before }
        const version = { ...head, kind: 'restored', exists: false, asOfLsn: event.asOfLsn } as const
        return { known: 'absent', version: { ...version, ...changes(before, 'absent', fieldNames) } }
      }
      // The last entry of an id counts; input has each id once.
      const known = contentOf(event, event.ids.lastIndexOf(id))
      const restored = event.kind === 'objects-restored' && ({ kind: 'restored', asOfLsn: event.asOfLsn } as const)
      const kind = before === 'absent' ? 'created' : 'written'
      return { known, version: { ...head, kind, exists: true, ...restored, ...changes(before, known, fieldNames) } }
    }
    case 'filters-replaced': {
      if (before === 'absent') return { known: before }
      const given = event.filters[event.ids.lastIndexOf(id)] as string
      const known = before === 'unknown' ? before : { ...before, filter: withFilter(before.filter, given) }
      return {
        known,
        version: { ...head, kind: 'filter-updated', exists: true, ...changes(before, known, fieldNames) },
      }
    }
    case 'objects-patched': {
      if (before === 'absent') return { known: before }
      const position = event.ids.lastIndexOf(id)
      const [meta, filter] = [(event.metas[position] as Uint8Array).slice(), event.filters[position] as string]
      const known = before === 'unknown' ? before : { ...before, meta, filter }
      return { known, version: { ...head, kind: 'patched', exists: true, ...changes(before, known, fieldNames) } }
    }
    case 'objects-deleted':
    case 'objects-expired': {
      if (before === 'absent') return { known: before }
      const kind = event.kind === 'objects-deleted' ? 'deleted' : 'expired'
      const version = { ...head, kind, exists: false } as const
      return { known: 'absent', version: { ...version, ...changes(before, 'absent', fieldNames) } }
    }
    case 'fields-changed':
    case 'expiries-cleared':
      return { known: before }
  }
}

function contentOf(event: ObjectsUpserted | ObjectsRestored, position: number): Content {
  const fields = new Map<number, string>()
  for (const column of event.dense) addDigest(column.field, denseBytes(column, position))
  for (const column of event.sparse) addDigest(column.field, sparseBytes(column, position))
  for (const column of event.multi) addDigest(column.field, multiBytes(column, position))
  for (const column of event.text) addDigest(column.field, textBytes(column, position))
  // A copy: the buffer of the record is reused.
  return { meta: (event.metas[position] as Uint8Array).slice(), filter: event.filters[position] as string, fields }

  function addDigest(field: number, bytes: readonly Uint8Array[] | undefined): void {
    if (bytes === undefined) return
    const hash = createHash('sha256')
    for (const part of bytes) hash.update(part)
    fields.set(field, hash.digest('base64'))
  }
}

function denseBytes({ objects, vectors, norms, forms }: DenseColumn, position: number): Uint8Array[] | undefined {
  const row = objects.indexOf(position)
  if (row < 0) return undefined
  const dimension = vectors.length / objects.length
  const vector = vectors.subarray(row * dimension, (row + 1) * dimension)
  return [bytesOf(vector), bytesOf(norms.subarray(row, row + 1)), Uint8Array.of(forms?.[row] ?? 0)]
}

function sparseBytes({ objects, counts, indices, values }: SparseColumn, position: number): Uint8Array[] | undefined {
  const row = objects.indexOf(position)
  if (row < 0) return undefined
  const from = sumOf(counts.subarray(0, row))
  const to = from + (counts[row] as number)
  return [bytesOf(indices.subarray(from, to)), bytesOf(values.subarray(from, to))]
}

function multiBytes({ objects, counts, vectors }: MultiColumn, position: number): Uint8Array[] | undefined {
  const row = objects.indexOf(position)
  if (row < 0) return undefined
  const dimension = vectors.length / sumOf(counts)
  const from = sumOf(counts.subarray(0, row))
  return [bytesOf(vectors.subarray(from * dimension, (from + (counts[row] as number)) * dimension))]
}

function textBytes({ objects, texts }: TextColumn, position: number): Uint8Array[] | undefined {
  const row = objects.indexOf(position)
  return row < 0 ? undefined : [Buffer.from(texts[row] as string)]
}

function sumOf(counts: Uint32Array): number {
  return counts.reduce((sum, count) => sum + count, 0)
}

function bytesOf({ buffer, byteOffset, byteLength }: Float32Array | Uint32Array): Uint8Array {
  return new Uint8Array(buffer, byteOffset, byteLength)
}

const nothing: Content = { meta: new Uint8Array(), filter: '', fields: new Map() }

/** Nothing if the version before is unknown. */
function changes(before: Known, after: Known, names: readonly string[]): Pick<ObjectVersion, 'changes'> {
  if (before === 'unknown' || after === 'unknown') return {}
  const [was, is] = [before === 'absent' ? nothing : before, after === 'absent' ? nothing : after]
  const fields = names.filter((_, field) => was.fields.get(field) !== is.fields.get(field))
  const [metaBefore, metaAfter] = [metaValues(was.meta), metaValues(is.meta)]
  const isMetaText =
    (metaBefore !== undefined || was.meta.length === 0) && (metaAfter !== undefined || is.meta.length === 0)
  return {
    changes: {
      meta: changedValues(metaBefore ?? {}, metaAfter ?? {}),
      ...(!isMetaText && Buffer.compare(was.meta, is.meta) !== 0 && { metaBytes: true as const }),
      filter: changedValues(storedValues(was.filter), storedValues(is.filter)),
      ...changedExpiry(splitText(was.filter).expiresAt, splitText(is.filter).expiresAt),
      fields,
    },
  }
}

/** Undefined for meta that is not a JSON object, or too large to inflate. */
function metaValues(bytes: Uint8Array): JsonObject | undefined {
  return new MetaBudget().read(bytes).meta
}

function changedExpiry(
  before: number | undefined,
  after: number | undefined,
): { readonly expiresAt?: ChangedValues[string] } {
  if (before === after) return {}
  return { expiresAt: { ...(before !== undefined && { before }), ...(after !== undefined && { after }) } }
}

function changedValues(before: JsonObject, after: JsonObject): ChangedValues {
  const changed: [string, ChangedValues[string]][] = []
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [
      Object.hasOwn(before, key) ? before[key] : undefined,
      Object.hasOwn(after, key) ? after[key] : undefined,
    ]
    if (JSON.stringify(was) === JSON.stringify(is)) continue
    changed.push([key, { ...(was !== undefined && { before: was }), ...(is !== undefined && { after: is }) }])
  }
  // A key may be __proto__.
  return Object.fromEntries(changed)
}
