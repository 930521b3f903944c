// The digest of a large collection, a little at a time, so that others have their turns in between.
import { IdlePace } from '@annal/wal'
import type { Replica } from '../replica/replica.ts'

/** What is hashed between two rests, about. */
const pieceBytes = 128 * 1024

/** Undefined when something was applied to the replica meanwhile. `checkWanted` throws when the digest is not wanted any more. */
export async function digestInBackground(
  replica: Replica,
  checkWanted: () => void = () => undefined,
): Promise<string | undefined> {
  const { lsnApplied } = replica
  const pace = new IdlePace()
  const work = replica.digesting()
  try {
    while (!replica.isApplying && replica.lsnApplied === lsnApplied) {
      const { done, value } = work.next()
      if (done) return value
      await pace.spend(pieceBytes)
      checkWanted()
    }
    return undefined
  } finally {
    work.return('')
  }
}
