// Replies with stored objects, and to writes of objects.
import { anyOf, integer, list, map, number, object, oneOfTexts, orNull, ref, text } from '../build.ts'
import {
  acknowledgement,
  asOfMoment,
  expiry,
  member,
  message,
  numbers,
  objectHead,
  objectLsn,
  type Schemas,
  storedMeta,
} from './parts.ts'

export const objectReplies = {
  StoredFilter: { type: 'object', additionalProperties: true, description: 'Stored filter values.' },
  StoredVector: object(
    { ...objectHead, norm: number(), vector: numbers },
    { ...storedMeta, sparse_indices: list(integer()), sparse_values: numbers },
  ),
  StoredObject: object(
    { ...objectHead, lsn: objectLsn },
    {
      ...storedMeta,
      expires_at: expiry,
      fields: map(
        anyOf([
          member,
          object({ sparse_indices: list(integer()), sparse_values: numbers }),
          object({ vectors: list(member) }),
          text('The text of a text field.'),
        ]),
        'By field, in the form that an upsert accepts.',
      ),
    },
  ),
  Objects: object({ objects: list(ref('StoredObject')) }, asOfMoment),
  ObjectPage: object(
    {
      objects: list(ref('StoredObject')),
      cursor: orNull(text('Cursor of the next page; null on the last page.')),
      lsn: integer(),
    },
    asOfMoment,
  ),
  VectorsUpserted: object({ ...message, upserted: integer(), ...acknowledgement }),
  VectorDeleted: object({ ...message, deleted: list(text()), ...acknowledgement }),
  VectorsDeleted: object({ ...message, deleted: integer(), ...acknowledgement }),
  VectorFiltersUpdated: object({ ...message, updated: integer(), ...acknowledgement }),
  WriteResult: object(
    {
      id: text(),
      status: oneOfTexts(
        ['ok', 'conflict', 'error'],
        'conflict: a condition did not hold. error: the patch does not fit the object.',
      ),
      lsn: integer('LSN of the write if it changed the object, otherwise of the stored object; 0 if there is none.'),
    },
    { error: object({ code: text(), message: text() }, { field: text() }) },
  ),
  ObjectsUpserted: object(
    { upserted: integer(), ...acknowledgement },
    { results: list(ref('WriteResult'), 'If an object had a condition, or the write was atomic.') },
  ),
  ObjectsPatched: object({ updated: integer(), ...acknowledgement, results: list(ref('WriteResult')) }),
  ObjectDeleted: object({ deleted: text('The id of the object.'), ...acknowledgement }),
  ObjectsDeleted: object({ deleted: integer(), ...acknowledgement }),
  FiltersUpdated: object({ updated: integer(), ...acknowledgement }),
  Count: object({ count: integer(), lsn: integer() }, asOfMoment),
  Facets: object(
    {
      values: list(object({ value: { type: ['string', 'number', 'boolean'] }, count: integer() })),
      distinct: integer('Number of distinct values.'),
      lsn: integer(),
    },
    asOfMoment,
  ),
} satisfies Schemas
