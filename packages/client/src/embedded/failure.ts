// Converts errors of an engine to the client's error.
import { EngineError } from '@annal/engine'
import { AnnalError, annalError } from '../errors.ts'
import type { WriteResult } from '../model.ts'

/** Throws an AnnalError for errors with a code; internal errors are passed on. */
export function translated(error: unknown): never {
  if (error instanceof EngineError) {
    const { field, value, limit, results } = error.details
    const details = { field, value, limit, cause: error }
    // Only a conflict has results, and it makes them.
    throw annalError(error.code, error.message, { ...details, results: results as readonly WriteResult[] | undefined })
  }
  // The log's errors have codes of the same list.
  if (error instanceof Error && error.name === 'WalError' && 'code' in error) {
    throw new AnnalError(String(error.code), error.message, { cause: error })
  }
  throw error
}

export function notSupported(operation: string): AnnalError {
  return new AnnalError('not_supported', `${operation} requires a server, but this client uses an embedded engine`)
}
