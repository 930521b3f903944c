// The author of a record: the token that a write came with, and who the caller says acted. It is in front of the event, in field 14, which no
// event has, and after the request if there is one. Applying a record ignores it.
//
//   | tag of field 14 | length | 1: name of the token | 2: actor | event ... |
//
// Specified in docs/formats/events.md. The author is in the asynchronous context of the call, so that no function between the public call and
// the log has to pass it on.
import { AsyncLocalStorage } from 'node:async_hooks'
import { EngineError } from '../errors.ts'
import { actorLengthMax } from '../limits.ts'
import { printed, shownValue } from '../model/ids.ts'
import type { Author } from '../model/requests.ts'
import { requestEnd } from './request-record.ts'
import { messageType } from './schema.ts'

/** The first payload version whose records may have an author. */
export const authorVersion = 8

/** Field 14, bytes. */
const authorTag = (14 << 3) | 2
const withAuthorMessage = messageType('WithAuthor')
/** (?![\s\S]) instead of $, which would accept a final newline. */
const actorPattern = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?(?![\s\S])/

const current = new AsyncLocalStorage<Author | undefined>()

/** Runs `write`, whose records get this author; undefined for none. */
export function writtenBy<T>(author: Author | undefined, write: () => T): T {
  return current.run(author, write)
}

/** Runs `write` with the author of the context and this actor. Throws invalid_argument. */
export function withActor<T>(actor: string | undefined, write: () => T): T {
  if (actor === undefined) return write()
  return current.run({ token: current.getStore()?.token ?? '', actor: checkedActor(actor) }, write)
}

/** The author of the records that are written now; undefined if there is nothing to say. */
export function currentAuthor(): Author | undefined {
  const author = current.getStore()
  return author === undefined || (author.token === '' && author.actor === '') ? undefined : author
}

/** Throws invalid_argument unless the text may stand as the actor of a record. `field` is the name of the option or header. */
export function checkedActor(actor: unknown, field = 'actor'): string {
  if (typeof actor === 'string' && actor.length <= actorLengthMax && actorPattern.test(actor)) return actor
  const message = `${field} must have 1 to ${actorLengthMax} printable ASCII characters and no space at its ends, not ${printed(actor)}`
  throw new EngineError('invalid_argument', message, { field, value: shownValue(actor), limit: actorLengthMax })
}

/** The bytes that stand in front of the event. */
export function encodeAuthor(author: Author): Uint8Array {
  return withAuthorMessage.encode({ author }).finish()
}

/** Reads the author of a record; undefined if the record has none. */
export function authorOf({ version, payload }: { readonly version: number; readonly payload: Uint8Array }) {
  const from = requestEnd(payload)
  if (version < authorVersion || payload[from] !== authorTag) return undefined
  const prefix = payload.subarray(from, prefixEnd(payload, from))
  const { author } = withAuthorMessage.decode(prefix) as unknown as { readonly author: Author }
  return { token: author.token, actor: author.actor }
}

/** Where the event begins in a payload: after the request and the author, if there are any. */
export function eventStart(payload: Uint8Array): number {
  const from = requestEnd(payload)
  return payload[from] === authorTag ? prefixEnd(payload, from) : from
}

/** The end of a field with a length whose tag is at `from`. */
function prefixEnd(payload: Uint8Array, from: number): number {
  let length = 0
  for (let at = from + 1, shift = 0; at < from + 5; at++, shift += 7) {
    const byte = payload[at] ?? 0
    length += (byte & 0x7f) * 2 ** shift
    if (byte < 0x80) return at + 1 + length
  }
  throw new Error('broken invariant: the author of a record has a length')
}
