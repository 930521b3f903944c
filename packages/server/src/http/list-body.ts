// Bodies that are lists: objects to upsert, or filters to update. A small body is read at once. The entries of a large body are
// read while it arrives, and each is checked before the next one is read.
import { runInTurns } from '@annal/wal'
import { parseJsonBody } from '../wire/json-body.ts'
import { JsonItems } from '../wire/json-items.ts'
import type { ListReader } from '../wire/list-reader.ts'
import { MsgpackItems } from '../wire/msgpack-items.ts'
import type { ArrivingBody } from './arriving-body.ts'

/** Reads the list of a request. `body` is undefined if the request has none. */
export async function readList<T>(
  body: ArrivingBody | undefined,
  reader: ListReader<T>,
): Promise<readonly T[] | AsyncIterable<T>> {
  if (body === undefined) return reader.json.whole(undefined)
  const whole = await body.whole()
  if (whole === undefined) return body.format === 'json' ? jsonEntries(body, reader) : msgpackEntries(body, reader)
  if (body.format === 'msgpack') return reader.msgpack.whole(whole)
  const value = whole.length === 0 ? undefined : parseJsonBody(whole)
  body.watcher?.whole(value)
  reader.rest?.(value)
  return reader.json.whole(value)
}

async function* jsonEntries<T>(body: ArrivingBody, reader: ListReader<T>): AsyncGenerator<T, void, void> {
  const { json, end } = reader
  const ready: unknown[] = []
  const items = new JsonItems(json.shape, (item) => void ready.push(item))
  let count = 0
  for await (const chunk of body.chunks()) {
    items.push(chunk)
    for (const item of ready) {
      body.watcher?.entry(item, count)
      yield json.item(item, `${json.shape.name}[${count++}]`)
    }
    ready.length = 0
  }
  const { listed, root } = items.end()
  body.watcher?.whole(root)
  reader.rest?.(root)
  if (listed) end(count)
  else yield* json.noList(root)
}

async function* msgpackEntries<T>(
  body: ArrivingBody,
  { json, msgpack, end }: ListReader<T>,
): AsyncGenerator<T, void, void> {
  const { name } = json.shape
  const items = new MsgpackItems(msgpack.shape, body.bytesMax)
  let count = 0
  try {
    for await (const chunk of body.chunks()) {
      items.push(chunk)
      for (let item = items.next(); item !== undefined; item = items.next()) {
        yield await runInTurns(msgpack.item(item, `${name}[${count++}]`))
      }
    }
  } finally {
    items.free()
  }
  const { listed, first } = items.end()
  if (listed) end(count)
  else yield* msgpack.noList(first)
}

/** The entries that were not skipped. */
export function present<T>(entries: readonly (T | undefined)[] | AsyncIterable<T | undefined>) {
  return Symbol.asyncIterator in entries ? arrivingPresent(entries) : entries.filter((entry) => entry !== undefined)
}

async function* arrivingPresent<T>(entries: AsyncIterable<T | undefined>): AsyncGenerator<T, void, void> {
  for await (const entry of entries) if (entry !== undefined) yield entry
}
