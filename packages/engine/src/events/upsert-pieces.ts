// Encodes the payload of a large upsert in pieces, so that encoding does not block other work and long columns are not copied. The
// concatenated pieces equal the output of encodeEvent after time and collection.
import protobuf from 'protobufjs/light.js'
import type { ObjectsUpserted, TextColumn } from '../model/event.ts'
import { denseToMessage, multiToMessage, sparseToMessage, textToMessage } from './column-codec.ts'
import { messageType } from './schema.ts'

type Columns = Omit<ObjectsUpserted, 'kind' | 'timeMs' | 'collectionId'>

/** Smaller events are encoded in one piece. */
export const upsertPiecesFrom = 512 * 1024
/** Approximate number of bytes that are copied into one piece. */
const pieceBytes = 512 * 1024

const upserted = messageType('ObjectsUpserted')

/** Lower bound of the bytes that the columns take in the event. */
export function columnBytes({ metas, filters, dense, sparse, multi, text }: Columns): number {
  let bytes = 0
  for (const meta of metas) bytes += meta.length
  for (const filter of filters) bytes += filter.length
  for (const { vectors } of dense) bytes += vectors.byteLength
  for (const { indices, values } of sparse) bytes += indices.byteLength + values.byteLength
  for (const { vectors } of multi) bytes += vectors.byteLength
  for (const { texts } of text) for (const one of texts) bytes += one.length
  return bytes
}

/** Yields the pieces in the order of the fields of ObjectsUpserted. */
export function* upsertPieces(columns: Columns): Generator<Uint8Array> {
  const { ids, metas, filters, dense, sparse, multi, text } = columns
  yield* listPieces('ids', ids)
  yield* listPieces('metas', metas)
  yield* listPieces('filters', filters)
  for (const column of dense) yield* columnPieces('dense', denseToMessage(column, ids.length))
  for (const column of sparse) yield* columnPieces('sparse', sparseToMessage(column))
  for (const column of multi) yield* columnPieces('multi', multiToMessage(column))
  for (const column of text) yield* textPieces(column, ids.length)
}

/** A text column, which is a message in the event; its texts are encoded some at a time. */
function* textPieces(column: TextColumn, objects: number): Generator<Uint8Array> {
  const { id: number } = upserted.fields.text as protobuf.Field
  const { texts, ...head } = textToMessage(column, objects)
  const type = messageType('TextColumn')
  const pieces = [type.encode(head).finish(), ...textsInPieces(type, texts as readonly string[])]
  yield protobuf.Writer.create()
    .uint32((number << 3) | 2)
    .uint32(pieces.reduce((sum, { length }) => sum + length, 0))
    .finish()
  yield* pieces
}

function* textsInPieces(type: protobuf.Type, texts: readonly string[]): Generator<Uint8Array> {
  for (let from = 0; from < texts.length; ) {
    let to = from
    for (let bytes = 0; to < texts.length && bytes < pieceBytes; to++) bytes += texts[to]?.length ?? 0
    yield type.encode({ texts: texts.slice(from, to) }).finish()
    from = to
  }
}

function* listPieces(name: 'ids' | 'metas' | 'filters', values: readonly (string | Uint8Array)[]) {
  for (let from = 0; from < values.length; ) {
    let to = from
    for (let bytes = 0; to < values.length && bytes < pieceBytes; to++) bytes += values[to]?.length ?? 0
    yield upserted.encode({ [name]: values.slice(from, to) }).finish()
    from = to
  }
}

/** Yields a column, which is a message in the event. Its long parts are not copied. */
function* columnPieces(name: 'dense' | 'sparse' | 'multi', message: Record<string, unknown>): Generator<Uint8Array> {
  const { id: number } = upserted.fields[name] as protobuf.Field
  const pieces = [...partPieces(name, message)]
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  yield protobuf.Writer.create()
    .uint32((number << 3) | 2)
    .uint32(length)
    .finish()
  yield* pieces
}

const messageOf = { dense: 'DenseColumn', sparse: 'SparseColumn', multi: 'MultiColumn' } as const

function* partPieces(name: keyof typeof messageOf, message: Record<string, unknown>): Generator<Uint8Array> {
  const type = messageType(messageOf[name])
  for (const { name: part, id, type: kind } of type.fieldsArray) {
    const value = message[part]
    if (kind === 'bytes' && value instanceof Uint8Array && value.length > 0) {
      yield protobuf.Writer.create()
        .uint32((id << 3) | 2)
        .uint32(value.length)
        .finish()
      yield value
    } else yield type.encode({ [part]: value }).finish()
  }
}
