// The names of collections that lead elsewhere after an event, for threads that keep names of their own.
import type { CatalogEvent } from '../model/event.ts'
import type { Catalog } from './catalog.ts'

/** Names of one database. */
export interface ChangedNames {
  readonly database: string
  /** Each with the id of its collection, 0 where there is none any more. Undefined: the database is deleted. */
  readonly names: readonly (readonly [name: string, collectionId: number])[] | undefined
}

/** All names of a catalog, one entry for each database that has any. */
export function allNames(catalog: Catalog): ChangedNames[] {
  return catalog.databases.flatMap(({ id, name: database }) => {
    const collections = catalog.collectionsOf(id).map((entry) => [entry.definition.name, entry.id] as const)
    const aliases = catalog.aliasesOf(id).map((alias) => [alias.name, alias.collectionId] as const)
    return collections.length > 0 ? [{ database, names: [...collections, ...aliases] }] : []
  })
}

/** Call it before the event is applied, and the returned function afterwards. */
export function watchNames(catalog: Catalog, event: CatalogEvent): () => ChangedNames | undefined {
  if (event.kind === 'database-dropped') {
    const database = catalog.databaseById(event.databaseId)?.name ?? ''
    return () => ({ database, names: undefined })
  }
  const before = namesOf(catalog, event)
  if (before === undefined) return () => undefined
  const { databaseId } = before
  return () => ({
    database: catalog.databaseById(databaseId)?.name ?? '',
    names: before.names.map((name) => [name, catalog.resolve(databaseId, name)?.id ?? 0] as const),
  })
}

function namesOf(
  catalog: Catalog,
  event: CatalogEvent,
): { readonly databaseId: number; readonly names: readonly string[] } | undefined {
  switch (event.kind) {
    case 'collection-created':
    case 'collection-restored':
    case 'alias-put':
    case 'alias-dropped':
      return { databaseId: event.databaseId, names: [event.name] }
    case 'collection-dropped': {
      const entry = catalog.byId(event.collectionId)
      return entry && { databaseId: entry.databaseId, names: [entry.definition.name] }
    }
    case 'collection-promoted': {
      const { databaseId, promotedId, replacedId, keptAs } = event
      const own = [promotedId, replacedId].flatMap((id) => catalog.byId(id)?.definition.name ?? [])
      const aliases = catalog.aliasesOf(databaseId).filter(({ collectionId }) => collectionId === replacedId)
      return { databaseId, names: [...new Set([...own, keptAs, ...aliases.map(({ name }) => name)])] }
    }
    default:
      return undefined
  }
}
