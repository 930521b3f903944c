// Checks the conditions of a write, and decides whether they hold for a stored object.
import { EngineError } from '../errors.ts'
import { storedValues } from '../filter/indexed-values.ts'
import { matchesValues } from '../filter/matches-values.ts'
import { type Filter, parseFilter } from '../filter/parse-filter.ts'
import { printed, shownValue } from '../model/ids.ts'
import { wholeNumber } from '../model/numbers.ts'
import type { WriteConditions } from '../model/object.ts'

/** Checked conditions of one object. All of them must hold. */
export interface ObjectConditions {
  readonly ifAbsent: boolean
  readonly ifLsn: number | undefined
  readonly ifMatch: Filter | undefined
}

/** What conditions are about. */
export interface StoredState {
  /** 0 without an object. */
  readonly lsn: number
  /** With the expiry; undefined without an object. */
  readonly filterText: string | undefined
}

/** Undefined if there are none. Throws invalid_argument, invalid_filter, or limit_exceeded. */
export function parseConditions(input: WriteConditions, path: string): ObjectConditions | undefined {
  const { ifAbsent, ifLsn, ifMatch } = input
  if (ifAbsent !== undefined && typeof ifAbsent !== 'boolean') {
    const message = `${path}.ifAbsent must be true or false, got ${printed(ifAbsent)}`
    throw new EngineError('invalid_argument', message, { field: `${path}.ifAbsent`, value: shownValue(ifAbsent) })
  }
  const lsn = ifLsn === undefined ? undefined : wholeNumber(ifLsn, `${path}.ifLsn`, 0, Number.MAX_SAFE_INTEGER)
  const match = ifMatch === undefined ? undefined : parseFilter(ifMatch, `${path}.ifMatch`)
  if (ifAbsent !== true) {
    return lsn === undefined && match === undefined ? undefined : { ifAbsent: false, ifLsn: lsn, ifMatch: match }
  }
  const other = (lsn ?? 0) > 0 ? 'ifLsn' : match === undefined ? undefined : 'ifMatch'
  if (other === undefined) return { ifAbsent: true, ifLsn: undefined, ifMatch: undefined }
  const message = `${path} has ifAbsent and ${other}, which cannot both hold`
  throw new EngineError('invalid_argument', message, { field: `${path}.${other}`, value: shownValue(input[other]) })
}

/** Whether the conditions hold for the stored object, or for none. */
export function conditionsHold(conditions: ObjectConditions | undefined, stored: StoredState): boolean {
  if (conditions === undefined) return true
  const { ifAbsent, ifLsn, ifMatch } = conditions
  const isThere = stored.filterText !== undefined
  if (ifAbsent && isThere) return false
  if (ifLsn !== undefined && ifLsn !== stored.lsn) return false
  return ifMatch === undefined || (isThere && matchesValues(ifMatch, storedValues(stored.filterText)))
}
