// The operations on collections, on an engine.
import {
  type AsOf,
  asOfBatch,
  asOfPage,
  type Collection,
  type Database,
  type PastCollection,
  type StoredObject,
} from '@annal/engine'
import type { CollectionOperations } from '../operations.ts'
import type { RebuildStatus } from '../rebuild-status.ts'
import { descriptionOf, resultOf, storedOf } from './answers.ts'
import type { Calls } from './calls.ts'
import { Metas } from './metas.ts'

export const collectionCalls: Calls<keyof CollectionOperations> = {
  async createCollection({ database }, definition, write) {
    await database.createCollection(definition, write)
    return undefined
  },
  listCollections: ({ database }) => database.collections().map(descriptionOf),
  describeCollection: ({ database }, { collection }) => descriptionOf(database.collection(collection).describe()),
  async deleteCollection({ database }, { collection }, write) {
    await database.deleteCollection(collection, write)
    return undefined
  },
  async upsertObjects({ database }, { collection, objects, atomic }, write) {
    const { upserted: _, ...written } = await database.collection(collection).upsert(objects, { ...write, atomic })
    return written
  },
  patchObjects: ({ database }, { collection, patches, atomic }, write) =>
    database.collection(collection).patch(patches, { ...write, atomic }),
  async getMany({ database }, { collection, ids, minLsn, contents, asOf }) {
    if (asOf !== undefined) return storedAll(await (await database.asOf(collection, asOf)).getMany(ids, contents))
    const open = database.collection(collection)
    if (minLsn !== undefined) await open.waitFor(minLsn)
    return storedAll(await open.getMany(ids, contents))
  },
  async deleteObject({ database }, { collection, id, ifLsn }, write) {
    return (await database.collection(collection).delete([id], { ...write, ifLsn })).deleted.length > 0
  },
  async deleteObjectsWhere({ database }, { collection, filter }, write) {
    return (await database.collection(collection).deleteWhere(filter, write)).deleted
  },
  async updateObjectFilters({ database }, { collection, updates }, write) {
    return (await database.collection(collection).updateFilters(updates, write)).updated
  },
  async search({ database }, { collection, request }) {
    return resultOf(await (await readOf(database, collection, request.asOf)).search(request))
  },
  async searchBatch({ database }, { collection, requests }) {
    const metas = new Metas()
    const results = await (await readOf(database, collection, asOfBatch(requests))).searchBatch(requests)
    return results.map((result) => resultOf(result, metas))
  },
  async countObjects({ database }, { collection, filter, match, asOf }) {
    const request = match === undefined ? filter : { filter, match }
    if (asOf !== undefined) return (await (await database.asOf(collection, asOf)).count(request)).count
    const open = database.collection(collection)
    if (match !== undefined) return (await open.count({ filter, match })).count
    await open.served()
    return open.count(filter).count
  },
  async facets({ database }, { collection, request }) {
    return (await readOf(database, collection, request.asOf)).facets(request)
  },
  async scroll({ database }, { collection, request }) {
    const open = await readOf(database, collection, asOfPage(request))
    const { objects, ...page } = await open.scroll(request)
    return { ...page, objects: storedAll(objects) }
  },
  async recall({ database }, { collection, request }) {
    return (await readOf(database, collection, request.asOf)).recall(request)
  },
  calibrate: ({ database }, { collection, request }) => database.collection(collection).calibrate(request),
  async calibrations({ database }, { collection }) {
    const open = database.collection(collection)
    await open.served()
    return open.calibrations()
  },
  async neighbors({ database }, { collection, field, id }) {
    const open = database.collection(collection)
    await open.served()
    return open.neighbors(field, id)
  },
  updateFields: ({ database }, { collection, changes }, write) =>
    database.collection(collection).updateFields(changes, write),
  updateDefaults: ({ database }, { collection, changes }, write) =>
    database.collection(collection).updateDefaults(changes, write),
  async rebuild({ database }, { collection, changes }, write) {
    const open = database.collection(collection)
    await open.served()
    const begun = open.rebuild(changes, write)
    // A failure during the rebuild is reported by its status; a refusal fails here. With a request key it has not begun yet.
    if (open.rebuildStatus().status !== 'running') return begun.then(() => undefined)
    begun.catch(() => undefined)
    return undefined
  },
  rebuildStatus({ database }, { collection }): RebuildStatus {
    const { status, objectsDone, objects, error } = database.collection(collection).rebuildStatus()
    const word = status === 'running' ? 'in_progress' : status
    return { status: word, objectsDone, objects, ...(error !== undefined && { error }) }
  },
  async clone({ database }, { collection, target, keepExpired }, write) {
    await database.backups.clone(collection, target, { ...write, keepExpired })
    return undefined
  },
  async createBackup({ database }, { collection, name }) {
    return (await database.backups.create(collection, name)).name
  },
  async vacuum({ database }, { collection }, write) {
    return (await database.collection(collection).vacuum(write)).reclaimedBytes
  },
}

/** The collection, or what it was at a moment, also if it was deleted since. */
function readOf(database: Database, name: string, asOf: AsOf | undefined): Collection | Promise<PastCollection> {
  return asOf === undefined ? database.collection(name) : database.asOf(name, asOf)
}

function storedAll(objects: readonly StoredObject[]) {
  const metas = new Metas()
  return objects.map((object) => storedOf(object, metas))
}
