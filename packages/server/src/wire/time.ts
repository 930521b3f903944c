// Times in requests: ISO 8601, or seconds since 1970.
import { invalidArgument } from '../http/errors.ts'

const secondsForm = /^\d+(\.\d+)?$/

/** Returns milliseconds since 1970. A text of digits, as in query strings, means seconds. */
export function timeFrom(value: string | number, field: string): number {
  const seconds = typeof value === 'number' || secondsForm.test(value)
  const timeMs = seconds ? Number(value) * 1_000 : Date.parse(value)
  if (Number.isFinite(timeMs) && timeMs >= 0) return timeMs
  throw invalidArgument(`${field} must be a time in ISO 8601 or seconds since 1970`, { field, value })
}
