// The collections that a serving thread can search, with the limits of their databases.
import { filterBoostMax, type Reader } from '@annal/engine/reader'
import { tiers } from '../license/tier-limits.ts'
import type { FindCollection } from './hot-routes.ts'

export interface ReaderLimits {
  /** Limit of the server. */
  readonly topKMax: number
  /** Whether databases have types, each with its own limits: a server with a root token. */
  readonly hasTypes: boolean
}

/**
 * A thread does not know the types of databases. Where they matter, it answers searches within the limits of every type, and the main
 * thread checks those beyond.
 */
export function collectionsOf(reader: Reader, { topKMax, hasTypes }: ReaderLimits): FindCollection {
  const types = hasTypes ? Object.values(tiers).filter((tier) => tier !== undefined) : []
  const limits = {
    topKMax: Math.min(topKMax, ...types.map((tier) => tier.topKMax)),
    filterBoostMax: Math.min(filterBoostMax, ...types.map((tier) => tier.filterBoostMax)),
  }
  return (database, name) => {
    const collection = reader.collection(database, name)
    return collection && { reader: collection, ...limits }
  }
}
