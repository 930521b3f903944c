// Times in requests: RFC 3339, or seconds since 1970.
import { parseTimestamp } from '@annal/engine'
import { invalidArgument } from '../errors.ts'

const secondsForm = /^\d+(\.\d+)?$/
/** The end of the year 9999. */
const timeMsMax = 253_402_300_799_999
const dateForm = 'a time such as 2026-11-23T10:00:00Z, a date such as 2026-11-23'

/** What the description of the API says about a time. */
export const timeForms = 'RFC 3339 (a date alone is midnight UTC), or a number: seconds since 1970.'

/** Returns milliseconds since 1970. A text of digits, as in query strings, means seconds. */
export function timeFrom(value: string | number, field: string): number {
  const isSeconds = typeof value === 'number' || secondsForm.test(value)
  const timeMs = isSeconds ? Number(value) * 1_000 : parseTimestamp(value)
  if (timeMs !== undefined && timeMs >= 0 && timeMs <= timeMsMax) return timeMs
  throw invalidArgument(`${field} must be ${dateForm}, or seconds since 1970`, { field, value })
}

/** A text that is no LSN, where either is meant. A number with a fraction could be taken for either, so it is refused. */
export function timeNotLsn(text: string, field: string): number {
  const timeMs = parseTimestamp(text)
  if (timeMs !== undefined && timeMs >= 0) return timeMs
  throw invalidArgument(`${field} must be an LSN such as 120, ${dateForm}`, { field, value: text })
}
