// The actor of a write: who acts, as the program says. Servers keep it with the write.
import { AnnalError } from '../errors.ts'

export const actorHeader = 'X-Annal-Actor'

/** Refused here because fetch would fail with an error that names no field. */
export function checkActor(actor: string): void {
  if (typeof actor === 'string' && actor.length <= 128 && /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(actor)) return
  const message = 'actor must have 1 to 128 printable ASCII characters and no space at its ends'
  throw new AnnalError('invalid_argument', message, { field: 'actor', value: actor, limit: 128 })
}
