// Other databases have one payload per vector, which they also filter by. Here it becomes meta, and values that a filter can test also
// become filter values.
import { filterValuesOf, type JsonObject, type ObjectInput } from '@annal/client'

/** For keys named by the user, the server reports values that a filter cannot test. */
export function metaAndFilter(
  payload: JsonObject,
  filterKeys: readonly string[] | undefined,
): Pick<ObjectInput, 'meta' | 'filter'> {
  const named = Object.entries(payload).filter(([key]) => filterKeys?.includes(key))
  const filter =
    filterKeys === undefined ? filterValuesOf(payload) : (Object.fromEntries(named) as ObjectInput['filter'])
  return {
    ...(Object.keys(payload).length > 0 && { meta: payload }),
    ...(filter !== undefined && Object.keys(filter).length > 0 && { filter }),
  }
}

export function keysOf(text: string | undefined): readonly string[] | undefined {
  return text?.split(',').map((key) => key.trim())
}
