// Pages through objects in the order of their ordinals. An object keeps its ordinal until it is written again. A cursor contains the last
// returned ordinal, so it neither skips nor repeats unchanged objects, also across restarts.

import { scrollDefault } from '../defaults.ts'
import { EngineError } from '../errors.ts'
import { type Filter, parseFilter } from '../filter/parse-filter.ts'
import type { Limits } from '../limits.ts'
import { checkObject, printed } from '../model/ids.ts'
import { wholeNumber } from '../model/numbers.ts'
import type { AnswerRoom, ScrollPage, ScrollRequest } from '../model/query.ts'
import type { Replica } from '../replica/replica.ts'
import { objectBytes } from './answer-room.ts'
import { storedObjects, storedWithoutVectors } from './stored.ts'

/** A checked request for a page. */
export interface ScrollInput {
  readonly filter: Filter
  readonly limit: number
  /** Lowest ordinal of the page. */
  readonly from: number
  readonly includeVectors: boolean
}

const cursorForm = /^o[0-9a-z]{1,7}$/

/** Throws invalid_argument, invalid_filter or limit_exceeded. */
export function parseScroll(request: ScrollRequest, limits: Limits): ScrollInput {
  checkObject(request, 'request')
  const { filter = [], limit = scrollDefault, cursor, includeVectors = true } = request
  return {
    filter: parseFilter(filter),
    limit: wholeNumber(limit, 'limit', 1, limits.batchMax),
    from: cursor === undefined ? 0 : parseCursor(cursor),
    includeVectors,
  }
}

/** One page of matching objects, by ordinal. `cursor` is undefined on the last page. */
export async function scroll(
  replica: Replica,
  { filter, limit, from, includeVectors }: ScrollInput,
  room?: AnswerRoom,
): Promise<ScrollPage> {
  const { bitmap } = replica.filters.evaluate(filter)
  const ordinals = bitmap.toOrdinals()
  const first = lowerBound(ordinals, from)
  const page = fitToPage(replica, ordinals.subarray(first, first + limit), includeVectors, room)
  const last = page.at(-1)
  const more = first + page.length < ordinals.length
  const { lsnApplied: lsn } = replica
  return {
    objects: includeVectors ? await storedObjects(replica, [...page]) : storedWithoutVectors(replica, [...page]),
    cursor: more && last !== undefined ? `o${(last + 1).toString(36)}` : undefined,
    lsn,
  }
}

/** The first ordinals whose objects fit on a page, at least one. */
function fitToPage(
  replica: Replica,
  ordinals: Uint32Array,
  vectors: boolean,
  room: AnswerRoom | undefined,
): Uint32Array {
  if (room === undefined) return ordinals
  let [bytes, count] = [0, 0]
  for (const ordinal of ordinals) {
    const more = objectBytes(replica, ordinal, vectors)
    if (count > 0 && bytes + more > room.pageBytesMax) break
    bytes += more
    count += 1
  }
  room.take(bytes)
  return ordinals.subarray(0, count)
}

function parseCursor(cursor: unknown): number {
  if (typeof cursor === 'string' && cursorForm.test(cursor)) return Number.parseInt(cursor.slice(1), 36)
  throw new EngineError('invalid_argument', `cursor must be the cursor of a page, got ${printed(cursor)}`, {
    field: 'cursor',
    value: printed(cursor),
  })
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
