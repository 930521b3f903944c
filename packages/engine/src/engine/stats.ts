// What an engine tells of itself: its health, its counts, and the states of its collections.
import type { DataDirectory } from '@annal/wal'
import { heldBy } from '../collection/memory-use.ts'
import { healthOf, roomLeft } from '../health.ts'
import type { CalibrationCounts } from '../model/calibration.ts'
import type { EngineHealth, EngineStats } from '../model/engine-stats.ts'
import type { StateDigest } from '../model/state-digest.ts'
import { memoriesMax } from '../vector/address-space.ts'
import type { WorkerPool } from '../vector/pool.ts'
import type { EngineHost } from './host.ts'

export function engineHealth({ base, backups, collections, expiry, memory }: EngineHost): EngineHealth {
  const { phase, failure } = base
  const notices = [...base.warnings, ...backups.reasons(), ...(expiry?.reasons() ?? [])]
  const memoryNotice = memory.notice()
  if (memoryNotice !== undefined) notices.push(memoryNotice)
  notices.push(...roomLeft(base.pool?.stats.memories ?? 0, memoriesMax()))
  const log = base.directory?.log.state()
  const { newest: progress } = base.progress
  const health = healthOf({ phase, log, failure, notices, collections: collections.all() })
  const { states } = collections.calibrationCounts()
  const isCalibrated = Object.values(states).some((count) => count > 0)
  return { ...health, ...(progress && { progress }), ...(isCalibrated && { calibrations: states }) }
}

export function engineStats(engine: EngineHost): EngineStats {
  const { base, catalog, checkpointer, recent, pastStates } = engine
  const { lsnDurable, ...log } = (base.directory as DataDirectory).log.state()
  const { bytes, segments, appends, syncs, syncMs, queuedRecords, queuedBytes } = log
  const { threads, lost, waiting } = (base.pool as WorkerPool).stats
  return {
    uptimeMs: performance.now() - base.openedAt,
    databases: catalog.databases.length,
    collections: catalog.collections.length,
    ...heldBy(engine.collections.all()),
    lsnApplied: base.lsnApplied,
    lsnDurable,
    lsnCheckpoint: checkpointer.manifest?.lsn ?? 0,
    timeMs: base.timeMs,
    ...engine.backups.stats(),
    log: { bytes, segments, appends, syncs, syncMs, queuedRecords, queuedBytes },
    checkpoints: checkpointer.stats(),
    workers: { threads, lost, queriesWaiting: waiting },
    calibrations: calibrationCounts(engine),
    requestKeys: engine.keys.stats(),
    expiry: expiryStats(engine),
    feed: engine.feed.stats(),
    memoryRoom: engine.memory.state,
    asOf: {
      ...{ loaded: pastStates.count, loadedBytes: pastStates.bytes },
      ...{ windowBytes: recent.bytes, windowReads: recent.reads },
    },
  }
}

/** Of searches on this thread and on those of the readers. */
function calibrationCounts({ base, collections }: EngineHost): CalibrationCounts {
  const counts = collections.calibrationCounts()
  const { searches, unreachable } = base.hub?.slots.recallCounts() ?? { searches: 0, unreachable: 0 }
  return { ...counts, searches: counts.searches + searches, unreachable: counts.unreachable + unreachable }
}

function expiryStats({ collections, expiry }: EngineHost): EngineStats['expiry'] {
  let hidden = 0
  for (const { recovering, condition } of collections.all())
    if (condition === 'ready') hidden += recovering?.expired?.count ?? 0
  return { hidden, ...(expiry?.stats() ?? { deleted: 0, clockJumps: 0, isDeleting: false }) }
}

/** The newest applied record of the catalog and of each collection that is in service. */
export function stateLsns({ catalog, collections }: EngineHost): readonly Omit<StateDigest, 'digest'>[] {
  const served = [...collections.all()].flatMap(({ entry, name, recovering }) => {
    return recovering === undefined ? [] : [{ part: entry.id, name, lsn: recovering.lsnApplied }]
  })
  return [{ part: 0, lsn: catalog.lsn }, ...served]
}
