// What an engine fails with, as the client's one kind of error.
import { EngineError } from '@annal/engine'
import { AnnalError } from '../errors.ts'

/** Throws the error as an AnnalError where it says what is wrong with the world; our own mistakes are passed on. */
export function translated(error: unknown): never {
  if (error instanceof EngineError) {
    const { field, value, limit } = error.details
    throw new AnnalError(error.code, error.message, { field, value, limit, cause: error })
  }
  // The log's errors have codes of the same list.
  if (error instanceof Error && error.name === 'WalError' && 'code' in error) {
    throw new AnnalError(String(error.code), error.message, { cause: error })
  }
  throw error
}

export function notSupported(operation: string): AnnalError {
  return new AnnalError(
    'not_supported',
    `${operation} needs a server; this client works on an engine in its own process`,
  )
}
