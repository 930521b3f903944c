// The body of an upsert into a collection: a MessagePack array around the array of
// [id, meta, filter, {field: vector}, {field: [indices, values]}, {field: [vector, ...]}], and the text of the conditions, and {field: text}, if
// there are some.

import { AnnalError } from '../errors.ts'
import type { MultiVector, SparseVector, WriteConditions, WriteExpiry } from '../model.ts'
import { packMeta } from '../packed-meta.ts'
import type { FieldValue, ObjectInput } from '../stored-object.ts'
import { checkId } from './batch.ts'
import { writeConditionsBody } from './collection-bodies.ts'
import { jsonText } from './json-text.ts'
import { MessageWriter } from './message-writer.ts'
import { checkNumbers, checkSparse, isMany } from './vector.ts'

export function encodeObjects(objects: readonly ObjectInput[]): Uint8Array<ArrayBuffer> {
  if (!Array.isArray(objects))
    throw new AnnalError('invalid_argument', 'upsert expects an array of objects', { field: 'objects' })
  const writer = new MessageWriter(bytesExpected(objects))
  writer.arrayHeader(1)
  writer.arrayHeader(objects.length)
  for (const [i, object] of objects.entries()) writeObject(writer, object, `objects[${i}]`)
  return writer.finish()
}

function writeObject(writer: MessageWriter, object: ObjectInput, where: string): void {
  checkId(object?.id, `${where}.id`)
  if (object.fields === null || typeof object.fields !== 'object') {
    const field = `${where}.fields`
    throw new AnnalError('invalid_argument', `${field} must be an object`, { field, value: object.fields })
  }
  // A field without a value is left out.
  const values = Object.entries(object.fields).filter((entry): entry is [string, FieldValue] => entry[1] !== undefined)
  const sparse = values.filter((entry): entry is [string, SparseVector] => isSparse(entry[1]))
  const multi = values.filter((entry): entry is [string, MultiVector] => isMulti(entry[1]))
  const texts = values.filter((entry): entry is [string, string] => typeof entry[1] === 'string')
  const dense = values.filter(
    (entry): entry is [string, ArrayLike<number>] =>
      !isSparse(entry[1]) && !isMulti(entry[1]) && typeof entry[1] !== 'string',
  )
  const conditions = conditionsText(object)
  writer.arrayHeader(texts.length > 0 ? 8 : conditions === undefined ? 6 : 7)
  writer.text(object.id)
  writer.binary(packMeta(object.meta, `${where}.meta`))
  writer.text(filterText(object.filter, `${where}.filter`))
  writer.mapHeader(dense.length)
  for (const [name, vector] of dense) {
    checkNumbers(vector, `${where}.fields.${name}`)
    writer.text(name)
    writer.float32Array(vector)
  }
  writer.mapHeader(sparse.length)
  for (const [name, terms] of sparse) {
    checkSparse(terms, `${where}.fields.${name}`)
    writer.text(name)
    writer.arrayHeader(2)
    writer.uint32Array(terms.indices)
    writer.float32Array(terms.values)
  }
  writer.mapHeader(multi.length)
  for (const [name, vectors] of multi) {
    writer.text(name)
    writer.arrayHeader(vectors.length)
    for (let i = 0; i < vectors.length; i++) {
      // Below the length of the list; anything but a vector is refused here.
      const vector = vectors[i] as ArrayLike<number>
      checkNumbers(vector, `${where}.fields.${name}[${i}]`)
      writer.float32Array(vector)
    }
  }
  if (conditions !== undefined || texts.length > 0) writer.text(conditions ?? '')
  if (texts.length === 0) return
  writer.mapHeader(texts.length)
  for (const [name, text] of texts) {
    writer.text(name)
    writer.text(text)
  }
}

function conditionsText(object: WriteConditions & WriteExpiry): string | undefined {
  const conditions = writeConditionsBody(object)
  return Object.keys(conditions).length === 0 ? undefined : JSON.stringify(conditions)
}

/** JSON text is sent as it is. */
function filterText(filter: ObjectInput['filter'], field: string): string {
  if (filter === undefined) return ''
  return typeof filter === 'string' ? filter : jsonText(filter, field)
}

function isMulti(value: FieldValue): value is MultiVector {
  return typeof value !== 'string' && !isSparse(value) && isMany(value)
}

function isSparse(value: FieldValue): value is SparseVector {
  return value !== null && typeof value === 'object' && 'indices' in value
}

/** Five bytes per number, and some for the rest; the writer grows if necessary. */
function bytesExpected(objects: readonly ObjectInput[]): number {
  let bytes = 16
  for (const object of objects) {
    bytes += 160
    for (const value of Object.values(object?.fields ?? {})) {
      if (value === undefined) continue
      bytes += 32 + bytesOf(value)
    }
  }
  return bytes
}

function bytesOf(value: FieldValue): number {
  if (typeof value === 'string') return value.length * 3
  return isSparse(value) ? value.indices.length * 10 : numbersIn(value) * 5
}

function numbersIn(value: Exclude<FieldValue, SparseVector | string>): number {
  if (!isMany(value)) return value?.length ?? 0
  let numbers = 0
  for (let i = 0; i < value.length; i++) numbers += (value[i]?.length ?? 0) + 1
  return numbers
}
