// Checks a moment that a collection is restored to, compared as of, or branched from.
import { EngineError } from '../errors.ts'
import type { Moment } from '../model/backups.ts'
import { printed, shownValue } from '../model/ids.ts'

/** Throws invalid_argument; `field` names the moment. */
export function parseMoment(moment: unknown, field: string): Moment {
  const { lsn, timeMs } = { ...(moment as { readonly lsn?: unknown; readonly timeMs?: unknown }) }
  if (timeMs === undefined && Number.isSafeInteger(lsn) && (lsn as number) >= 0) return { lsn: lsn as number }
  if (lsn === undefined && Number.isFinite(timeMs)) return { timeMs: timeMs as number }
  const message = `${field} must be { lsn } with a whole number from 0, or { timeMs }, not ${printed(moment)}`
  throw new EngineError('invalid_argument', message, { field, value: shownValue(moment) })
}
