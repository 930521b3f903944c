// The limits of each type of database, as in the published service.
import type { DatabaseType } from '@annal/engine'

/** The limits of one type of database. */
export interface Tier {
  readonly collectionsMax: number
  readonly objectsMax: number
  readonly dimensionMax: number
  readonly topKMax: number
  readonly filterBoostMax: number
  /** Allowed precisions of vectors. Default: all. */
  readonly precisions?: readonly string[]
}

const none = Number.POSITIVE_INFINITY

/** The limits of each type of database. Undefined: none. */
export const tiers: { readonly [T in DatabaseType]: Tier | undefined } = {
  starter: {
    collectionsMax: 3,
    objectsMax: 1_000_000,
    dimensionMax: 2_000,
    topKMax: 128,
    filterBoostMax: 0,
    precisions: ['int8'],
  },
  pro: { collectionsMax: 10, objectsMax: 10_000_000, dimensionMax: 4_000, topKMax: 1_024, filterBoostMax: 100 },
  scale: { collectionsMax: none, objectsMax: 100_000_000, dimensionMax: 8_000, topKMax: 4_096, filterBoostMax: 400 },
  enterprise: undefined,
}
