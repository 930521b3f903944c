// Reciprocal rank fusion: one list out of several, by ranks alone, so that scores of different kinds never meet.
import type { SearchHit } from '@annal/engine'

export interface RankedList {
  readonly name: string
  readonly weight: number
  readonly hits: readonly SearchHit[]
}

/** Where a hit stood in one of the lists, ranks from 1, and what it was worth there. */
export interface Standing {
  readonly name: string
  readonly rank: number
  readonly similarity: number
}

export interface FusedRank {
  readonly hit: SearchHit
  /** The sum of weight / (constant + rank) over the lists that have the hit. */
  readonly score: number
  readonly ranks: readonly Standing[]
}

/** Best first; equal scores keep the order of first appearance. */
export function fuseRanks(
  lists: readonly RankedList[],
  { rankConstant, limit }: { readonly rankConstant: number; readonly limit: number },
): FusedRank[] {
  const fused = new Map<string, { readonly hit: SearchHit; score: number; readonly ranks: Standing[] }>()
  for (const { name, weight, hits } of lists) {
    for (const [index, hit] of hits.entries()) {
      const entry = fused.get(hit.id) ?? { hit, score: 0, ranks: [] }
      entry.score += weight / (rankConstant + index + 1)
      entry.ranks.push({ name, rank: index + 1, similarity: hit.similarity })
      fused.set(hit.id, entry)
    }
  }
  return [...fused.values()].sort((a, b) => b.score - a.score).slice(0, limit)
}
