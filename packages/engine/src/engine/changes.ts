// The feed of changes of an engine, and the cursors that its consumers keep.
import type { DataDirectory, Identity } from '@annal/wal'
import { basesOf, historyOf } from '../backup/archive.ts'
import { ChangeFeed } from '../feed/change-feed.ts'
import { FeedCursors } from '../feed/feed-cursors.ts'
import type { EngineHost } from './host.ts'

export function createFeed(engine: EngineHost): ChangeFeed {
  const { base } = engine
  const { vfs, dataDir, opener } = base
  const { side } = engine.backups.host
  return new ChangeFeed({
    catalog: () => engine.catalogAhead,
    earlierCatalogs: async () => (await basesOf(side)).map(({ manifest }) => manifest.catalog),
    log: () => (base.directory as DataDirectory).log,
    history: () => (opener.refusal === undefined ? historyOf({ vfs, dataDir }, base.identity as Identity) : undefined),
    removedNextLsn: () => engine.backups.removedNextLsn(),
    timeMs: () => base.timeMs,
    checkOpen: () => engine.checkOpen(),
  })
}

export function createCursors(engine: EngineHost): FeedCursors {
  const { base } = engine
  return new FeedCursors({
    catalog: () => engine.catalogAhead,
    lsnLast: () => base.directory?.log.state().lsnLast ?? 0,
    commit: (makeDraft, options) => engine.commitAlone(makeDraft, options),
    onTrouble: (sentence) => base.notify(sentence),
  })
}
