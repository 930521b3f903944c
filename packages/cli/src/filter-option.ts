// The options --filter and --match: conditions as JSON.
import type { Filter, TextMatch } from '@annal/client'
import { usageError } from './exit-code.ts'

/** Throws a usage error for text that is not a JSON list. The server validates the conditions. */
export function filterOf(text: string, option = '--filter'): Filter {
  try {
    const filter: unknown = JSON.parse(text)
    if (Array.isArray(filter)) return filter
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw usageError(`${option} must be a JSON list of conditions such as '[{"year":{"$eq":1979}}]'`)
}

/** The same for conditions on texts. */
export function matchOf(text: string): TextMatch {
  try {
    const match: unknown = JSON.parse(text)
    if (typeof match === 'object' && match !== null && !Array.isArray(match)) return match as TextMatch
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error
  }
  throw usageError(`--match must be a JSON object such as '{"body":{"query":"pump valve","operator":"and"}}'`)
}
