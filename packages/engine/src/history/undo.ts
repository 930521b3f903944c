// Restores the content that objects had at a moment: finds these objects between two writes, and makes one record with their content.

import type { PastReplica } from '../backup/past-replica.ts'
import { EngineError } from '../errors.ts'
import { columnBytes } from '../events/upsert-pieces.ts'
import type { Filter } from '../filter/parse-filter.ts'
import { undoBytesMax } from '../limits.ts'
import type { ObjectsRestored } from '../model/event.ts'
import { hasLists } from '../model/schema.ts'
import { filterIn, hasExpiry } from '../model/stored-text.ts'
import { upsertOf } from '../replica/rebuild.ts'
import type { Replica } from '../replica/replica.ts'

/** Which objects an undo is about. */
export type Chosen = { readonly ids: readonly string[] } | { readonly conditions: Filter }

/** What an undo changes. */
export interface UndoPlan {
  /** Ordinals of the past: objects that were written since, or deleted. */
  readonly restored: Uint32Array
  /** Ids of objects that did not exist then. */
  readonly deleted: readonly string[]
}

/** The live collection, and the record since which a branch has the objects that were not written in it. */
export interface UndoSubject {
  readonly live: Replica
  readonly branchedAt: number | undefined
  /** The restored objects do not expire. */
  readonly keepsExpired: boolean
}

/** Finds what to change. A filter chooses what matches it now, and what matched it then. */
export function planUndo(
  chosen: Chosen,
  { live, branchedAt = 0, keepsExpired }: UndoSubject,
  { replica: past, lsn }: PastReplica,
): UndoPlan {
  const ids = 'ids' in chosen ? new Set(chosen.ids) : new Set([...matches(past, chosen), ...matches(live, chosen)])
  const restored: number[] = []
  const deleted: string[] = []
  for (const id of ids) {
    const then = past.find(id)
    if (then < 0) {
      if (live.find(id) >= 0) deleted.push(id)
      continue
    }
    // An object that has expired since and is still stored has its content.
    const now = live.findStored(id)
    // 0 where the last write is older than the version that keeps LSNs, and unknown. Every version with branches keeps them.
    const written = now < 0 ? 0 : live.objects.lsnAt(now) || branchedAt
    // An object that was not written since has the expiry that it had.
    const isCleared = keepsExpired && hasExpiry(past.objects.filterText(then))
    if (written === 0 || written > lsn || isCleared) restored.push(then)
  }
  return { restored: Uint32Array.from(restored), deleted }
}

function* matches(replica: Replica, { conditions }: { readonly conditions: Filter }): Generator<string> {
  for (const ordinal of replica.filters.evaluate(conditions).bitmap.toOrdinals()) yield replica.objects.idAt(ordinal)
}

/** What the record says. */
export type RestoredContent = Omit<ObjectsRestored, 'kind' | 'timeMs' | 'collectionId'>

/** The content of the record. Throws limit_exceeded before it takes the memory. */
export async function restoredContent(
  { restored, deleted }: UndoPlan,
  { replica: past, lsn }: PastReplica,
  { keepsExpired }: Pick<UndoSubject, 'keepsExpired'>,
): Promise<RestoredContent> {
  const bytes =
    restored.reduce((sum, ordinal) => sum + bytesAt(past, ordinal), 0) + deleted.reduce((sum, id) => sum + id.length, 0)
  if (bytes > undoBytesMax) throw tooLarge(restored.length, bytes)
  const { ids, metas, dense, sparse, multi, text, ...stored } = await upsertOf(past, restored)
  const filters = keepsExpired ? stored.filters.map(filterIn) : stored.filters
  const columns = { ids, metas, filters, dense, sparse, multi, text }
  const exact = columnBytes(columns)
  if (exact > undoBytesMax) throw tooLarge(restored.length, exact)
  return { ...columns, deleted, asOfLsn: lsn }
}

/** At least what an object takes in the record. */
function bytesAt({ definition, objects, originals, dense }: Replica, ordinal: number): number {
  return definition.fields.reduce((sum, field, index) => {
    // Their terms and texts are in the record.
    if (hasLists(field)) return sum
    const rows = field.kind === 'multi' ? (originals[index]?.count(ordinal) ?? 0) : 1
    return dense[index] === undefined ? sum : sum + rows * field.params.dimension * 4
  }, objects.recordBytesAt(ordinal))
}

function tooLarge(objects: number, bytes: number): EngineError {
  const message = `the content of ${objects} objects takes ${bytes} bytes, at most ${undoBytesMax} are restored at once; undo in parts, or restore the collection under another name`
  return new EngineError('limit_exceeded', message, { field: 'filter', value: bytes, limit: undoBytesMax })
}
