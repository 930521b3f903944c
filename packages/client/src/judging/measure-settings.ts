// Runs the searches of judged queries with one setting or two, and measures what they find.
import type { BatchedRequest } from '../model.ts'
import type { BatchedResult } from '../search.ts'
import type { GivenQuery, JudgedQueries } from './judged-queries.ts'
import { type Grades, type Measures, measure } from './metrics.ts'
import type { Setting } from './setting.ts'

/** One setting, or two that are compared. */
export interface Settings {
  readonly a: Setting
  readonly b: Setting | undefined
}

/** What one setting found for a query: the ids that were judged, best first, and their measures. */
export interface Ranked extends Measures {
  readonly ranking: readonly string[]
}

/** A query with its grades and the results of each setting. */
export interface JudgedQuery {
  readonly query: GivenQuery
  readonly grades: Grades
  readonly a: Ranked
  readonly b: Ranked | undefined
}

/** Runs searches at one moment of a collection; results are in the order of the requests. */
export type SearchMany = (requests: readonly BatchedRequest[]) => Promise<readonly BatchedResult[]>

/** How many results are judged, and how the progress is reported. */
export interface MeasureOptions {
  /** The first k results of each search are judged. */
  readonly k: number
  /** Called before each group of searches and at the end. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined
  readonly signal?: AbortSignal | undefined
}

/** Searches in one request; the server runs them at one moment. */
const searchesAtOnce = 20

/** Both settings take turns, so that writes in between meet both. Throws JudgingError if a query has no value for a field. */
export async function measureSettings(
  searchMany: SearchMany,
  { queries }: JudgedQueries,
  { a, b }: Settings,
  { k, onProgress, signal }: MeasureOptions,
): Promise<readonly JudgedQuery[]> {
  const measured: JudgedQuery[] = []
  for (let from = 0; from < queries.length; from += searchesAtOnce) {
    signal?.throwIfAborted()
    onProgress?.(from, queries.length)
    const some = queries.slice(from, from + searchesAtOnce)
    const rankedBy = async (setting: Setting): Promise<readonly Ranked[]> => {
      const results = await searchMany(some.map(({ query }) => setting.requestOf(query)))
      return some.map(({ grades }, i) => {
        const ranking = setting.rankingOf(results[i] as BatchedResult).slice(0, k)
        return { ranking, ...measure(ranking, grades, k) }
      })
    }
    const [ofA, ofB] = [await rankedBy(a), b && (await rankedBy(b))]
    for (const [i, judged] of some.entries()) measured.push({ ...judged, a: ofA[i] as Ranked, b: ofB?.[i] })
  }
  onProgress?.(queries.length, queries.length)
  return measured
}
