// Whether a failed call may be sent again.
import { type AnnalError, isPassing } from '../errors.ts'
import { wasRefused } from './failure.ts'
import type { RetryRule } from './route.ts'

/**
 * What a failure says about its attempt. `final`: the call was refused, or executed, and fails again. `not-begun`: the attempt changed
 * nothing. `ambiguous`: it may have been executed.
 */
export type Outcome = 'final' | 'not-begun' | 'ambiguous'

/** Of the replies with 503, the only ones that are sent after a write may have been stored. */
const ambiguousCodes: ReadonlySet<string> = new Set(['archive_unconfirmed', 'log_failed', 'outcome_unknown'])

function outcomeOf(error: AnnalError): Outcome {
  const { status, code } = error
  if (status === undefined) return code !== 'unreachable' ? 'final' : wasRefused(error) ? 'not-begun' : 'ambiguous'
  // An earlier attempt with this key is still running.
  if (status === 429 || status === 421 || code === 'request_key_in_use') return 'not-begun'
  if (!isPassing(status)) return 'final'
  return status === 503 && !ambiguousCodes.has(code) ? 'not-begun' : 'ambiguous'
}

/** `with-key`: only if the server keeps request keys. */
export function mayRepeat(
  error: AnnalError,
  { retry, key }: { readonly retry: RetryRule; readonly key: string | undefined },
): 'yes' | 'no' | 'with-key' {
  const outcome = outcomeOf(error)
  if (retry === 'never' || outcome === 'final') return 'no'
  if (outcome === 'not-begun' || retry === 'always') return 'yes'
  return key === undefined ? 'no' : 'with-key'
}
