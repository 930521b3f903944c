// Merges the results of several segments.

import { elementAt } from '../element-at.ts'
import type { DenseHits } from '../field.ts'
import type { Found } from '../pool.ts'

/** Merges the results of segments: best first, ties by ordinal. */
export function mergeHits(found: readonly (Found & { segment: number })[], k: number, segmentRows: number): DenseHits {
  const visited = found.reduce((sum, part) => sum + part.visited, 0)
  const distances = found.reduce((sum, part) => sum + part.distances, 0)
  const isUnresolved = found.some((part) => part.isUnresolved)
  const [only] = found
  if (found.length === 1 && only?.segment === 0)
    return { ordinals: only.ordinals, similarities: only.similarities, visited, distances, isUnresolved }
  const hits = found.flatMap((part) =>
    Array.from(part.ordinals, (ordinal, j) => ({
      ordinal: ordinal + part.segment * segmentRows,
      similarity: elementAt(part.similarities, j),
    })),
  )
  hits.sort((a, b) => b.similarity - a.similarity || a.ordinal - b.ordinal)
  const best = hits.slice(0, k)
  return {
    ordinals: Uint32Array.from(best, (hit) => hit.ordinal),
    similarities: Float32Array.from(best, (hit) => hit.similarity),
    visited,
    distances,
    isUnresolved,
  }
}
