// Reciprocal rank fusion: one list out of several, by ranks alone, so that scores of different kinds never meet.
import type { SearchHit } from '@annal/engine'

/** A hit whose similarity may be a fused score. */
export type FusedHit = SearchHit

export interface RankedList {
  readonly weight: number
  readonly hits: readonly SearchHit[]
}

/** Score of an id: the sum of weight / (constant + rank) over the lists that have it, ranks from 1. Equal scores keep the order of first appearance. */
export function fuse(
  lists: readonly RankedList[],
  { rankConstant, limit }: { readonly rankConstant: number; readonly limit: number },
): readonly FusedHit[] {
  const scores = new Map<string, { readonly hit: SearchHit; score: number }>()
  for (const { weight, hits } of lists) {
    for (const [index, hit] of hits.entries()) {
      const score = weight / (rankConstant + index + 1)
      const known = scores.get(hit.id)
      if (known === undefined) scores.set(hit.id, { hit, score })
      else known.score += score
    }
  }
  return [...scores.values()]
    .sort((a, b) => b.score - a.score)
    .slice(0, limit)
    .map(({ hit, score }) => ({ ...hit, similarity: score, distance: 1 - score }))
}
