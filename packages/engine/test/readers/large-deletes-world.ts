// The objects of large-deletes.test.ts.
import { seededRandom } from '@annal/wal/testing'

export const dimension = 8

/** The vector of an object that stays, or of one that is deleted, by its seed. */
export function vectorOf(seed: number): Float32Array {
  const random = seededRandom(seed)
  return Float32Array.from({ length: dimension }, () => random.next())
}
