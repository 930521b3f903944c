// Checks the moment that a read is as of, and keeps it in the cursors of pages.
import { EngineError } from '../errors.ts'
import { parseTimestamp } from '../filter/timestamp.ts'
import type { Moment } from '../model/backups.ts'
import { checkObject, printed, shownValue } from '../model/ids.ts'
import type { AsOf } from '../model/moment.ts'
import type { SearchRequest } from '../model/query.ts'
import type { ScrollRequest } from '../model/reads.ts'

/** The newest moment of the log. */
export interface PastEnd {
  readonly lsn: number
  readonly nowMs: number
  /** Time of the newest record. */
  readonly timeMs: number
}

/** A moment with a record; undefined for a time that is not after the newest record: its record is still to be found. */
export interface ParsedMoment {
  readonly moment: Moment
  readonly timeMs: number | undefined
}

/** Throws invalid_argument with field, value, and limit. */
export function parseAsOf(asOf: AsOf, end: PastEnd): ParsedMoment {
  checkObject(asOf, 'as_of')
  const { lsn, time } = asOf as { readonly lsn?: unknown; readonly time?: unknown }
  if ((lsn === undefined) === (time === undefined)) throw refuse('as_of must have either lsn or time', 'as_of', asOf)
  return time === undefined ? parseLsn(lsn, end) : parseTime(time, end)
}

/** Whether objects that had expired at the moment are read as well. Throws invalid_argument. */
export function keepsExpired({ keepExpired = false }: AsOf): boolean {
  if (typeof keepExpired === 'boolean') return keepExpired
  throw refuse(
    `as_of.keep_expired must be true or false, got ${printed(keepExpired)}`,
    'as_of.keep_expired',
    keepExpired,
  )
}

function parseLsn(lsn: unknown, end: PastEnd): ParsedMoment {
  if (!Number.isSafeInteger(lsn) || (lsn as number) < 1)
    throw refuse(`as_of.lsn must be a whole number from 1 on, got ${printed(lsn)}`, 'as_of.lsn', lsn, 1)
  if ((lsn as number) > end.lsn) {
    const message = `as_of.lsn ${lsn} is in the future: the newest record is ${end.lsn}`
    throw refuse(message, 'as_of.lsn', lsn, end.lsn)
  }
  return { moment: { lsn: lsn as number }, timeMs: undefined }
}

function parseTime(time: unknown, end: PastEnd): ParsedMoment {
  const timeMs = time instanceof Date ? time.getTime() : typeof time === 'string' ? parseTimestamp(time) : undefined
  if (timeMs === undefined || !Number.isFinite(timeMs) || timeMs < 0) {
    const message = `as_of.time must be a time since 1970 in the form of RFC 3339, got ${printed(time)}`
    throw refuse(message, 'as_of.time', time)
  }
  if (timeMs > end.nowMs) {
    const now = new Date(end.nowMs).toISOString()
    throw refuse(`as_of.time ${printed(time)} is in the future: it is ${now}`, 'as_of.time', time, now)
  }
  return { moment: timeMs >= end.timeMs ? { lsn: end.lsn } : { timeMs }, timeMs }
}

function refuse(message: string, field: string, value: unknown, limit?: unknown): EngineError {
  return new EngineError('invalid_argument', message, {
    field,
    value: shownValue(value),
    ...(limit !== undefined && { limit }),
  })
}

/** What a page is as of, as its cursor keeps it. */
export interface PageMoment {
  readonly lsn: number
  /** Decides what has expired. Cursors of earlier versions have none: then it is that of the record. */
  readonly timeMs: number | undefined
  readonly keepsExpired: boolean
}

// The first letter says whether pages have what had expired: u, or not: t.
const cursorForm = /^([tu])([0-9a-z]{1,11})(?:\.([0-9a-z]{1,11}))?\.(o[0-9a-z.]+)$/

/** The cursor of a page of the past: its moment, and the cursor within it. */
export function pastCursor(
  { lsn, timeMs, keepsExpired }: PageMoment & { readonly timeMs: number },
  cursor: string,
): string {
  return [`${keepsExpired ? 'u' : 't'}${lsn.toString(36)}`, Math.trunc(timeMs).toString(36), cursor].join('.')
}

/** The moment of a cursor, and the cursor within it; undefined for the cursor of a page of the present. */
export function parsePastCursor(cursor: unknown): (PageMoment & { readonly cursor: string }) | undefined {
  const [, kind, lsn, time, within] = (typeof cursor === 'string' && cursorForm.exec(cursor)) || []
  if (lsn === undefined || within === undefined) return undefined
  return {
    lsn: Number.parseInt(lsn, 36),
    timeMs: time === undefined ? undefined : Number.parseInt(time, 36),
    keepsExpired: kind === 'u',
    cursor: within,
  }
}

/**
 * The moment that a page is as of: that of its cursor, or the given one; undefined for the present. Throws invalid_argument for a cursor of
 * another moment.
 */
export function asOfPage({ asOf, cursor }: Pick<ScrollRequest, 'asOf' | 'cursor'>): AsOf | undefined {
  const kept = parsePastCursor(cursor)
  if (asOf === undefined) return kept && { lsn: kept.lsn }
  if (kept === undefined && cursor !== undefined)
    throw refuse('the cursor belongs to a scroll without as_of; begin without a cursor', 'cursor', cursor)
  if (kept === undefined) return asOf
  if (!('lsn' in asOf)) return { lsn: kept.lsn, keepExpired: asOf.keepExpired }
  if (asOf.lsn === kept.lsn) return asOf
  throw refuse(`the cursor is as of record ${kept.lsn}, not ${printed(asOf.lsn)}`, 'cursor', cursor)
}

/** The moment of a batch; undefined for the present. Throws invalid_argument if its searches have different moments. */
export function asOfBatch(requests: readonly Pick<SearchRequest, 'asOf'>[]): AsOf | undefined {
  const [first] = requests
  const text = (asOf: AsOf | undefined) => JSON.stringify(asOf ?? null)
  const other = requests.find((request) => text(request?.asOf) !== text(first?.asOf))
  if (other === undefined) return first?.asOf
  throw refuse('all searches of a batch must have the same as_of', 'as_of', other.asOf)
}
