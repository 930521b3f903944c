// Computes the digest of a large collection in steps, so that other work runs in between.
import { IdlePace } from '@annal/wal'
import type { Replica } from '../replica/replica.ts'

/** Approximate bytes hashed between two pauses. */
const pieceBytes = 128 * 1024

/**
 * Returns undefined when something was applied to the replica in the meantime. `checkWanted` throws when the digest is
 * no longer wanted.
 */
export async function digestInBackground(
  replica: Replica,
  checkWanted: () => void = () => undefined,
): Promise<string | undefined> {
  const { lsnApplied } = replica
  const pace = new IdlePace()
  const work = replica.digestInSteps()
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
