// Filter keys of the first objects of a collection, and the most frequent values of a key. They are suggestions, not complete lists.
import { facets, listObjects } from '../../api/objects.ts'
import { useLoad } from '../../load.ts'

const lookedAt = 50
const valuesShown = 24

export function useFilterKeys(collection: string): readonly string[] {
  const keys = useLoad(
    async (signal) => {
      const { objects } = await listObjects(collection, { limit: lookedAt, texts: false }, { signal })
      return [...new Set(objects.flatMap(({ filter }) => Object.keys(filter)))].filter((key) => !key.startsWith('$'))
    },
    [collection],
  )
  return keys.kind === 'ready' ? keys.value : []
}

export function useValues(collection: string, key: string, known: boolean) {
  const values = useLoad(
    async (signal) => (known ? (await facets(collection, { key, limit: valuesShown }, { signal })).values : []),
    [collection, key, known],
  )
  return values.kind === 'ready' ? values.value : []
}
