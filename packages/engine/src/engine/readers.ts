// The readers of an engine: the hub that hands out their handles, and what it serves.
import type { CollectionEntry } from '../catalog/catalog-state.ts'
import { allNames } from '../catalog/changed-names.ts'
import { answerCall } from '../readers/answer-call.ts'
import { ReaderHub } from '../readers/hub.ts'
import type { Replica } from '../replica/replica.ts'
import type { WorkerPool } from '../vector/pool.ts'
import type { EngineHost } from './host.ts'

/** Undefined in an engine without readers. */
export function createHub(engine: EngineHost, pool: WorkerPool): ReaderHub | undefined {
  const { base } = engine
  const { readers: slots } = pool
  if (base.parts.pool || slots === undefined) return undefined
  const { limits } = base
  const host = {
    collection: (database: string, name: string) => engine.database(database).collection(name),
    replicaOf: (header: number) => base.hub?.replicaOf(header),
  }
  return new ReaderHub({
    ...{ pool, slots, limits },
    // During a replay, names mean what they mean at the end of the log.
    names: () => allNames(engine.catalogAhead),
    answer: (call) => answerCall(call, host),
    receive: ({ collectionId, ...queries }) => engine.loaded(collectionId)?.receiveQueries(queries),
  })
}

/** Called when another replica of a collection serves; undefined when none does any more. */
export function serveReaders(engine: EngineHost, { id }: CollectionEntry, replica: Replica | undefined): void {
  const { base, recent } = engine
  recent.serve(id, replica)
  if (base.hub === undefined) return
  // A collection that is being made has none.
  const calibration = replica && engine.loaded(id)?.calibrationTable()
  base.hub.serve(id, replica, calibration)
}
