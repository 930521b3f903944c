// Checkpoints of an engine: where they are kept, and the state that a checkpoint saves.
import { join } from 'node:path'
import { archivedCheckpointsDir } from '../backup/archive.ts'
import type { Committer } from '../commit.ts'
import type { CheckpointSource } from '../snapshot/checkpoint.ts'
import { Checkpointer } from '../snapshot/checkpointer.ts'
import type { EngineHost } from './host.ts'

export function createCheckpointer(engine: EngineHost): Checkpointer {
  const { vfs, dataDir, options, parts, progress } = engine.base
  return new Checkpointer(
    {
      ...{ vfs, dir: join(dataDir, 'checkpoints'), originalsDir: join(dataDir, 'originals') },
      directory: () => engine.base.identity?.uuid,
      ...(options.archive?.maxAgeMs && { archiveDir: archivedCheckpointsDir(dataDir) }),
    },
    {
      onTaken: (taken) => engine.backups.checkpointTaken(taken),
      keepLog: options.keepLog ?? false,
      retainAfter: options.retainAfter,
      ...(parts.deltas && { deltas: parts.deltas }),
      onlyOnDemand: parts.checkpointsOnDemand ?? false,
      onProgress: (done) => progress.report(done),
      onRead: (bytes) => engine.memory.checkUnavoidable('the collection', bytes),
      onTrouble: (sentence) => engine.base.warn(sentence),
      onFailing: (work, sentence) => engine.base.warnWhileFailing(work, sentence),
    },
  )
}

/** The state that a checkpoint saves if it is taken now. */
export function checkpointSource({ base, catalog, collections, keys }: EngineHost): CheckpointSource {
  const committer = base.committer as Committer
  return {
    lsn: committer.lsnApplied,
    timeMs: committer.timeMs,
    logPlace: base.opener.positionBefore?.(committer.lsnApplied),
    catalog: catalog.state(),
    collections: [...collections.all()],
    keys: keys.table,
  }
}
