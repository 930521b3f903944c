// The operations on the change feed.

import type { Change, ChangeBatch, ChangedObject, ChangesRequest, Cursor } from '../change-info.ts'
import { AnnalError, annalError } from '../errors.ts'
import type { ChangeOperations } from '../operations.ts'
import { unreachable } from './failure.ts'
import { jsonText } from './json-text.ts'
import { flag, list, moment, number, object, parseJson, text, unexpected } from './read.ts'
import { get, post, type Routes, remove, segment } from './route.ts'

/** The server sends something at least every 15 s. */
const silenceMs = 45_000

/** The operations on the change feed and its cursors, for `routedTransport`. */
export const changeRoutes: Routes<keyof ChangeOperations> = {
  changes: {
    retry: 'always',
    request: (input) => ({ ...get(pathOf(input)), accept: 'text/event-stream', streamed: true }),
    reply: ({ stream }) => {
      if (stream === undefined) throw unexpected('changes', 'no content')
      return batchesIn(stream)
    },
  },
  listCursors: {
    retry: 'always',
    reads: 'query',
    request: () => get('/api/v2/cursors'),
    reply: ({ text }) => list(object(parseJson(text), 'reply').cursors, 'cursors').map(cursorOf),
  },
  acknowledge: {
    retry: 'always',
    request: ({ cursor, lsn }) => ({ ...post(cursorPath(cursor), { lsn }), method: 'PUT' }),
    reply: ({ text }) => {
      const { lsn, durable } = object(parseJson(text), 'reply')
      return { lsn: number(lsn, 'lsn'), durable: flag(durable, 'durable') }
    },
  },
  deleteCursor: {
    retry: 'when-refused',
    takesKey: true,
    request: ({ cursor }) => remove(cursorPath(cursor)),
    reply: () => undefined,
  },
}

function cursorPath(name: string): string {
  return `/api/v2/cursors/${segment(name)}`
}

function pathOf({ from, cursor, collections, kinds, filter, includeVectors }: ChangesRequest): string {
  const parameters = {
    from,
    cursor,
    collection: collections?.join(','),
    kind: kinds?.join(','),
    filter: filter && jsonText(filter, 'filter'),
    vectors: includeVectors === true ? 'true' : undefined,
  }
  const given = Object.entries(parameters).flatMap(([name, value]) =>
    value === undefined ? [] : [`${name}=${segment(String(value))}`],
  )
  return given.length === 0 ? '/api/v2/changes' : `/api/v2/changes?${given.join('&')}`
}

/** Each piece of the stream is a batch. A connection that is silent for too long counts as broken. */
async function* batchesIn(stream: ReadableStream<Uint8Array>): AsyncGenerator<ChangeBatch> {
  const reader = stream.getReader()
  const decoder = new TextDecoder()
  // Each piece is searched once: a change with many vectors arrives in thousands of them.
  let pieces: string[] = []
  let last = ''
  try {
    for (;;) {
      const { done, value } = await withoutSilence(reader)
      if (done) return
      const piece = decoder.decode(value, { stream: true })
      pieces.push(piece)
      const hasEnd = piece.includes('\n\n') || (last === '\n' && piece.startsWith('\n'))
      last = piece.at(-1) ?? last
      if (!hasEnd) continue
      const text = pieces.join('')
      const end = text.lastIndexOf('\n\n')
      pieces = [end < 0 ? text : text.slice(end + 2)]
      if (end < 0) continue
      const changes: Change[] = []
      let lsn: number | undefined
      for (const block of text.slice(0, end).split('\n\n')) {
        const { id, event, data } = fieldsOf(block)
        if (event === 'refused') {
          if (lsn !== undefined) yield { changes, lsn }
          throw refusalOf(data)
        }
        if (data !== '') changes.push(changeOf(parseJson(data)))
        lsn = id ?? lsn
      }
      if (lsn !== undefined) yield { changes, lsn }
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}

async function withoutSilence(reader: ReadableStreamDefaultReader<Uint8Array>) {
  let timer: ReturnType<typeof setTimeout> | undefined
  const silence = new Promise<never>((_, reject) => {
    const message = `the server sent nothing for ${silenceMs} ms`
    timer = setTimeout(() => reject(new AnnalError('unreachable', message)), silenceMs)
  })
  try {
    return await Promise.race([reader.read(), silence])
  } catch (error) {
    throw error instanceof AnnalError ? error : unreachable('the change feed', error)
  } finally {
    clearTimeout(timer)
  }
}

function fieldsOf(block: string) {
  let [id, event, data]: [number | undefined, string, string] = [undefined, '', '']
  for (const line of block.split('\n')) {
    const colon = line.indexOf(':')
    const value = line.slice(colon + 1).trimStart()
    if (line.startsWith('id:')) id = Number(value)
    else if (line.startsWith('event:')) event = value
    else if (line.startsWith('data:')) data += value
  }
  return { id, event, data }
}

function refusalOf(data: string): AnnalError {
  const { code, error, field, value, limit, request_id } = object(parseJson(data), 'refused')
  const details = { field: field as string | undefined, value, limit, requestId: request_id as string | undefined }
  // A server that stops ends the stream as it ends requests: with 503.
  const status = code === 'stopping' || code === 'starting' || code === 'closed' ? 503 : undefined
  return annalError(text(code, 'code'), text(error, 'error'), { ...details, status })
}

function changeOf(value: unknown): Change {
  const change = object(value, 'change')
  const { lsn, time, kind, collection, alias, kept_as, objects, deleted, left, removed_next_lsn, margin } = change
  return {
    lsn: number(lsn, 'lsn'),
    time: moment(time, 'time'),
    kind: text(kind, 'kind'),
    ...(collection !== undefined && { collection: text(collection, 'collection') }),
    ...(alias !== undefined && { alias: text(alias, 'alias') }),
    ...(kept_as !== undefined && { keptAs: text(kept_as, 'kept_as') }),
    // The server wrote these members as the types say.
    ...(objects !== undefined && { objects: list(objects, 'objects').map(changedObjectOf) }),
    ...(deleted !== undefined && { deleted: list(deleted, 'deleted') as string[] }),
    ...(left !== undefined && { left: list(left, 'left') as string[] }),
    ...(removed_next_lsn !== undefined && { removedNextLsn: number(removed_next_lsn, 'removed_next_lsn') }),
    ...(margin !== undefined && { margin: number(margin, 'margin') }),
  }
}

function changedObjectOf(value: unknown): ChangedObject {
  const { expires_at, ...changed } = object(value, 'objects')
  const expiry = expires_at === undefined ? {} : { expiresAt: moment(expires_at, 'expires_at').getTime() }
  // As above.
  return { ...changed, ...expiry } as unknown as ChangedObject
}

function cursorOf(value: unknown): Cursor {
  const { name, lsn, updated_at } = object(value, 'cursor')
  return { name: text(name, 'name'), lsn: number(lsn, 'lsn'), updatedAt: moment(updated_at, 'updated_at') }
}
