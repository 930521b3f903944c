// What a database may hold and ask by its type, as the published service has it. Databases of the type enterprise, and that of
// a plain deployment, may do whatever the server allows.
import type { Database, DatabaseType, SearchRequest } from '@annal/engine'
import { ServerError } from '../http/errors.ts'
import { isObject } from '../wire/object-parts.ts'

export interface Tier {
  readonly collectionsMax: number
  readonly objectsMax: number
  readonly dimensionMax: number
  readonly topKMax: number
  readonly filterBoostMax: number
  /** Of vectors; every one where not given. */
  readonly precisions?: readonly string[]
}

const none = Number.POSITIVE_INFINITY

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

/** Before a collection is made of a definition as people write it; what is wrong with its form the engine says. */
export function checkDefinition(database: Database, definition: unknown): void {
  const tier = tierOf(database)
  if (tier === undefined) return
  checkCollections(database)
  const fields = isObject(definition) && Array.isArray(definition.fields) ? definition.fields : []
  for (const field of fields) {
    if (!isObject(field) || !isObject(field.params) || field.type === 'sparse') continue
    const { dimension, precision } = field.params
    if (typeof dimension === 'number') within(dimension, tier.dimensionMax, 'dimension', database)
    if (tier.precisions === undefined || precision == null || typeof precision !== 'string') continue
    if (!tier.precisions.includes(precision)) throw beyond('precision', precision, tier.precisions[0], database)
  }
}

/** In the turn in which a collection is made, cloned or restored: those that others are making count too. */
export function checkCollections(database: Database): void {
  const tier = tierOf(database)
  if (tier !== undefined) within(database.usage().collections + 1, tier.collectionsMax, 'collections', database)
}

/** Before objects are written; those that replace others are counted as new ones. */
export function checkObjects(database: Database, added: number): void {
  const tier = tierOf(database)
  if (tier === undefined) return
  within(database.usage().objects + added, tier.objectsMax, 'objects', database)
}

export function checkSearch(database: Database, request: SearchRequest): void {
  const tier = tierOf(database)
  if (tier === undefined) return
  for (const { limit } of Object.values(request.fields)) within(limit ?? 0, tier.topKMax, 'limit', database)
  within(request.filterBoostPercentage ?? 0, tier.filterBoostMax, 'filter_boost_percentage', database)
}

function tierOf(database: Database): Tier | undefined {
  return tiers[database.describe().type]
}

function within(value: number, limit: number, field: string, database: Database): void {
  if (value > limit) throw beyond(field, value, limit, database)
}

function beyond(field: string, value: unknown, limit: unknown, database: Database): ServerError {
  const { type } = database.describe()
  return new ServerError('quota_exceeded', `a database of type ${type} may have ${field} up to ${String(limit)}`, {
    field,
    value,
    limit,
  })
}
