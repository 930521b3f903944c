// A record that changes nothing, in place of one that is not in a log.
import type { NewRecord } from '@annal/wal'
import { encodeEvent } from './codec.ts'

/** Returns the record. `timeMs` is the time of the record that it replaces. */
export function placeholderRecord(timeMs: number): NewRecord {
  return encodeEvent({ kind: 'request-answered', timeMs })
}
