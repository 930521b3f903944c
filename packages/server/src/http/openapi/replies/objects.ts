// Replies with stored objects, and to writes of objects.
import { anyOf, integer, list, map, number, object, orNull, ref, text } from '../build.ts'
import { acknowledgement, member, message, numbers, objectHead, type Schemas, storedMeta } from './parts.ts'

export const objectReplies = {
  StoredFilter: { type: 'object', additionalProperties: true, description: 'Stored filter values.' },
  StoredVector: object(
    { ...objectHead, norm: number(), vector: numbers },
    { ...storedMeta, sparse_indices: list(integer()), sparse_values: numbers },
  ),
  StoredObject: object(objectHead, {
    ...storedMeta,
    fields: map(
      anyOf([
        member,
        object({ sparse_indices: list(integer()), sparse_values: numbers }),
        object({ vectors: list(member) }),
      ]),
      'By field, in the form that an upsert accepts.',
    ),
  }),
  Objects: object({ objects: list(ref('StoredObject')) }),
  ObjectPage: object({
    objects: list(ref('StoredObject')),
    cursor: orNull(text('Cursor of the next page; null on the last page.')),
    lsn: integer(),
  }),
  VectorsUpserted: object({ ...message, upserted: integer(), ...acknowledgement }),
  VectorDeleted: object({ ...message, deleted: list(text()), ...acknowledgement }),
  VectorsDeleted: object({ ...message, deleted: integer(), ...acknowledgement }),
  VectorFiltersUpdated: object({ ...message, updated: integer(), ...acknowledgement }),
  ObjectsUpserted: object({ upserted: integer(), ...acknowledgement }),
  ObjectDeleted: object({ deleted: text('The id of the object.'), ...acknowledgement }),
  ObjectsDeleted: object({ deleted: integer(), ...acknowledgement }),
  FiltersUpdated: object({ updated: integer(), ...acknowledgement }),
  Count: object({ count: integer(), lsn: integer() }),
  Facets: object({
    values: list(object({ value: { type: ['string', 'number', 'boolean'] }, count: integer() })),
    distinct: integer('Number of distinct values.'),
    lsn: integer(),
  }),
} satisfies Schemas
