// Filter keys of the first objects of a collection, and the most frequent values of a key. They are suggestions, not complete lists.
import { facets, listObjects } from '../../api/objects.ts'
import type { CallOptions } from '../../api/request.ts'
import { useLoad } from '../../load.ts'

const lookedAt = 50
const valuesShown = 24

export async function filterKeysOf(collection: string, options: CallOptions): Promise<readonly string[]> {
  const { objects } = await listObjects(collection, { limit: lookedAt, texts: false }, options)
  return [...new Set(objects.flatMap(({ filter }) => Object.keys(filter)))].filter((key) => !key.startsWith('$'))
}

export function useFilterKeys(collection: string): readonly string[] {
  const keys = useLoad((signal) => filterKeysOf(collection, { signal }), [collection])
  return keys.kind === 'ready' ? keys.value : []
}

export function useValues(collection: string, key: string, known: boolean) {
  const values = useLoad(
    async (signal) => (known ? (await facets(collection, { key, limit: valuesShown }, { signal })).values : []),
    [collection, key, known],
  )
  return values.kind === 'ready' ? values.value : []
}
