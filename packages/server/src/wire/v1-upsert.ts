// Reads the body of vector/insert: MessagePack tuples from the published clients, or JSON objects.
import type { FieldValue, ObjectInput } from '@annal/engine'
import { Type } from '@sinclair/typebox'
import { invalidArgument } from '../errors.ts'
import { isObject } from '../json-object.ts'
import { bodyBytesUpsertMax } from '../limits.ts'
import type { ListReader } from './list-reader.ts'
import { MsgpackReader } from './msgpack-reader.ts'
import { EntryFloats, floatsFrom, indicesFrom } from './numbers.ts'
import { checkBatch, readFilter, readId, readMeta } from './object-parts.ts'
import { describedAs, vectorValue } from './schema.ts'
import type { IndexShape } from './v1-index.ts'
import { vectorFrom } from './vector-bytes.ts'

const insertItem = Type.Object({
  id: Type.Union([Type.String(), Type.Integer()], { description: 'Unique in the index, 1 to 512 bytes.' }),
  vector: vectorValue('The vector; its length is the dimension of the index.'),
  norm: Type.Optional(
    Type.Number({
      description:
        'Stored and returned with the vector. In a cosine index, the length that the vector was divided by; omit it for a vector that was not divided.',
    }),
  ),
  meta: Type.Optional(
    describedAs(Type.Union([Type.Object({}), Type.String()]), {
      anyOf: [{ $ref: '#/components/schemas/Meta' }, { type: 'string' }],
      description: 'A JSON object or text, at most 64 KiB.',
    }),
  ),
  filter: Type.Optional(
    describedAs(Type.Union([Type.Object({}), Type.String()]), {
      anyOf: [{ $ref: '#/components/schemas/FilterValues' }, { type: 'string' }],
      description: 'Values to filter by.',
    }),
  ),
  sparse_indices: Type.Optional(Type.Array(Type.Integer())),
  sparse_values: Type.Optional(Type.Array(Type.Number())),
})

/** Describes the JSON body. The reader below checks it, so that the numbers are read only once. */
export const insertBody = Type.Union([Type.Array(insertItem), insertItem])

/** The index that objects are inserted into, and the maximum number of objects. */
export interface UpsertContext {
  readonly shape: IndexShape
  readonly batchMax: number
}

/** Reads the objects of an insert in both forms. */
export function insertReader(context: UpsertContext, end: (count: number) => void): ListReader<ObjectInput> {
  const { shape, batchMax } = context
  const floats = new EntryFloats()
  return {
    json: {
      shape: {
        listKey: 'vectors',
        name: 'objects',
        vectorKeys: new Set(['vector', 'sparse_indices', 'sparse_values']),
      },
      whole: (body) => readUpsertJson(body, context),
      item: (value, path) => readItem(value, path, shape),
      noList: (body) => readUpsertJson(body, context),
    },
    msgpack: {
      shape: { list: 'body', itemBytesMax: bodyBytesUpsertMax, onCount: (count) => checkCount(count, batchMax) },
      whole: (bytes) => readUpsertMsgpack(bytes, context),
      // biome-ignore lint/correctness/useYield: a tuple has one vector, which is read at once
      *item(bytes, path) {
        floats.begin()
        return readTuple(new MsgpackReader(bytes, floats.room), path, shape)
      },
      noList: (first) => readUpsertMsgpack(first, context),
    },
    end: (count) => {
      checkCount(count, batchMax)
      end(count)
    },
  }
}

/**
 * `[[id, meta, filter, norm, vector, sparse_indices?, sparse_values?], ...]`. Bytes after the array are ignored, because the
 * published JavaScript client sends its whole buffer.
 */
function readUpsertMsgpack(bytes: Uint8Array, context: UpsertContext): ObjectInput[] {
  const reader = new MsgpackReader(bytes)
  const count = reader.array('objects')
  checkCount(count, context.batchMax)
  const objects: ObjectInput[] = []
  for (let i = 0; i < count; i++) objects.push(readTuple(reader, `objects[${i}]`, context.shape))
  return objects
}

function readTuple(reader: MsgpackReader, field: string, shape: IndexShape): ObjectInput {
  const length = reader.array(field)
  if (length < 1 || length > 7) {
    throw invalidArgument(`${field} must have 1 to 7 parts`, { field, value: length, limit: 7 })
  }
  const id = reader.string(`${field}.id`)
  const meta = length > 1 ? reader.binary(`${field}.meta`) : new Uint8Array(0)
  const filter = length > 2 ? reader.text(`${field}.filter`) : ''
  const norm = length > 3 ? reader.optionalNumber(`${field}.norm`) : undefined
  const vector = length > 4 ? reader.vector(`${field}.vector`) : new Float32Array(0)
  const indices = length > 5 ? reader.indices(`${field}.sparse_indices`) : new Uint32Array(0)
  const values = length > 6 ? reader.floats(`${field}.sparse_values`) : new Float32Array(0)
  return {
    id,
    ...(meta.length === 0 ? {} : { meta }),
    ...(filter === '' ? {} : { filter }),
    fields: {
      [shape.denseField]: denseValue(vector, norm, field, shape),
      ...sparseValue(indices, values, field, shape),
    },
  }
}

/** Accepts an object, an array of objects, or `{"vectors":[...]}`. */
function readUpsertJson(body: unknown, context: UpsertContext): ObjectInput[] {
  const items: readonly unknown[] = Array.isArray(body)
    ? body
    : isObject(body) && Array.isArray(body.vectors)
      ? body.vectors
      : [body]
  checkCount(items.length, context.batchMax)
  return items.map((item, i) => readItem(item, `objects[${i}]`, context.shape))
}

function readItem(item: unknown, field: string, shape: IndexShape): ObjectInput {
  if (!isObject(item)) throw invalidArgument(`${field} must be an object`, { field, value: item })
  const indices =
    item.sparse_indices == null ? new Uint32Array(0) : indicesFrom(item.sparse_indices, `${field}.sparse_indices`)
  const values =
    item.sparse_values == null ? new Float32Array(0) : floatsFrom(item.sparse_values, `${field}.sparse_values`)
  const norm = item.norm
  if (norm != null && (typeof norm !== 'number' || !Number.isFinite(norm))) {
    throw invalidArgument(`${field}.norm must be a finite number`, { field: `${field}.norm`, value: norm })
  }
  const vector = vectorFrom(item.vector, `${field}.vector`)
  return {
    id: readId(item.id, `${field}.id`),
    ...readMeta(item.meta, `${field}.meta`),
    ...readFilter(item.filter, `${field}.filter`),
    fields: {
      [shape.denseField]: denseValue(vector, norm ?? undefined, field, shape),
      ...sparseValue(indices, values, field, shape),
    },
  }
}

/**
 * The published clients divide a cosine vector by its length and send the length as the norm. For other vectors, the norm is 1.
 */
function denseValue(vector: Float32Array, norm: number | undefined, field: string, { dense }: IndexShape): FieldValue {
  checkDimension(vector, `${field}.vector`, dense.dimension)
  return norm === undefined ? vector : { vector, norm }
}

/** Throws invalid_argument if a vector does not have the dimension of the index. */
export function checkDimension(vector: ArrayLike<number>, field: string, dimension: number): void {
  if (vector.length === dimension) return
  throw invalidArgument(`${field} has ${vector.length} numbers, but the index has ${dimension} dimensions`, {
    field,
    value: vector.length,
    limit: dimension,
  })
}

function sparseValue(
  indices: Uint32Array,
  values: Float32Array,
  field: string,
  shape: IndexShape,
): { [f: string]: FieldValue } {
  if (indices.length !== values.length) {
    throw invalidArgument(`${field} has ${indices.length} sparse_indices and ${values.length} sparse_values`, {
      field: `${field}.sparse_values`,
      value: values.length,
      limit: indices.length,
    })
  }
  if (indices.length === 0) return {}
  checkSparse(indices, `${field}.sparse_indices`, shape)
  return { [shape.sparseField]: { indices, values } }
}

/** Rejects sparse parts if the index would drop them. */
export function checkSparse(indices: Uint32Array, field: string, { sparse }: IndexShape): void {
  if (sparse !== undefined) return
  const message = `${field} has ${indices.length} entries, but the index has no sparse field`
  throw invalidArgument(message, { field, value: indices.length, limit: 0 })
}

function checkCount(count: number, batchMax: number): void {
  if (count === 0) throw invalidArgument('the batch is empty', { field: 'objects', value: 0, limit: 1 })
  checkBatch(count, batchMax)
}
