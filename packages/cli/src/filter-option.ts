// The option --filter: conditions as JSON.
import type { Filter } from '@annal/client'
import { usageError } from './exit-code.ts'

/** Throws a usage error for text that is not a JSON list. The server validates the conditions. */
export function filterOf(text: string): Filter {
  try {
    const filter: unknown = JSON.parse(text)
    if (Array.isArray(filter)) return filter
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw usageError(`--filter must be a JSON list of conditions such as '[{"year":{"$eq":1979}}]'`)
}
