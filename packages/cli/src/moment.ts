// A moment of the past on the command line: an LSN, or a time.
import { usageError } from './exit-code.ts'

/** Just after a record, or after the last record not later than a time. */
export type Moment = { readonly lsn: number } | { readonly time: Date }

/** Throws a usage error that names the option. */
export function momentOf(text: string, option: string): Moment {
  if (/^\d+$/.test(text)) {
    const lsn = Number(text)
    if (Number.isSafeInteger(lsn)) return { lsn }
  } else {
    const time = new Date(text)
    if (!Number.isNaN(time.getTime())) return { time }
  }
  throw usageError(`${option} ${text} is neither an LSN nor a valid time`)
}
