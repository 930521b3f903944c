// The collections of an engine, and the job that deletes their expired objects.
import { Collections } from '../collection/collections.ts'
import { ExpiryJob } from '../collection/expiry-job.ts'
import type { Committer } from '../commit.ts'
import type { HashSeed } from '../memory/id-hash.ts'
import { LocalPastCollection } from '../past/past-collection.ts'
import type { ReplicaHost } from '../replica/replica.ts'
import type { WorkerPool } from '../vector/pool.ts'
import type { Foundation } from './foundation.ts'
import type { EngineHost } from './host.ts'
import { serveReaders } from './readers.ts'

export function createCollections(engine: EngineHost): Collections {
  const { base, keys, digests, memory } = engine
  const { limits, embedder, options, parts, vfs, dataDir } = base
  return new Collections({
    ...{ limits, embedder, keys, digests, memory },
    onSearch: options.onSearch,
    onServing: (entry, replica) => {
      if (replica) replica.expiry.clock = () => base.committer?.nowMs ?? Number.NEGATIVE_INFINITY
      serveReaders(engine, entry, replica)
    },
    onCalibrated: (collection) => base.hub?.calibrate(collection.entry.id, collection.calibrationTable()),
    calibrations: {
      ...{ vfs, dataDir, isReadOnly: parts.readOnly ?? false },
      directory: () => base.id,
      onTrouble: (sentence) => base.notify(sentence),
    },
    committer: () => base.committer as Committer,
    replicaHost: (seed) => replicaHost(base, seed),
    openPast: ({ databaseId, definition }, asOf, options) => {
      const database = engine.catalog.databaseById(databaseId)?.name ?? ''
      const subject = { databaseId, database, collection: definition.name }
      return LocalPastCollection.open(engine.past, subject, asOf, options)
    },
  })
}

export function replicaHost({ pool, originals }: Foundation, seed: HashSeed): ReplicaHost {
  return { seed, pool: pool as WorkerPool, originals }
}

export function createExpiryJob({ base, collections }: EngineHost): ExpiryJob {
  return new ExpiryJob(
    {
      clock: base.clock,
      watch: base.clockWatch,
      collections: () => collections.all(),
      onTrouble: (sentence) => base.notify(sentence),
    },
    base.parts.expiryEveryMs,
  )
}
