// Lists the neighbors of an object in the graph of a dense field, to explain results.
import { EngineError } from '../errors.ts'
import { parseId, printed } from '../model/ids.ts'
import type { Replica } from '../replica/replica.ts'

/**
 * Ids of the live neighbors of an object at level 0, as of now. Throws object_not_found, field_not_found, or invalid_argument if the field
 * is sparse.
 */
export function neighborsOf(replica: Replica, field: string, id: string): readonly string[] {
  const dense = denseFieldOf(replica, field)
  const ordinal = replica.find(parseId(id, 'id'))
  if (ordinal < 0) {
    throw new EngineError('object_not_found', `there is no object with id ${printed(id)}`, { field: 'id', value: id })
  }
  const { version } = replica
  if (!dense.has(ordinal, version)) return []
  return dense
    .links(ordinal)
    .filter((linked) => dense.has(linked, version))
    .map((linked) => replica.objects.idAt(linked))
}

function denseFieldOf(replica: Replica, name: string) {
  const fieldIndex = replica.definition.fields.findIndex((field) => field.name === name)
  if (fieldIndex < 0) {
    throw new EngineError('field_not_found', `the collection has no field ${printed(name)}`, {
      field: 'field',
      value: name,
    })
  }
  const dense = replica.dense[fieldIndex]
  if (dense !== undefined) return dense
  throw new EngineError('invalid_argument', `field ${printed(name)} is sparse; sparse fields have no graph`, {
    field: 'field',
    value: name,
  })
}
