// What a database may contain and request, by its type, as in the published service. Only the server's own limits apply to
// databases of type enterprise and to the database of a plain server.
import type { Database, SearchRequest } from '@annal/engine'
import { ServerError } from '../errors.ts'
import { isObject } from '../json-object.ts'
import { type Tier, tiers } from './tier-limits.ts'

/** Checks a definition before its collection is created. The engine checks the form of the definition. */
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

/**
 * Call it in the same turn of the event loop in which a collection is created, cloned, or restored, so that concurrent requests
 * are counted.
 */
export function checkCollections(database: Database): void {
  const tier = tierOf(database)
  if (tier !== undefined) within(database.usage().collections + 1, tier.collectionsMax, 'collections', database)
}

/** Checks an upsert before it is written. Objects that replace others are counted as new. */
export function checkObjects(database: Database, added: number): void {
  const tier = tierOf(database)
  if (tier === undefined) return
  within(database.usage().objects + added, tier.objectsMax, 'objects', database)
}

/** Checks the limits of a search. Throws quota_exceeded. */
export function checkSearch(database: Database, request: SearchRequest): void {
  const tier = tierOf(database)
  if (tier === undefined) return
  for (const { limit } of Object.values(request.fields)) within(limit ?? 0, tier.topKMax, 'limit', database)
  const { limit: groups = 0, offset = 0 } = request.groupBy ?? {}
  within(groups + offset, tier.topKMax, 'group_by.limit', database)
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
