// Hot reads of objects by id: their bodies, and their replies, which are written as on the main thread. A missing object of /api/v1 is an
// error, and like all errors left to the main thread.
import type { IncomingHttpHeaders } from 'node:http'
import type { StoredObject } from '@annal/engine'
import type { ReaderCollection } from '@annal/engine/reader'
import { acceptsOnlyJson } from '../http/accept.ts'
import { hotReadBytesMax, largeReplyBytes } from '../limits.ts'
import { fieldsOfIndex, type IndexFields, namesOf } from '../wire/index-fields.ts'
import { objectBatchReply, objectReplyJson, objectReplyMsgpack, objectsJsonReply } from '../wire/object-replies.ts'
import { type BodyCursor, readLsn } from './body-cursor.ts'
import type { HotReply } from './contract.ts'
import { openBody } from './open-body.ts'
import { jsonType, msgpackType, replyOf } from './pieces-reply.ts'
import type { RoutePath } from './route-paths.ts'

/** More objects are read by the main thread, which yields to other requests between them. */
const idsMax = 64

/** What these routes need of the collection of a reader. */
export type ObjectReader = Pick<ReaderCollection, 'definition' | 'getHere'>

type Answer = (
  reader: ObjectReader,
  headers: IncomingHttpHeaders,
  body: Buffer,
) => HotReply | undefined | Promise<HotReply | undefined>

/** A hot route that reads objects. */
export interface ReadRoute extends RoutePath {
  readonly answer: Answer
}

export const readRoutes: readonly ReadRoute[] = [
  {
    name: 'v1-get',
    prefix: '/api/v1/index/',
    ending: '/vector/get',
    pattern: '/api/v1/index/:name/vector/get',
    bodyBytesMax: hotReadBytesMax,
    answer: answerIndex,
  },
  {
    name: 'v2-get',
    prefix: '/api/v2/collection/',
    ending: '/objects/query',
    pattern: '/api/v2/collection/:name/objects/query',
    bodyBytesMax: hotReadBytesMax,
    answer: answerCollection,
  },
]

function answerIndex(reader: ObjectReader, headers: IncomingHttpHeaders, body: Buffer): ReturnType<Answer> {
  const fields = fieldsOfIndex(reader.definition.fields)
  const id = openedId(openBody(headers, body))
  if (fields === undefined || id === undefined) return undefined
  const names = namesOf(fields)
  return read(reader, { ids: [id] }, ([object]) => object && indexReply(object, names, headers))
}

function indexReply(object: StoredObject, names: IndexFields, { accept }: IncomingHttpHeaders): HotReply | undefined {
  return acceptsOnlyJson(accept)
    ? replyOf(jsonType, objectReplyJson(object, names))
    : replyOf(msgpackType, objectReplyMsgpack(object, names))
}

function answerCollection(reader: ObjectReader, headers: IncomingHttpHeaders, body: Buffer): ReturnType<Answer> {
  const query = openedQuery(openBody(headers, body))
  if (query === undefined) return undefined
  return read(reader, query, (objects) =>
    acceptsOnlyJson(headers.accept)
      ? replyOf(jsonType, objectsJsonReply(objects))
      : replyOf(msgpackType, objectBatchReply(objects)),
  )
}

/** Objects that the main thread would count against its limit of large replies are left to it. */
function read(
  reader: ObjectReader,
  { ids, minLsn }: ObjectQuery,
  write: (objects: readonly StoredObject[]) => HotReply | undefined,
): ReturnType<Answer> {
  const found = reader.getHere(ids, { bytesMax: largeReplyBytes, minLsn })
  if (found instanceof Promise) return found.then((objects) => objects && write(objects))
  return found && write(found)
}

/** The body `{"id": ...}`. */
function openedId(cursor: BodyCursor | undefined): string | undefined {
  let id: string | undefined
  const isRead = cursor?.members((key) => {
    if (key !== 'id' || id !== undefined) return false
    id = readId(cursor)
    return id !== undefined
  })
  return isRead && cursor?.ends() ? id : undefined
}

/** What a body of `objects/query` requests. */
interface ObjectQuery {
  readonly ids: readonly string[]
  readonly minLsn?: number | undefined
}

/** The body `{"ids": [...], "min_lsn": ...}`. */
function openedQuery(cursor: BodyCursor | undefined): ObjectQuery | undefined {
  let ids: string[] | undefined
  let minLsn: number | undefined
  const isRead = cursor?.members((key) => {
    if (key === 'min_lsn' && minLsn === undefined) {
      minLsn = readLsn(cursor)
      return minLsn !== undefined
    }
    if (key !== 'ids' || ids !== undefined) return false
    const list: string[] = []
    ids = list
    return cursor.entries(() => {
      const id = list.length < idsMax ? readId(cursor) : undefined
      if (id === undefined) return false
      list.push(id)
      return true
    })
  })
  return isRead && cursor?.ends() && ids ? { ids, minLsn } : undefined
}

/** A text, or a whole number, which is the text of its digits. */
function readId(cursor: BodyCursor): string | undefined {
  if (cursor.next() === 'text') return cursor.text()
  const number = cursor.integer()
  return number === undefined ? undefined : String(number)
}
