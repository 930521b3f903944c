// Answers of a collection, recorded at a moment to be compared with reads as of that moment.
import type { Collection, PastCollection, SearchRequest } from '@annal/engine'
import type { Random } from '@annal/wal/testing'
import { someVector } from '../backup/rig.ts'

/** What a collection answered, without cursors, which name their moment. */
export interface Answers {
  readonly lsn: number
  readonly objects: readonly unknown[]
  readonly some: readonly unknown[]
  readonly counts: readonly number[]
  readonly facets: readonly unknown[]
  readonly searches: readonly unknown[]
}

const filters = [[], [{ n: { $lt: 5 } }], [{ m: { $eq: 1 } }], [{ n: { $in: [2, 3] } }, { m: { $ne: 0 } }]]

/** The requests whose answers are recorded; the same for the present and the past. */
export function someSearches(
  random: Random,
  fields: readonly string[],
  options: { readonly stored: string },
): SearchRequest[] {
  return fields.flatMap((name) =>
    filters.flatMap((filter) => [
      { fields: { [name]: { query: someVector(random), limit: 7 } }, filter, exact: true, includeVectors: true },
      { fields: { [name]: { query: { id: options.stored }, limit: 4 } }, filter, exact: true },
    ]),
  )
}

export async function answersOf(
  collection: Collection | PastCollection,
  searches: readonly SearchRequest[],
): Promise<Answers> {
  const objects: unknown[] = []
  let cursor: string | undefined
  let lsn = 0
  do {
    const page = await collection.scroll({ limit: 37, cursor })
    objects.push(...page.objects.map((object) => plain(object)))
    cursor = page.cursor
    lsn = page.lsn
  } while (cursor !== undefined)
  const counts: number[] = []
  const facets: unknown[] = []
  for (const filter of filters) {
    counts.push((await collection.count(filter)).count)
    const { values, distinct } = await collection.facets({ key: 'n', filter, limit: 20 })
    facets.push({ values, distinct })
  }
  const found: unknown[] = []
  for (const search of searches) found.push(await resultOf(collection, search))
  const some = await collection.getMany(['o1', 'o2', 'o3', 'nobody', 'o4', 'o5'])
  return { lsn, objects, some: some.map((object) => plain(object)), counts, facets, searches: found }
}

/** The hits, or the code of the error: the object whose vector is the query may not exist. */
async function resultOf(collection: Collection | PastCollection, search: SearchRequest): Promise<unknown> {
  try {
    const { results } = await collection.search(search)
    return plain(results)
  } catch (error) {
    return (error as { code?: string }).code
  }
}

function plain(value: unknown): unknown {
  return JSON.parse(JSON.stringify(value))
}
