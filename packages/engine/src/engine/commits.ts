// How an engine commits: writes to the log, changes of the catalog, and the request keys of writes.
import type { DataDirectory } from '@annal/wal'
import { CatalogWrites } from '../catalog-writes.ts'
import { Committer } from '../commit.ts'
import { refuseDatabase } from '../control.ts'
import { type Claim, KeptRequests } from '../requests/request-keys.ts'
import type { EngineHost } from './host.ts'

export function createCommitter(engine: EngineHost, { log }: DataDirectory): Committer {
  const { base, recent, feed, digests, keys } = engine
  return new Committer({
    log,
    clock: base.clock,
    onBroken: (error) => engine.fail(error),
    onApplied: (event, bytes) => engine.applied(event, bytes),
    onAdvanced: (lsn) => {
      base.hub?.slots.advance(lsn, base.timeMs)
      feed.advance(lsn)
    },
    onAppended: (lsn, event) => digests?.note(lsn, event),
    onRecord: (lsn, event, bytes) => {
      recent.note(lsn, event.timeMs)
      feed.note(lsn, event, bytes)
    },
    refusal: base.opener.refusal && (() => base.opener.refusal?.()),
    keys: keys.table,
  })
}

export function createCatalogWrites(engine: EngineHost): CatalogWrites {
  const { base, collections, backups, checkpointer } = engine
  return new CatalogWrites({
    ...{ collections, backups, checkpointer },
    phase: () => base.phase,
    committer: () => base.committer as Committer,
    checkOpen: () => engine.checkOpen(),
    onNames: (changed) => base.hub?.announce({ kind: 'names', changed }),
    onTrouble: (sentence) => base.warn(sentence),
  })
}

export function createRequestKeys(engine: EngineHost): KeptRequests {
  const { base } = engine
  const host = {
    databaseId: (name: string) => (engine.catalogAhead.database(name) ?? refuseDatabase(name)).id,
    get timeMs() {
      return base.timeMs
    },
    get lsnDurable() {
      return base.lsnDurable
    },
    checkOpen: () => engine.checkOpen(),
    commitAnswered: (claim: Claim) => engine.commit(() => ({ kind: 'request-answered' }), { claim }),
  }
  return new KeptRequests(host, base.keyLimits)
}
