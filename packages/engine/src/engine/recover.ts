// Brings the parts of an engine to the end of its log: the catalog and the collections of the checkpoint first, then the records after it. Files
// that nothing needs any more are removed last.
import type { DataDirectory } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { sweepOriginals } from '../originals/originals-owner.ts'
import { type Outlook, replay, survey } from '../recovery.ts'
import { Replica } from '../replica/replica.ts'
import { createCommitter } from './commits.ts'
import type { EngineHost } from './host.ts'

/** What a checkpoint gave: the replica of each collection, or why there is none. */
export type LoadedReplicas = Map<number, Replica | EngineError>

/** `onServing` is called when the collections of the checkpoint that the log does not change are in service. */
export async function recover(
  engine: EngineHost,
  directory: DataDirectory,
  loaded: LoadedReplicas,
  onServing: () => void,
): Promise<void> {
  const { base, catalogWrites, collections } = engine
  const { log } = directory
  const { manifest } = engine.checkpointer
  catalogWrites.begin(manifest?.catalog)
  const committer = createCommitter(engine, directory)
  base.committer = committer
  const { lsnFrom, outlook } = await loadCollections(engine, directory, loaded)
  catalogWrites.leadTo(outlook.catalog)
  const start = { lsn: Math.max(outlook.lsnLast, manifest?.lsn ?? 0), timeMs: outlook.timeMs }
  committer.startAfter(start)
  base.timeAtStartMs = start.timeMs
  engine.recent.startAfter(start)
  for (const collection of collections.all()) if (!outlook.lsnLastOf.has(collection.entry.id)) collection.ready()
  base.phase = 'recovering'
  onServing()
  const report = (done: number, total: number) => {
    if (base.isClosing) throw new EngineError('closed', 'the engine was closed while it replayed the log')
    base.progress.report({ job: 'replay', done, total, unit: 'records' })
  }
  await replay(log, engine, lsnFrom, outlook, report)
  catalogWrites.reached()
  for (const collection of collections.all()) await collection.settled()
  await catalogWrites.settled()
  await removeLeftovers(engine)
}

/** Begins the collections of the checkpoint. Returns where the replay begins, and what it will meet. */
async function loadCollections(
  { checkpointer, collections, backups, catalog, keys }: EngineHost,
  { log }: DataDirectory,
  loaded: LoadedReplicas,
): Promise<{ readonly lsnFrom: number; readonly outlook: Outlook }> {
  const from = { timeMs: checkpointer.manifest?.timeMs ?? 0, catalog: catalog.state(), keys: keys.table }
  let lsnFrom = checkpointer.lsnLoaded + 1
  const outlook = await survey(log, { lsn: lsnFrom, ...from })
  for (const entry of catalog.collections) {
    const found = loaded.get(entry.id)
    if (found instanceof Replica) collections.add(entry, { replica: found, condition: 'loading' })
    // A collection that the log deletes later is not needed, and its part of a checkpoint may be gone.
    else if (!outlook.catalog.byId(entry.id)) continue
    else if (entry.lsnCreated >= log.state().lsnFirst) {
      // Damaged in every checkpoint, but the log begins with its first record.
      collections.begin(entry, await backups.firstReplica(entry), 'loading')
      checkpointer.renew(entry.id)
      lsnFrom = Math.min(lsnFrom, entry.lsnCreated)
    } else collections.quarantine(entry, found?.message)
  }
  const isEarlier = lsnFrom <= checkpointer.lsnLoaded
  return { lsnFrom, outlook: isEarlier ? await survey(log, { lsn: lsnFrom, ...from }) : outlook }
}

async function removeLeftovers({ base, backups, pastStates, collections }: EngineHost): Promise<void> {
  // A collection in quarantine keeps the files that its checkpoint links, so nothing of it is lost here.
  await backups.sweepImports()
  await pastStates.open()
  const kept = [...collections.all()].flatMap(({ recovering }) => recovering ?? [])
  await sweepOriginals(
    base.originals,
    kept.map(({ id: collectionId, generation }) => ({ collectionId, generation })),
  )
}
