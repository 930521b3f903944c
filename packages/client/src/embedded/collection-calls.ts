// The operations on collections, on an engine.
import { type SearchRequest as EngineSearch, MetaBudget, type ObjectInput, type StoredObject } from '@annal/engine'
import type { RebuildStatus } from '../collection.ts'
import type { Filter } from '../filter.ts'
import type { CollectionOperations } from '../operations.ts'
import type { SearchRequest } from '../search.ts'
import type { ObjectRecord } from '../stored-object.ts'
import { descriptionOf, resultOf, storedOf } from './answers.ts'
import type { Calls } from './calls.ts'
import { defined } from './defined.ts'

export const collectionCalls: Calls<keyof CollectionOperations> = {
  async createCollection({ database }, definition) {
    await database.createCollection(definition)
    return undefined
  },
  listCollections: ({ database }) => database.collections().map(descriptionOf),
  describeCollection: ({ database }, { collection }) => descriptionOf(database.collection(collection).describe()),
  async deleteCollection({ database }, { collection }) {
    await database.deleteCollection(collection)
    return undefined
  },
  async upsertObjects({ database }, { collection, objects }) {
    const { lsn, durable } = await database.collection(collection).upsert(objects.map(objectInput))
    return { lsn, durable }
  },
  async getMany({ database }, { collection, ids }) {
    return storedAll(await database.collection(collection).getMany(ids))
  },
  async deleteObject({ database }, { collection, id }) {
    return (await database.collection(collection).delete([id])).deleted.length > 0
  },
  async deleteObjectsWhere({ database }, { collection, filter }) {
    return (await database.collection(collection).deleteWhere(filterInput(filter))).deleted
  },
  async updateObjectFilters({ database }, { collection, updates }) {
    return (await database.collection(collection).updateFilters(updates)).updated
  },
  async search({ database }, { collection, request }) {
    return resultOf(await database.collection(collection).search(searchInput(request)))
  },
  async searchBatch({ database }, { collection, requests }) {
    const metas = new MetaBudget()
    const results = await database.collection(collection).searchBatch(requests.map(searchInput))
    return results.map((result) => resultOf(result, metas))
  },
  async countObjects({ database }, { collection, filter }) {
    const open = database.collection(collection)
    await open.served()
    return open.count(filter && filterInput(filter)).count
  },
  async facets({ database }, { collection, request: { filter, ...request } }) {
    const open = database.collection(collection)
    await open.served()
    return open.facets({ ...defined(request), ...(filter && { filter: filterInput(filter) }) })
  },
  async scroll({ database }, { collection, request: { filter, ...request } }) {
    const query = { ...defined(request), ...(filter && { filter: filterInput(filter) }) }
    const { objects, cursor, lsn } = await database.collection(collection).scroll(query)
    return { objects: storedAll(objects), cursor, lsn }
  },
  recall: ({ database }, { collection, request }) => database.collection(collection).recall(defined(request)),
  async rebuild({ database }, { collection, changes }) {
    const open = database.collection(collection)
    await open.served()
    const begun = open.rebuild(
      Object.fromEntries(
        changes.map(({ field, m, efConstruction }) => [
          field,
          { ...(m !== undefined && { M: m }), ...(efConstruction !== undefined && { efConstruction }) },
        ]),
      ),
    )
    // A failure during the rebuild is reported by its status; a refusal fails here.
    if (open.rebuildStatus().status !== 'running') return begun.then(() => undefined)
    begun.catch(() => undefined)
    return undefined
  },
  rebuildStatus({ database }, { collection }): RebuildStatus {
    const { status, objectsDone, objects, error } = database.collection(collection).rebuildStatus()
    const word = status === 'running' ? 'in_progress' : status
    return { status: word, objectsDone, objects, ...(error !== undefined && { error }) }
  },
  async clone({ database }, { collection, target }) {
    await database.backups.clone(collection, target)
    return undefined
  },
  async createBackup({ database }, { collection, name }) {
    return (await database.backups.create(collection, name)).name
  },
  async vacuum({ database }, { collection }) {
    return (await database.collection(collection).vacuum()).reclaimedBytes
  },
}

function storedAll(objects: readonly StoredObject[]) {
  const metas = new MetaBudget()
  return objects.map((object) => storedOf(object, metas))
}

export function filterInput(filter: Filter): Filter {
  return filter
}

function objectInput({ id, meta, filter, fields }: ObjectRecord): ObjectInput {
  return { id, fields, ...(meta !== undefined && { meta }), ...(filter !== undefined && { filter }) }
}

function searchInput({ fields, filter, fusion, ...rest }: SearchRequest): EngineSearch {
  return {
    ...defined(rest),
    fields: Object.fromEntries(Object.entries(fields ?? {}).map(([name, query]) => [name, defined(query)])),
    ...(filter !== undefined && { filter: filterInput(filter) }),
    ...(fusion !== undefined && { fusion: defined(fusion) }),
  }
}
