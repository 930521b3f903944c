// The replies of reads by id in both versions, from objects as the engine returns them. Serving threads write replies with it, so it loads
// no schemas.
import type { AsOfMoment, ContentOptions, StoredObject } from '@annal/engine'
import { MetaBudget } from '@annal/engine/reader'
import type { IndexFields } from './index-fields.ts'
import { metaJson } from './meta-json.ts'
import { asOfMember, expiryMember } from './moment.ts'
import { MsgpackWriter } from './msgpack-writer.ts'
import { arrayPieces, memberPieces, numbersJson, objectPieces, withMembers } from './pieces.ts'

/**
 * `[id, meta, filter, norm, vector, sparse_indices, sparse_values]`. Norm and vector have the form that a published client sends.
 */
export function* objectReplyMsgpack(object: StoredObject, { denseField, sparseField }: IndexFields): Generator<Buffer> {
  const dense = object.dense[denseField]
  const sparse = object.sparse[sparseField]
  yield new MsgpackWriter()
    .array(7)
    .string(object.id)
    .binary(object.metaBytes)
    .string(object.filterText === '' ? '{}' : object.filterText)
    .float(dense?.norm ?? 1)
    .floats(dense?.row ?? [])
    .uints(sparse?.indices ?? [])
    .floats(sparse?.values ?? [])
    .finish()
}

/** One object as JSON. */
export function objectReplyJson(object: StoredObject, { denseField, sparseField }: IndexFields): Generator<string> {
  const dense = object.dense[denseField]
  const sparse = object.sparse[sparseField]
  return withMembers({ ...objectHeadJson(object, new MetaBudget()), norm: dense?.norm ?? 1 }, [
    ['vector', [numbersJson(dense?.vector ?? [])]],
    ...(sparse === undefined ? [] : sparsePieces(sparse)),
  ])
}

/** An object of a collection without its fields. */
function storedHeadJson(object: StoredObject, metas: MetaBudget) {
  const { id, ...rest } = objectHeadJson(object, metas)
  return { id, lsn: object.lsn, ...rest, ...expiryMember(object.expiresAt) }
}

/** What an object has in both versions besides its fields. */
function objectHeadJson(object: StoredObject, metas: MetaBudget) {
  return { id: object.id, ...metaJson(object, metas), filter: object.filter }
}

/** The two arrays of a sparse vector as JSON. */
function sparsePieces({ indices, values }: StoredObject['sparse'][string]): [string, Iterable<string>][] {
  return [
    ['sparse_indices', [numbersJson(indices)]],
    ['sparse_values', [numbersJson(values)]],
  ]
}

/**
 * The ObjectBatch form, with the original vectors. As in an upsert, an object that expires has a seventh part, the JSON text with `expires_at`, and
 * one with texts an eighth.
 */
export function* objectBatchReply(objects: readonly StoredObject[]): Generator<Buffer> {
  const writer = new MsgpackWriter().array(1).array(objects.length)
  for (const object of objects) {
    const { expiresAt } = object
    const texts = Object.entries(object.text)
    writer
      .array(texts.length > 0 ? 8 : expiresAt === undefined ? 6 : 7)
      .string(object.id)
      .binary(object.metaBytes)
      .string(object.filterText)
    const dense = Object.entries(object.dense)
    writer.map(dense.length)
    for (const [name, { vector }] of dense) writer.string(name).floats(vector)
    const sparse = Object.entries(object.sparse)
    writer.map(sparse.length)
    for (const [name, { indices, values }] of sparse) writer.string(name).array(2).uints(indices).floats(values)
    const multi = Object.entries(object.multi)
    writer.map(multi.length)
    for (const [name, members] of multi) {
      writer.string(name).array(members.length)
      for (const { vector } of members) {
        writer.floats(vector)
        yield* writer.piece()
      }
    }
    if (expiresAt !== undefined) writer.string(JSON.stringify(expiryMember(expiresAt)))
    else if (texts.length > 0) writer.string('')
    if (texts.length > 0) writer.map(texts.length)
    for (const [name, text = ''] of texts) {
      writer.string(name).string(text)
      yield* writer.piece()
    }
    yield* writer.piece()
  }
  yield writer.finish()
}

/** The objects of a reply as JSON. */
export function objectsJsonReply(
  objects: readonly StoredObject[],
  { asOf, contents }: { readonly asOf?: AsOfMoment; readonly contents?: ContentOptions } = {},
): Generator<string> {
  const pieces = piecesOf(objects, contents)
  return asOf === undefined ? objectPieces([['objects', pieces]]) : withMembers(asOfMember(asOf), [['objects', pieces]])
}

/** Objects as JSON; without `fields` if neither vectors nor texts were requested. */
export function piecesOf(objects: readonly StoredObject[], contents: ContentOptions = {}): Generator<string> {
  const { includeVectors = true, includeTexts = includeVectors } = contents
  return includeVectors || includeTexts ? objectsPieces(objects) : headsPieces(objects)
}

/** In the form of an upsert, with the original vectors. */
function objectsPieces(objects: readonly StoredObject[]): Generator<string> {
  const metas = new MetaBudget()
  return arrayPieces(objects, (object) =>
    withMembers(storedHeadJson(object, metas), [['fields', objectPieces(fieldPieces(object))]]),
  )
}

/** Objects without their fields. */
function headsPieces(objects: readonly StoredObject[]): Generator<string> {
  const metas = new MetaBudget()
  return arrayPieces(objects, (object) => [JSON.stringify(storedHeadJson(object, metas))])
}

function* fieldPieces({ dense, sparse, multi, text }: StoredObject): Generator<[string, Iterable<string>]> {
  for (const [name, { vector, norm }] of Object.entries(dense)) {
    yield [name, [`{"vector":${numbersJson(vector)},"norm":${JSON.stringify(norm)}}`]]
  }
  for (const [name, terms] of Object.entries(sparse)) yield [name, objectPieces(sparsePieces(terms))]
  for (const [name, members] of Object.entries(multi)) yield [name, objectPieces([['vectors', memberPieces(members)]])]
  for (const [name, one] of Object.entries(text)) yield [name, [JSON.stringify(one)]]
}
