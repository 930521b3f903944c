// The caller of a search, which may leave before its answer: work that has not begun is then not done.
import { EngineError } from '../errors.ts'

/** Who waits for an answer. */
export interface Caller {
  /** Whether nobody receives the answer any more. Undefined: somebody does. */
  readonly hasLeft?: boolean | undefined
}

/** Throws `closed` if the caller has left. */
export function refuseWhenLeft(caller: Caller | undefined): void {
  if (caller?.hasLeft) throw callerLeft()
}

export function callerLeft(): EngineError {
  return new EngineError('closed', 'the caller left before the search was done')
}
