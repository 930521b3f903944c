// Times and moments of the past on the command line. A time has one meaning on every machine: RFC 3339, or a date, which is midnight UTC.
import { usageError } from './exit-code.ts'

/** Just after a record, or after the last record not later than a time. */
export type Moment = { readonly lsn: number } | { readonly time: Date }

const timeForm = /^\d{4}-\d\d-\d\d(T\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d))?$/
const forms = 'a time such as 2026-11-21T10:00:00Z, with Z or an offset, or a date'

/** Throws a usage error that names the option. */
export function momentOf(text: string, option: string): Moment {
  if (/^\d+$/.test(text) && Number.isSafeInteger(Number(text))) return { lsn: Number(text) }
  const time = dateOf(text)
  if (time !== undefined) return { time }
  throw usageError(`${option} ${text} is neither an LSN nor ${forms}`)
}

/** Throws a usage error that names the option. */
export function timeOf(text: string, option: string): Date {
  const time = dateOf(text)
  if (time !== undefined) return time
  throw usageError(`${option} ${text} is not ${forms}`)
}

function dateOf(text: string): Date | undefined {
  const day = text.slice(0, 10)
  const midnight = new Date(`${day}T00:00:00Z`)
  // The parser takes February 30 for March 2.
  if (!timeForm.test(text) || Number.isNaN(midnight.getTime()) || midnight.toISOString().slice(0, 10) !== day)
    return undefined
  const time = new Date(text)
  return Number.isNaN(time.getTime()) ? undefined : time
}
