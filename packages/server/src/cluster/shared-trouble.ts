// Errors of the shared store in replies.
import { StoreUnavailable } from '@annal/wal/replicated'
import { ServerError } from '../errors.ts'

/** Names the error of a store that cannot be used: `shared_store_unavailable`. */
export async function whileAvailable<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof StoreUnavailable)
      throw new ServerError('shared_store_unavailable', error.message, {}, { cause: error })
    throw error
  }
}
