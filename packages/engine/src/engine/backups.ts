// Backups of an engine, and the records that it keeps of the past.
import type { DataDirectory, Identity } from '@annal/wal'
import { historyOf } from '../backup/archive.ts'
import { EngineBackups } from '../backup/engine-backups.ts'
import { type PastRecords, recordsInFiles, recordsInLog } from '../backup/past-records.ts'
import { replicaHost } from './collections.ts'
import type { Foundation } from './foundation.ts'
import type { EngineHost } from './host.ts'

export function createBackups(engine: EngineHost): EngineBackups {
  const { base } = engine
  const { vfs, dataDir, clock, options, opener, limits } = base
  return new EngineBackups({
    ...{ vfs, dataDir, clock },
    memory: engine.memory,
    catalog: () => engine.catalog,
    archive: options.archive,
    keepLog: options.keepLog ?? false,
    retainAfter: options.retainAfter,
    shared: opener.shared,
    onNotice: (sentence) => base.notify(sentence),
    backupMsMax: limits.backupMsMax,
    agesBy: (ageMs) => base.clockWatch.agesBy(ageMs, base.timeAtStartMs),
    // Unknown only in a new directory, where nothing needs it yet.
    identity: () => base.identity as Identity,
    log: () => (base.directory as DataDirectory).log,
    past: () => pastRecords(base),
    timeMs: () => base.timeMs,
    newestCheckpoint: () => engine.checkpointer.newest,
    takeCheckpoint: () => engine.checkpointer.take(),
    renewSnapshot: (id) => engine.checkpointer.renew(id),
    replicaHost: (seed) => replicaHost(base, seed),
    nextCollectionId: () => engine.nextCollectionId(),
    commit: (makeDraft, options) => engine.commit(makeDraft, options),
  })
}

function pastRecords({ opener, directory, vfs, dataDir, identity }: Foundation): PastRecords {
  const { refusal, bringsFiles } = opener
  if (refusal !== undefined && !bringsFiles) return recordsInLog((directory as DataDirectory).log)
  return recordsInFiles(historyOf({ vfs, dataDir }, identity as Identity))
}
