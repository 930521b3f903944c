// Times in requests: ISO 8601, or seconds since 1970.
import { invalidArgument } from '../http/errors.ts'

const secondsForm = /^\d+(\.\d+)?$/
/** The end of the year 9999. */
const timeMsMax = 253_402_300_799_999
/** Other texts would be read as some date: `-1` as a day of 2001. */
const isoForm = /^\d{4}-\d{2}(-\d{2}|$)/

/** Returns milliseconds since 1970. A text of digits, as in query strings, means seconds. */
export function timeFrom(value: string | number, field: string): number {
  const seconds = typeof value === 'number' || secondsForm.test(value)
  const timeMs = seconds ? Number(value) * 1_000 : isoForm.test(value) ? Date.parse(value) : Number.NaN
  if (timeMs >= 0 && timeMs <= timeMsMax) return timeMs
  throw invalidArgument(`${field} must be a time in ISO 8601 or seconds since 1970`, { field, value })
}
