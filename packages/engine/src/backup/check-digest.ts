// Compares the digest of a collection that was built from an image with the digest that the backup, clone, or record promises.
import type { EngineError } from '../errors.ts'
import type { Replica } from '../replica/replica.ts'

/**
 * Returns the replica if its state has the promised digest. Otherwise removes it and throws the error. An empty promise means that the
 * digest of the source was never computed; then nothing is compared. Pass `digest` if it is already known.
 */
export async function checkDigest(
  replica: Replica,
  promised: string,
  errorFor: (digest: string) => EngineError,
  digest?: string,
): Promise<Replica> {
  if (promised === '') return replica
  const found = digest ?? replica.digest()
  if (found === promised) return replica
  await replica.remove()
  throw errorFor(found)
}
