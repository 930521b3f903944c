// What other databases keep beside a vector under one name, and filter by: here it is meta, and what a filter can ask for is filter
// values too.
import { filterValuesOf, type JsonObject, type ObjectRecord } from '@annal/client'

/** Of keys that were named, the server says what cannot be a filter value. */
export function metaAndFilter(
  payload: JsonObject,
  filterKeys: readonly string[] | undefined,
): Pick<ObjectRecord, 'meta' | 'filter'> {
  const named = Object.entries(payload).filter(([key]) => filterKeys?.includes(key))
  const filter =
    filterKeys === undefined ? filterValuesOf(payload) : (Object.fromEntries(named) as ObjectRecord['filter'])
  return {
    ...(Object.keys(payload).length > 0 && { meta: payload }),
    ...(filter !== undefined && Object.keys(filter).length > 0 && { filter }),
  }
}

export function keysOf(text: string | undefined): readonly string[] | undefined {
  return text?.split(',').map((key) => key.trim())
}
