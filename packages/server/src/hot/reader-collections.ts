// The collections that a serving thread can search, with the limits of their databases.
import { filterBoostMax, type Reader } from '@annal/engine/reader'
import { tiers } from '../license/tier-limits.ts'
import type { FindCollection } from './hot-routes.ts'

export interface ReaderLimits {
  /** Limit of the server. */
  readonly topKMax: number
}

/** A search beyond the limits of the type of its database is an error, which is left to the main thread (license/tiers.ts). */
export function collectionsOf(reader: Reader, { topKMax }: ReaderLimits): FindCollection {
  return (database, name, type) => {
    const collection = reader.collection(database, name)
    if (collection === undefined) return undefined
    const tier = tiers[type]
    return {
      reader: collection,
      topKMax: Math.min(topKMax, tier?.topKMax ?? topKMax),
      filterBoostMax: Math.min(filterBoostMax, tier?.filterBoostMax ?? filterBoostMax),
    }
  }
}
