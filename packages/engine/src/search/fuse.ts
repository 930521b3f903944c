// Merges several lists of hits into one: by ranks only, so that scores of different kinds are never compared, or by similarities scaled to
// one range. Equal scores are ordered by id, so the same lists always give the same result.
import type { Fused, FusedHit, SearchHit, Standing } from '../model/search-result.ts'

/** What the fusion needs of a hit. */
type Ranked = Pick<SearchHit, 'id' | 'similarity'> & Partial<Pick<SearchHit, 'highlight'>>

/** The hits of one field and their weight. */
export interface RankedList<Hit extends Ranked = SearchHit> {
  readonly field: string
  readonly weight: number
  /** Best first. */
  readonly hits: readonly Hit[]
}

/** How ranks or similarities of several lists are combined. */
export type FusionMethod = { readonly kind: 'rrf'; readonly rankConstant: number } | { readonly kind: 'relative-score' }

/** How the lists of a search are fused. */
export interface FusionPlan {
  readonly method: FusionMethod
  /** Weight of each field, in the order of the request. */
  readonly weights: ReadonlyMap<string, number>
  readonly limit: number
}

/** Fuses the lists of a search, by field. */
export function fuseResults(
  results: { readonly [field: string]: readonly SearchHit[] },
  { method, weights, limit }: FusionPlan,
): FusedHit[] {
  const lists = Object.entries(results).map(([field, hits]) => ({ field, weight: weights.get(field) ?? 1, hits }))
  return fuse(lists, method, limit)
}

/** The best `limit` objects of all lists, best first, with their standing in each list. */
export function fuse<Hit extends Ranked>(
  lists: readonly RankedList<Hit>[],
  method: FusionMethod,
  limit: number,
): Fused<Hit>[] {
  const fused = new Map<string, { readonly hit: Hit; score: number; readonly standings: Standing[] }>()
  for (const { field, weight, hits } of lists) {
    const scoreOf = method.kind === 'rrf' ? byRank(method.rankConstant) : byRange(hits)
    for (const [index, hit] of hits.entries()) {
      const entry = fused.get(hit.id) ?? { hit, score: 0, standings: [] }
      entry.score += weight * scoreOf(hit, index)
      const { similarity, highlight } = hit
      entry.standings.push({ field, rank: index + 1, similarity, ...(highlight && { highlight }) })
      fused.set(hit.id, entry)
    }
  }
  return [...fused.values()].sort((a, b) => b.score - a.score || (a.hit.id < b.hit.id ? -1 : 1)).slice(0, limit)
}

function byRank(rankConstant: number): (hit: Ranked, index: number) => number {
  return (_, index) => 1 / (rankConstant + index + 1)
}

/** Position in the range of the list's similarities, 0 to 1; 1 if all are equal. */
function byRange(hits: readonly Ranked[]): (hit: Ranked) => number {
  const highest = hits[0]?.similarity ?? 0
  const range = highest - (hits.at(-1)?.similarity ?? 0)
  return ({ similarity }) => (range > 0 ? 1 - (highest - similarity) / range : 1)
}
