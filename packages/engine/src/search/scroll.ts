// Pages through objects in the order of their ordinals. An object keeps its ordinal until it is written again, and rebuilds keep the order.
// A cursor contains the ordinal after the last returned one and the generation that has it, so it neither skips nor repeats unchanged
// objects, also across restarts and rebuilds. A cursor whose position is not known any more is refused.

import { scrollDefault } from '../defaults.ts'
import { EngineError } from '../errors.ts'
import type { Limits } from '../limits.ts'
import { checkObject, printed, shownValue } from '../model/ids.ts'
import { wholeNumber } from '../model/numbers.ts'
import type { AnswerRoom, ScrollPage, ScrollRequest } from '../model/reads.ts'
import type { CollectionSchema } from '../model/schema.ts'
import type { ReadableReplica } from '../replica/readable.ts'
import { objectBytes, type WantedContents } from './answer-room.ts'
import { type Conditions, type Matching, parseConditions, withMatches } from './match-texts.ts'
import { parseContents } from './parse-contents.ts'
import { storedObjects } from './stored.ts'

/** A checked request for a page. */
export interface ScrollInput extends Conditions {
  readonly limit: number
  /** Undefined: the first page. */
  readonly cursor: Cursor | undefined
  readonly contents: WantedContents
}

interface Cursor {
  /** Lowest ordinal of the page. */
  readonly from: number
  /** Has the ordinal. Cursors of earlier versions name none. */
  readonly generation: number | undefined
  readonly collectionId: number | undefined
}

const cursorForm = /^o([0-9a-z]{1,7})(?:\.([0-9a-z]{1,10})\.([0-9a-z]{1,10}))?$/

/** Throws invalid_argument, invalid_filter or limit_exceeded. */
export function parseScroll(request: ScrollRequest, definition: CollectionSchema, limits: Limits): ScrollInput {
  checkObject(request, 'request')
  const { limit = scrollDefault, cursor } = request
  return {
    ...parseConditions(request, definition),
    limit: wholeNumber(limit, 'limit', 1, limits.batchMax),
    cursor: cursor === undefined ? undefined : parseCursor(cursor),
    contents: parseContents(request, 'request'),
  }
}

/** One page of matching objects, by ordinal. `cursor` is undefined on the last page. Throws cursor_expired. */
export async function scroll(replica: ReadableReplica, input: ScrollInput, room?: AnswerRoom): Promise<ScrollPage> {
  const { limit, cursor } = input
  const from = cursor === undefined ? 0 : placeOf(cursor, replica)
  return withMatches(replica, input, (matching) => pageOf(replica, input, { ...matching, from }, room), {
    from,
    most: limit + 1,
  })
}

async function pageOf(
  replica: ReadableReplica,
  { limit, contents }: ScrollInput,
  { bitmap, from, version, lsn }: Matching & { readonly from: number },
  room: AnswerRoom | undefined,
): Promise<ScrollPage> {
  const ordinals = bitmap.toOrdinals()
  const first = lowerBound(ordinals, from)
  const page = fitToPage(replica, ordinals.subarray(first, first + limit), contents, room)
  const last = page.at(-1)
  const more = first + page.length < ordinals.length
  return {
    objects: await storedObjects(replica, [...page], { version, contents }),
    cursor: more && last !== undefined ? cursorText(last + 1, replica) : undefined,
    lsn,
  }
}

/** The first ordinals whose objects fit on a page, at least one. */
function fitToPage(
  replica: ReadableReplica,
  ordinals: Uint32Array,
  contents: WantedContents,
  room: AnswerRoom | undefined,
): Uint32Array {
  if (room === undefined) return ordinals
  let [bytes, count] = [0, 0]
  for (const ordinal of ordinals) {
    const more = objectBytes(replica, ordinal, contents)
    if (count > 0 && bytes + more > room.pageBytesMax) break
    bytes += more
    count += 1
  }
  room.take(bytes)
  return ordinals.subarray(0, count)
}

/** The position of the cursor in the order of ordinals. */
function placeOf({ from, generation, collectionId }: Cursor, replica: ReadableReplica): number {
  const isOther = collectionId !== undefined && collectionId !== replica.id
  if (!isOther && (generation === undefined || generation === replica.generation)) return from
  const place = isOther ? undefined : replica.renumberings.placeNow(from, generation as number)
  if (place !== undefined) return place
  const why = isOther ? 'belongs to another collection' : 'was made before a rebuild that the server no longer knows'
  throw new EngineError('cursor_expired', `the cursor ${why}; begin the scroll again without a cursor`, {
    field: 'cursor',
  })
}

function cursorText(from: number, { generation, id }: ReadableReplica): string {
  return `o${[from, generation, id].map((part) => part.toString(36)).join('.')}`
}

function parseCursor(cursor: unknown): Cursor {
  const [, from, generation, collectionId] = (typeof cursor === 'string' && cursorForm.exec(cursor)) || []
  if (from !== undefined)
    return { from: wholeOf(from), generation: wholeOf(generation), collectionId: wholeOf(collectionId) }
  throw new EngineError('invalid_argument', `cursor must be the cursor of a page, got ${printed(cursor)}`, {
    field: 'cursor',
    value: shownValue(cursor),
  })
}

function wholeOf(text: string): number
function wholeOf(text: string | undefined): number | undefined
function wholeOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : Number.parseInt(text, 36)
}

/** Index of the first ordinal that is not below `from`. */
function lowerBound(ordinals: Uint32Array, from: number): number {
  let below = 0
  let above = ordinals.length
  while (below < above) {
    const middle = (below + above) >>> 1
    if ((ordinals[middle] as number) < from) below = middle + 1
    else above = middle
  }
  return below
}
