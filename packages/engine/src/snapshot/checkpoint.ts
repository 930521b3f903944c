// Checkpoints: directories `<data>/checkpoints/<lsn>-<random>` with one file per part of every collection and a manifest, made
// under a temporary name and renamed when everything in them is durable. Files of collections that did not change are
// links to those of the checkpoint before. The two newest are kept.
import { randomBytes } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { makeDurableDirectory, type Vfs } from '@annal/wal'
import type { CatalogState, CollectionEntry } from '../catalog/catalog-state.ts'
import { assert } from '../errors.ts'
import type { Replica } from '../replica/replica.ts'
import type { WriteGate } from '../replica/write-gate.ts'
import type { WorkerPool } from '../vector/worker-pool.ts'
import { type Manifest, type ManifestCollection, manifestName, readManifest, writeManifest } from './manifest.ts'
import type { Pace } from './pace.ts'
import { cutReplica, loadReplica } from './replica-parts.ts'
import { writeSnapshotFile } from './snapshot-file.ts'
import { SnapshotSource } from './snapshot-source.ts'

const checkpointName = /^(\d{20})-[0-9a-f]{8}$/
const kept = 2

export interface CheckpointPlace {
  readonly vfs: Vfs
  /** `<data>/checkpoints` */
  readonly dir: string
  /** `<data>/originals` */
  readonly originalsDir: string
  /** Where checkpoints go that recovery does not need any more; they are removed when it is not given. */
  readonly archiveDir?: string
}

export interface Checkpoint {
  readonly path: string
  readonly manifest: Manifest
}

/** What a checkpoint is made of, as of its LSN. */
export interface CheckpointSource {
  readonly lsn: number
  readonly timeMs: number
  readonly catalog: CatalogState
  readonly collections: readonly CheckpointCollection[]
}

export interface CheckpointCollection {
  readonly entry: CollectionEntry
  /** Undefined in quarantine: what the checkpoint before holds of the collection is kept as it is. */
  readonly recovering: Replica | undefined
  readonly gate: WriteGate
}

/** Writes a checkpoint and gives the older of the two newest LSNs kept: the log is not needed up to there. */
export async function writeCheckpoint(
  place: CheckpointPlace,
  source: CheckpointSource,
  previous: Checkpoint | undefined,
  { pace, onProgress }: { readonly pace: Pace; readonly onProgress: (done: number, total: number) => void },
): Promise<{ readonly checkpoint: Checkpoint; readonly lsnNotNeeded: number }> {
  const { vfs, dir } = place
  const name = `${String(source.lsn).padStart(20, '0')}-${randomBytes(4).toString('hex')}`
  const temporary = join(dir, `tmp-${name}`)
  const path = join(dir, name)
  await vfs.makeDirectory(temporary)
  const manifest = await fillCheckpoint(place, temporary, source, previous, { pace, onProgress }).catch(
    async (error) => {
      // A disk that was full must not stay so for what failed; where even that is refused, the next start removes it.
      await vfs.removeTree(temporary).catch(() => undefined)
      throw error
    },
  )
  await vfs.rename(temporary, path)
  await vfs.syncDirectory(dir)
  // The log goes up to a checkpoint, so the name of the folder that holds it must not be lost.
  await vfs.syncDirectory(dirname(dir))
  const lsnOlder = await removeOld(place, source.catalog)
  // A collection in quarantine may still be rebuilt from the records after its snapshot.
  const lsnNotNeeded = source.collections.every(({ recovering }) => recovering) ? lsnOlder : 0
  return { checkpoint: { path, manifest }, lsnNotNeeded }
}

async function fillCheckpoint(
  place: CheckpointPlace,
  temporary: string,
  source: CheckpointSource,
  previous: Checkpoint | undefined,
  { pace, onProgress }: { readonly pace: Pace; readonly onProgress: (done: number, total: number) => void },
): Promise<Manifest> {
  const { vfs } = place
  const collections: ManifestCollection[] = []
  for (const collection of source.collections) {
    const { entry, recovering: replica, gate } = collection
    const before = previous?.manifest.collections.find((candidate) => candidate.id === entry.id)
    const unchanged = !replica || (before?.lsn === replica.lsnApplied && gate.pending.events === 0)
    if (!unchanged) collections.push(await writeCollection(place, temporary, collection, pace))
    else if (previous && before) collections.push(await linkCollection(vfs, previous.path, temporary, before))
    onProgress(collections.length, source.collections.length)
  }
  const manifest: Manifest = { lsn: source.lsn, timeMs: source.timeMs, catalog: source.catalog, collections }
  await writeManifest(vfs, join(temporary, manifestName), manifest)
  await vfs.syncDirectory(temporary)
  return manifest
}

async function writeCollection(
  { vfs, originalsDir }: CheckpointPlace,
  dir: string,
  collection: CheckpointCollection,
  pace: Pace,
): Promise<ManifestCollection> {
  const { id } = collection.entry
  const cut = await cutReplica(collection, pace)
  assert(cut, `collection ${id} is not in quarantine`)
  try {
    const files: ManifestCollection['files'][number][] = []
    for (const { part, pieces } of cut.parts) {
      const name = fileName(id, part)
      const head = { collectionId: id, part, lsn: cut.lsn }
      files.push({ name, part, ...(await writeSnapshotFile(vfs, join(dir, name), head, pieces, pace)) })
    }
    for (const of of cut.replica.originals) await of?.sync()
    const originals = cut.originals.map(({ name }) => name)
    for (const name of originals) await vfs.link(join(originalsDir, name), join(dir, name))
    const originalBytes = cut.originals.map(({ bytes }) => bytes)
    return { id, lsn: cut.lsn, fields: cut.replica.definition.fields, originals, originalBytes, files }
  } finally {
    cut.release()
  }
}

async function linkCollection(
  vfs: Vfs,
  from: string,
  to: string,
  collection: ManifestCollection,
): Promise<ManifestCollection> {
  const names = [...collection.files.map(({ name }) => name), ...collection.originals]
  for (const name of names) await vfs.link(join(from, name), join(to, name))
  return collection
}

/** The checkpoints whose manifests fit, newest first, and what is wrong with the others. */
export async function findCheckpoints(
  place: CheckpointPlace,
): Promise<{ readonly good: Checkpoint[]; readonly damaged: Error[] }> {
  const { vfs, dir } = place
  if (!(await vfs.exists(dir))) return { good: [], damaged: [] }
  const names = (await vfs.list(dir))
    .filter((name) => checkpointName.test(name))
    .sort()
    .reverse()
  const good: Checkpoint[] = []
  const damaged: Error[] = []
  for (const name of names) {
    const path = join(dir, name)
    try {
      good.push({ path, manifest: await readManifest(vfs, join(path, manifestName)) })
    } catch (error) {
      damaged.push(error as Error)
    }
  }
  return { good, damaged }
}

/** Loads one collection; undefined when the checkpoint does not hold it. Throws snapshot_damaged, with nothing left open. */
export async function loadCollection(
  place: CheckpointPlace,
  { path, manifest }: Checkpoint,
  entry: CollectionEntry,
  pool: WorkerPool,
): Promise<Replica | undefined> {
  const collection = manifest.collections.find((candidate) => candidate.id === entry.id)
  if (!collection) return undefined
  const { vfs, originalsDir } = place
  await vfs.makeDirectory(originalsDir)
  for (const name of collection.originals) {
    const live = join(originalsDir, name)
    if (!(await vfs.exists(live))) await vfs.link(join(path, name), live)
  }
  const partOf = (part: number) => {
    const file = collection.files.find((candidate) => candidate.part === part)
    const { name, bytes, sum } = file ?? { name: fileName(collection.id, part), bytes: 0, sum: '0' }
    return SnapshotSource.open(vfs, join(path, name), {
      collectionId: collection.id,
      part,
      lsn: collection.lsn,
      bytes,
      sum,
    })
  }
  const definition = { ...entry.definition, fields: collection.fields }
  return loadReplica({ ...entry, definition }, collection.lsn, partOf, { pool, originals: { vfs, dir: originalsDir } })
}

/** Removes what a crash left half made. */
export async function sweepTemporary({ vfs, dir }: CheckpointPlace): Promise<void> {
  if (!(await vfs.exists(dir))) return
  for (const name of await vfs.list(dir)) if (name.startsWith('tmp-')) await vfs.removeTree(join(dir, name))
}

async function removeOld(place: CheckpointPlace, catalog: CatalogState): Promise<number> {
  const { good } = await findCheckpoints(place)
  for (const { path } of good.slice(kept)) await retire(place, path)
  // With only one checkpoint the whole log stays, so that there are always two ways back; so it does for a collection that was
  // not loaded yet, or is in quarantine, when the older one was taken.
  const older = good[kept - 1]
  if (!older) return 0
  const living = new Set(catalog.collections.map(({ id }) => id))
  // What is archived must lead to every moment that it covers, also to those before the drop.
  if (place.archiveDir === undefined) await removeDropped(place.vfs, older, (id) => !living.has(id))
  const held = new Set(older.manifest.collections.map(({ id }) => id))
  const isWhole = older.manifest.catalog.collections.every(({ id }) => held.has(id) || !living.has(id))
  return isWhole ? older.manifest.lsn : 0
}

/**
 * Removes what a checkpoint holds of collections whose drop is durable. A start from it meets the drop further on in the log, so
 * that it needs their entries in the catalog and nothing else. Gives what the checkpoint says from then on.
 */
export async function removeDropped(
  vfs: Vfs,
  { path, manifest }: Checkpoint,
  isDropped: (id: number) => boolean,
): Promise<Checkpoint> {
  const leaving = manifest.collections.filter(({ id }) => isDropped(id))
  if (leaving.length === 0) return { path, manifest }
  const left = { ...manifest, collections: manifest.collections.filter(({ id }) => !isDropped(id)) }
  // The manifest first: a crash in between must not leave one that names files that are gone.
  await writeManifest(vfs, join(path, manifestName), left)
  for (const { files, originals } of leaving)
    for (const name of [...files.map((file) => file.name), ...originals]) await vfs.remove(join(path, name))
  return { path, manifest: left }
}

async function retire({ vfs, dir, archiveDir }: CheckpointPlace, path: string): Promise<void> {
  if (archiveDir !== undefined) {
    await makeDurableDirectory(vfs, archiveDir, dirname(dir))
    await vfs.rename(path, join(archiveDir, basename(path)))
    await vfs.syncDirectory(archiveDir)
    await vfs.syncDirectory(dir)
    return
  }
  // Renamed first: a crash in between must not leave a manifest whose files are gone.
  const leaving = join(dir, `tmp-${basename(path)}`)
  await vfs.rename(path, leaving)
  await vfs.syncDirectory(dir)
  await vfs.removeTree(leaving)
}

function fileName(collectionId: number, part: number): string {
  return `collection-${collectionId}-part-${part}.snap`
}
