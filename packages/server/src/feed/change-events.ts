// Changes as server-sent events. Consumers that get the same batch get the same bytes, which are written once.
import type { Change, ChangeBatch, ChangedObject, ChangedValue, RecordedChange } from '@annal/engine'
import { expiryMember } from '../wire/moment.ts'
import { numbersJson } from '../wire/pieces.ts'

/** A piece of a large change is about this long. */
const pieceLength = 131_072

/** Keeps an idle stream alive, and moves the place at which a client resumes. */
export function heartbeat(lsn: number): Buffer {
  return Buffer.from(`: heartbeat\nid: ${lsn}\n\n`)
}

/** Tells the client why the stream ends. */
export function refusedEvent(body: unknown): Buffer {
  return Buffer.from(`event: refused\ndata: ${JSON.stringify(body)}\n\n`)
}

const written = new WeakMap<ChangeBatch, Buffer>()

/** The events of a batch. A large change with vectors is written in pieces, each when it is wanted. */
export function batchEvents(batch: ChangeBatch): Iterable<Buffer> {
  const [only] = batch.changes
  if (batch.changes.length === 1 && only !== undefined && isLarge(only)) return joined(eventsOf(batch))
  const known = written.get(batch)
  if (known !== undefined) return [known]
  const bytes = Buffer.from([...eventsOf(batch)].join(''))
  written.set(batch, bytes)
  return [bytes]
}

function isLarge(change: Change): boolean {
  return change.kind !== 'notice' && (change.objects ?? []).some(({ fields }) => fields !== undefined)
}

function* joined(pieces: Iterable<string>): Generator<Buffer> {
  let text = ''
  for (const piece of pieces) {
    text += piece
    if (text.length < pieceLength) continue
    yield Buffer.from(text)
    text = ''
  }
  if (text !== '') yield Buffer.from(text)
}

function* eventsOf({ changes, lsn }: ChangeBatch): Generator<string> {
  for (const change of changes) {
    yield `id: ${change.lsn}\nevent: ${change.kind}\ndata: `
    yield* dataOf(change)
    yield '\n\n'
  }
  // What was filtered out is behind the client as well. An event without data is not shown to programs.
  if (changes.at(-1)?.lsn !== lsn) yield `id: ${lsn}\n\n`
}

function* dataOf(change: Change): Generator<string> {
  const time = new Date(change.timeMs).toISOString()
  if (change.kind === 'notice') {
    const { lsn, removedNextLsn: removed_next_lsn, margin } = change
    const message = 'the next changes are about to be removed from the log'
    yield JSON.stringify({ kind: 'notice', lsn, time, removed_next_lsn, margin, message })
    return
  }
  const { lsn, kind, collection, alias, keptAs: kept_as, objects, deleted, left } = change satisfies RecordedChange
  const head = JSON.stringify({ lsn, time, kind, collection, alias, kept_as, deleted, left })
  if (objects === undefined) return yield head
  yield `${head.slice(0, -1)},"objects":[`
  for (const [i, object] of objects.entries()) {
    if (i > 0) yield ','
    yield* objectJson(object)
  }
  yield ']}'
}

function* objectJson({ fields, expiresAt, ...object }: ChangedObject): Generator<string> {
  const head = JSON.stringify({ ...object, ...expiryMember(expiresAt) })
  if (fields === undefined) return yield head
  yield `${head.slice(0, -1)},"fields":{`
  for (const [i, [name, value]] of Object.entries(fields).entries())
    yield `${i > 0 ? ',' : ''}${JSON.stringify(name)}:${valueJson(value)}`
  yield '}}'
}

function valueJson(value: ChangedValue): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (value instanceof Float32Array) return numbersJson(value)
  if ('indices' in value) return `{"indices":${numbersJson(value.indices)},"values":${numbersJson(value.values)}}`
  return `[${value.map(numbersJson).join(',')}]`
}
