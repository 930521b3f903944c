// Objects in /api/v2: the MessagePack ObjectBatch, or JSON objects with a map of fields.

import { type FieldValue, membersMax, type ObjectInput } from '@annal/engine'
import { runToEnd } from '@annal/wal'
import { Type } from '@sinclair/typebox'
import { invalidArgument, ServerError } from '../errors.ts'
import { isObject } from '../json-object.ts'
import { bodyBytesUpsertMax } from '../limits.ts'
import { asOfOptions } from './as-of.ts'
import { atomicKey, conditionKeys, readWriteConditions } from './conditions.ts'
import { contentOptions } from './contents.ts'
import { checkValueForm, type KindOf } from './field-kinds.ts'
import { parseJsonText } from './json-body.ts'
import type { ListReader } from './list-reader.ts'
import { MsgpackReader } from './msgpack-reader.ts'
import { EntryFloats, floatsFrom, indicesFrom, ScannedNumbers } from './numbers.ts'
import { checkBatch, readFilter, readId, readMeta } from './object-parts.ts'
import { readOptions } from './read-options.ts'
import { describedAs, type Infer, minLsn } from './schema.ts'
import { isVectorList, vectorFrom, vectorsFrom } from './vector-bytes.ts'

/** Numbers read without yielding: one or two milliseconds. */
const floatsBetweenRests = 262_144

/** Describes the JSON body. The reader below checks it, so that the numbers are read only once. */
export const upsertObjectsBody = Type.Object({
  objects: Type.Array(
    describedAs(
      Type.Object({
        id: Type.Unknown(),
        meta: Type.Unknown(),
        filter: Type.Unknown(),
        fields: Type.Object({}),
        ...conditionKeys,
        lsn: Type.Unknown(),
      }),
      'ObjectInput',
    ),
  ),
  atomic: atomicKey,
})

/** Body that reads objects by id. */
export function queryObjectsBody(batchMax: number) {
  return Type.Object(
    {
      ids: Type.Array(Type.Unsafe<string | number>({ type: ['string', 'integer'] }), {
        maxItems: batchMax,
        description: 'Ids of the objects; unknown ids are left out of the reply.',
      }),
      min_lsn: minLsn(),
      ...contentOptions,
      ...asOfOptions,
      ...readOptions,
    },
    { $id: 'QueryObjects' },
  )
}
export type QueryObjectsBody = Infer<ReturnType<typeof queryObjectsBody>>

/** `[[[id, meta, filter, vectors, sparses, multi_vectors, conditions, texts], ...]]`: one array around the array of objects. It may be empty. */
function readObjectBatch(bytes: Uint8Array, batchMax: number): ObjectInput[] {
  const reader = new MsgpackReader(bytes)
  const outer = reader.array('body')
  if (outer === 0) return []
  if (outer !== 1)
    throw invalidArgument('the body must be an array that contains one array of objects', {
      field: 'body',
      value: outer,
      limit: 1,
    })
  const count = reader.array('objects')
  checkBatch(count, batchMax)
  const objects: ObjectInput[] = []
  for (let i = 0; i < count; i++) objects.push(runToEnd(readObjectTuple(reader, `objects[${i}]`)))
  return objects
}

/** Reads the objects of an upsert in both forms. */
export function objectsReader(batchMax: number, kindOf: KindOf, end: (count: number) => void): ListReader<ObjectInput> {
  const floats = new EntryFloats()
  return {
    json: {
      shape: { listKey: 'objects', name: 'objects', vectorKeys: new Set(['fields']) },
      whole: (body) => readObjectsJson(body, batchMax, kindOf),
      item: (item, path) => readObjectJson(item, path, kindOf),
      noList: (body) => readObjectsJson(body, batchMax, kindOf),
    },
    msgpack: {
      shape: { list: 'element', itemBytesMax: bodyBytesUpsertMax, onCount: (count) => checkBatch(count, batchMax) },
      whole: (bytes) => readObjectBatch(bytes, batchMax),
      item(bytes, path) {
        floats.begin()
        return readObjectTuple(new MsgpackReader(bytes, floats.room), path)
      },
      noList: (first) => readObjectBatch(first, batchMax),
    },
    end,
  }
}

/** Yields between the vectors of an object that has many. */
function* readObjectTuple(reader: MsgpackReader, field: string): Generator<void, ObjectInput> {
  const length = reader.array(field)
  if (length < 1 || length > 8)
    throw invalidArgument(`${field} must have 1 to 8 parts`, { field, value: length, limit: 8 })
  const id = reader.string(`${field}.id`)
  const meta = length > 1 ? reader.binary(`${field}.meta`) : new Uint8Array(0)
  const filter = length > 2 ? reader.text(`${field}.filter`) : ''
  const fields: [string, FieldValue][] = []
  const vectors = length > 3 ? reader.map(`${field}.vectors`) : 0
  for (let i = 0; i < vectors; i++) {
    const name = reader.string(`${field}.vectors`)
    fields.push([name, reader.vector(`${field}.fields.${name}`)])
  }
  const sparses = length > 4 ? reader.map(`${field}.sparses`) : 0
  for (let i = 0; i < sparses; i++) {
    const name = reader.string(`${field}.sparses`)
    fields.push([name, readSparsePair(reader, `${field}.fields.${name}`)])
  }
  const multis = length > 5 ? reader.map(`${field}.multi_vectors`) : 0
  for (let i = 0; i < multis; i++) {
    const name = reader.string(`${field}.multi_vectors`)
    fields.push([name, yield* readMembers(reader, `${field}.fields.${name}`)])
  }
  const conditions = length > 6 ? readConditionsText(reader.text(`${field}.conditions`), field) : {}
  const texts = length > 7 ? reader.map(`${field}.texts`) : 0
  for (let i = 0; i < texts; i++) {
    const name = reader.string(`${field}.texts`)
    fields.push([name, reader.text(`${field}.fields.${name}`)])
  }
  return {
    id,
    ...conditions,
    ...(meta.length === 0 ? {} : { meta }),
    ...(filter === '' ? {} : { filter }),
    fields: fieldMap(fields, field),
  }
}

/** The text of a JSON object with the conditions; '' for none. */
function readConditionsText(text: string, field: string) {
  const conditions = text === '' ? {} : parseJsonText(text, `${field}.conditions`)
  if (isObject(conditions)) return readWriteConditions(conditions, field)
  throw invalidArgument(`${field}.conditions must be a JSON object`, { field: `${field}.conditions`, value: text })
}

function* readMembers(reader: MsgpackReader, field: string): Generator<void, Float32Array[]> {
  const count = reader.array(field)
  if (count > membersMax) {
    throw new ServerError('limit_exceeded', `${field} has ${count} vectors, at most ${membersMax} are allowed`, {
      field,
      value: count,
      limit: membersMax,
    })
  }
  const members: Float32Array[] = []
  let unrested = 0
  for (let i = 0; i < count; i++) {
    const member = reader.vector(`${field}[${i}]`)
    members.push(member)
    unrested += member.length
    if (unrested < floatsBetweenRests) continue
    unrested = 0
    yield
  }
  return members
}

function readSparsePair(reader: MsgpackReader, field: string): FieldValue {
  const parts = reader.array(field)
  if (parts !== 2) throw invalidArgument(`${field} must be [indices, values]`, { field, value: parts, limit: 2 })
  return { indices: reader.indices(`${field}.indices`), values: reader.floats(`${field}.values`) }
}

/** `{"objects":[{"id","meta","filter","fields":{name: value}}]}`, or only the array. */
function readObjectsJson(body: unknown, batchMax: number, kindOf: KindOf): ObjectInput[] {
  const items: unknown = isObject(body) ? body.objects : body
  if (!Array.isArray(items)) throw invalidArgument('objects must be an array', { field: 'objects', value: items })
  checkBatch(items.length, batchMax)
  return items.map((item: unknown, i) => readObjectJson(item, `objects[${i}]`, kindOf))
}

function readObjectJson(item: unknown, field: string, kindOf: KindOf): ObjectInput {
  if (!isObject(item)) throw invalidArgument(`${field} must be an object`, { field, value: item })
  const { fields } = item
  if (!isObject(fields))
    throw invalidArgument(`${field}.fields must be an object`, { field: `${field}.fields`, value: fields })
  return {
    id: readId(item.id, `${field}.id`),
    ...readMeta(item.meta, `${field}.meta`),
    ...readFilter(item.filter, `${field}.filter`),
    ...readWriteConditions(item, field),
    fields: fieldMap(
      Object.entries(fields).map(([name, value]) => {
        const path = `${field}.fields.${name}`
        // Most values are numbers, whose kind the engine checks.
        if (value instanceof ScannedNumbers) return [name, vectorFrom(value, path)]
        const kind = kindOf(name)
        checkValueForm(value, kind, path)
        return [
          name,
          typeof value === 'string' && (kind === 'text' || kind === undefined) ? value : readFieldValue(value, path),
        ]
      }),
      field,
    ),
  }
}

/** Accepts a vector, `{"vector":...}`, several vectors, or the two arrays of a sparse vector. */
function readFieldValue(value: unknown, field: string): FieldValue {
  if (!isObject(value)) {
    return isVectorList(value) ? vectorsFrom(value, field) : vectorFrom(value, field)
  }
  if (value.vectors !== undefined) return vectorsFrom(value.vectors, `${field}.vectors`)
  if (value.vector !== undefined) return vectorFrom(value.vector, `${field}.vector`)
  return readSparseJson(value, field)
}

/** `{"indices","values"}`, also under their long names. */
export function readSparseJson(value: { readonly [key: string]: unknown }, field: string) {
  return {
    indices: indicesFrom(value.indices ?? value.sparse_indices, `${field}.indices`),
    values: floatsFrom(value.values ?? value.sparse_values, `${field}.values`),
  }
}

/** Sets own properties only, whatever the names are. Rejects a repeated name, because it would hide one of its values. */
function fieldMap(fields: readonly (readonly [string, FieldValue])[], field: string): { [name: string]: FieldValue } {
  const map = Object.fromEntries(fields)
  if (Object.keys(map).length === fields.length) return map
  throw invalidArgument(`${field} has two values for the same field`, { field })
}
