// One list out of several: by ranks alone, so that scores of different kinds never meet, or by similarities brought to one
// range. Equal scores are in the order of ids, so that the same lists always give the same one.
import type { FusedHit, SearchHit, Standing } from '../model/query.ts'

export interface RankedList {
  readonly field: string
  readonly weight: number
  /** Best first. */
  readonly hits: readonly SearchHit[]
}

export type FusionMethod = { readonly kind: 'rrf'; readonly rankConstant: number } | { readonly kind: 'relative-score' }

export function fuse(lists: readonly RankedList[], method: FusionMethod, limit: number): FusedHit[] {
  const fused = new Map<string, { readonly hit: SearchHit; score: number; readonly standings: Standing[] }>()
  for (const { field, weight, hits } of lists) {
    const worth = method.kind === 'rrf' ? byRank(method.rankConstant) : byRange(hits)
    for (const [index, hit] of hits.entries()) {
      const entry = fused.get(hit.id) ?? { hit, score: 0, standings: [] }
      entry.score += weight * worth(hit, index)
      entry.standings.push({ field, rank: index + 1, similarity: hit.similarity })
      fused.set(hit.id, entry)
    }
  }
  return [...fused.values()].sort((a, b) => b.score - a.score || (a.hit.id < b.hit.id ? -1 : 1)).slice(0, limit)
}

function byRank(rankConstant: number): (hit: SearchHit, index: number) => number {
  return (_, index) => 1 / (rankConstant + index + 1)
}

/** The share of the list's range of similarities; 1 where all are equal. */
function byRange(hits: readonly SearchHit[]): (hit: SearchHit) => number {
  const most = hits[0]?.similarity ?? 0
  const range = most - (hits.at(-1)?.similarity ?? 0)
  return ({ similarity }) => (range > 0 ? 1 - (most - similarity) / range : 1)
}
