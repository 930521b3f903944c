// Looks through a replica that was built of files from outside: whatever is in it must be what a client could have written.
// The files' checksums prove only that nothing changed on the way.
import { yieldToOthers } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { parseFilterValues } from '../filter/values.ts'
import { metaBytesMax } from '../limits.ts'
import { parseId } from '../model/ids.ts'
import type { Replica } from '../replica/replica.ts'

/** Objects looked at before searches get a turn. */
const atATime = 500

/** Throws backup_damaged, naming the object. */
export async function auditReplica(replica: Replica): Promise<void> {
  const ordinals = replica.filters.evaluate([]).bitmap.toOrdinals()
  if (ordinals.length !== replica.count) throw wrong(`${ordinals.length} of ${replica.count} objects can be found`)
  for (const [i, ordinal] of ordinals.entries()) {
    if (i % atATime === 0) await yieldToOthers()
    try {
      auditObject(replica, ordinal)
    } catch (error) {
      throw wrong(`the object of ordinal ${ordinal}: ${(error as Error).message}`)
    }
  }
}

function auditObject(replica: Replica, ordinal: number): void {
  const { objects, dense, sparse, definition, version } = replica
  const id = parseId(objects.idAt(ordinal), 'id')
  if (replica.find(id) !== ordinal) throw wrong('its id leads elsewhere')
  if (objects.meta(ordinal).length > metaBytesMax) throw wrong('its meta is too long')
  const filter = objects.filterText(ordinal)
  if (filter !== '') parseFilterValues(filter)
  for (const field of dense) {
    if (!field?.has(ordinal, version)) continue
    if (!Number.isFinite(field.norm(ordinal)) || !field.row(ordinal)?.every(Number.isFinite))
      throw wrong(`its vector of ${field.definition.name} holds what is no number`)
  }
  for (const { field, indices, values } of objects.sparse(ordinal)) {
    const of = definition.fields[field]
    if (of?.kind !== 'sparse' || !sparse[field]) throw wrong(`it has terms of field ${field}`)
    if (!values.every(Number.isFinite)) throw wrong(`its terms of ${of.name} hold what is no number`)
    if (indices.some((index, i) => index >= of.params.dimension || (i > 0 && index <= (indices[i - 1] as number))))
      throw wrong(`its terms of ${of.name} are not in order`)
  }
}

function wrong(what: string): EngineError {
  return new EngineError('backup_damaged', `the collection in this backup is not sound: ${what}`)
}
