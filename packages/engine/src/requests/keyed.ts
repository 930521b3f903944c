// The request key of a call of the library: either a claim, whose holder runs the write once, or a key, which this file claims. The digest
// of a call is that of its input, not of bytes that came over a network.
import { createHash } from 'node:crypto'
import { EngineError } from '../errors.ts'
import { withActor } from '../events/author.ts'
import { printed, shownValue } from '../model/ids.ts'
import type { Acknowledgement } from '../model/object.ts'
import type { RecordedRequest, WriteOptions } from '../model/requests.ts'
import { Claim, type KeptRequests } from './request-keys.ts'

/** A call that writes. */
export interface KeyedCall {
  /** The database whose keys these are, or `controlPlane`. */
  readonly databaseId: number
  /** Everything that makes the call this one: its name, what it is about, and its input. */
  readonly parts: () => readonly (string | Uint8Array)[]
}

/** Runs the write with a claim if the call has a key, and without one if it has none; its record gets the actor of the call. */
export async function keyed<R extends Acknowledgement>(
  keys: KeptRequests,
  options: WriteOptions | undefined,
  { databaseId, parts }: KeyedCall,
  write: (claim: Claim | undefined) => Promise<R>,
  repeated?: (recorded: RecordedRequest) => R | Promise<R>,
): Promise<R> {
  const requestKey = options?.requestKey
  return withActor(options?.actor, () => {
    if (typeof requestKey !== 'string') return write(claimOf(options))
    const digest = digestOf(parts())
    return keys.onceIn(databaseId, { key: requestKey, digest: () => digest }, write, repeated)
  })
}

/** The claim of a call that its caller claimed. Throws invalid_argument for anything else. */
export function claimOf(options: WriteOptions | undefined): Claim | undefined {
  const requestKey: unknown = options?.requestKey
  if (requestKey === undefined || requestKey instanceof Claim) return requestKey
  const message = `requestKey must be a string or a claim, not ${printed(requestKey)}`
  throw new EngineError('invalid_argument', message, { field: 'requestKey', value: shownValue(requestKey) })
}

/** SHA-256 of the parts and their lengths. */
function digestOf(parts: readonly (string | Uint8Array)[]): Uint8Array {
  const hash = createHash('sha256')
  for (const part of parts) {
    const bytes = typeof part === 'string' ? Buffer.from(part) : part
    hash.update(`${bytes.length}\n`).update(bytes)
  }
  return hash.digest()
}
