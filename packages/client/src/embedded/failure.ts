// Converts errors of an engine to the client's error.
import { type AsOfReach, EngineError } from '@annal/engine'
import { AnnalError, annalError, type Reach } from '../errors.ts'
import type { WriteResult } from '../model.ts'

/** Throws an AnnalError for errors with a code; internal errors are passed on. */
export function translated(error: unknown): never {
  if (error instanceof EngineError) {
    const { field, value, limit, results, reach, aliases } = error.details
    throw annalError(error.code, error.message, {
      ...{ field, value, limit, cause: error },
      // Only the errors that have these members make them.
      results: results as readonly WriteResult[] | undefined,
      reach: reach === undefined ? undefined : reachOf(reach as AsOfReach),
      aliases: aliases as readonly string[] | undefined,
    })
  }
  // The log's errors have codes of the same list.
  if (error instanceof Error && error.name === 'WalError' && 'code' in error) {
    throw new AnnalError(String(error.code), error.message, { cause: error })
  }
  throw error
}

function reachOf({ lsnFirst, lsnLast, timeFirstMs, timeLastMs }: AsOfReach): Reach {
  return { lsnFirst, lsnLast, timeFirst: new Date(timeFirstMs), timeLast: new Date(timeLastMs) }
}

export function notSupported(operation: string): AnnalError {
  return new AnnalError('not_supported', `${operation} requires a server, but this client uses an embedded engine`)
}
