// Vectors of random tests. Rows with equal vectors share a node of the graph and succeed each other, which a test of distinct vectors never
// reaches.
import type { Random } from '@annal/wal/testing'

const kinds = 30

/** A vector with numbers from -1 to 1: one of 30 in half of the cases. */
export function vectorOrCopy(random: Random, dimension: number): number[] {
  if (random.below(2) === 0) return Array.from({ length: dimension }, () => random.next() * 2 - 1)
  const kind = random.below(kinds)
  return Array.from({ length: dimension }, (_, i) => Math.sin((kind + 1) * (i + 1)))
}
