// Checkpoints: directories `<data>/checkpoints/<lsn>-<random>` with one file per part of every collection and a manifest, made
// under a temporary name and renamed when everything in them is durable. Files of collections that did not change are
// links to those of the checkpoint before. The two newest are kept.
import { randomBytes } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { makeDurableDirectory, type SteadyPace, type Vfs } from '@annal/wal'
import type { CatalogState, CollectionEntry } from '../catalog/catalog-state.ts'
import { assert, EngineError } from '../errors.ts'
import { accessing, isMissing } from '../file-damage.ts'
import { originalsFault } from '../replica/check-originals.ts'
import type { OriginalsFile } from '../replica/originals.ts'
import { dimensionOf } from '../replica/originals-of.ts'
import type { Replica } from '../replica/replica.ts'
import type { WriteGate } from '../replica/write-gate.ts'
import type { WorkerPool } from '../vector/threads/worker-pool.ts'
import {
  listedOriginals,
  type Manifest,
  type ManifestCollection,
  manifestName,
  readManifest,
  writeManifest,
} from './manifest.ts'
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
  /** The uuid of the data directory; undefined while that is not known. Checkpoints of another directory are refused. */
  directory(): string | undefined
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

/** Parts of checkpoints that were found damaged: nothing is linked from them, and they do not count as a way back. */
export class Damage {
  readonly #collections = new Map<string, Set<number>>()

  add({ path }: Checkpoint, collectionId: number): void {
    const ids = this.#collections.get(path) ?? new Set()
    this.#collections.set(path, ids.add(collectionId))
  }

  /** Whether the snapshot of a collection was found damaged in a checkpoint, or with no collection given, any snapshot. */
  has({ path }: Checkpoint, collectionId?: number): boolean {
    const ids = this.#collections.get(path)
    return ids !== undefined && (collectionId === undefined || ids.has(collectionId))
  }
}

export interface CheckpointWork {
  readonly pace: SteadyPace
  readonly damage: Damage
  /** Whether the log has all its records: then it is a way back, too. */
  readonly isLogWhole: boolean
  readonly onProgress: (done: number, total: number) => void
}

/** Writes a checkpoint and gives the older of the two newest LSNs kept: the log is not needed up to there. */
export async function writeCheckpoint(
  place: CheckpointPlace,
  source: CheckpointSource,
  previous: Checkpoint | undefined,
  work: CheckpointWork,
): Promise<{ readonly checkpoint: Checkpoint; readonly lsnNotNeeded: number }> {
  const { vfs, dir } = place
  const name = `${String(source.lsn).padStart(20, '0')}-${randomBytes(4).toString('hex')}`
  const temporary = join(dir, `tmp-${name}`)
  const path = join(dir, name)
  await vfs.makeDirectory(temporary)
  const manifest = await fillCheckpoint(place, temporary, source, previous, work).catch(async (error) => {
    // A disk that was full must not stay so for what failed; where even that is refused, the next start removes it.
    await vfs.removeTree(temporary).catch(() => undefined)
    throw error
  })
  await vfs.rename(temporary, path)
  await vfs.syncDirectory(dir)
  // The log goes up to a checkpoint, so the name of the folder that holds it must not be lost.
  await vfs.syncDirectory(dirname(dir))
  const lsnOlder = await removeOld(place, source.catalog, work)
  // A collection in quarantine may still be rebuilt from the records after its snapshot.
  const lsnNotNeeded = source.collections.every(({ recovering }) => recovering) ? lsnOlder : 0
  return { checkpoint: { path, manifest }, lsnNotNeeded }
}

async function fillCheckpoint(
  place: CheckpointPlace,
  temporary: string,
  source: CheckpointSource,
  previous: Checkpoint | undefined,
  { pace, damage, onProgress }: CheckpointWork,
): Promise<Manifest> {
  const { vfs } = place
  const collections: ManifestCollection[] = []
  for (const collection of source.collections) {
    const { entry, recovering: replica, gate } = collection
    const before = previous?.manifest.collections.find((candidate) => candidate.id === entry.id)
    const isSame = before?.lsn === replica?.lsnApplied && gate.pending.events === 0
    const isLinked = previous !== undefined && before !== undefined && (replica === undefined || isSame)
    // In quarantine: whatever is left of it is kept, so that files that are put back can be loaded again.
    if (isLinked && replica === undefined) collections.push(await linkLeft(vfs, previous.path, temporary, before))
    else if (isLinked && !damage.has(previous, entry.id) && (await linkWhole(vfs, previous.path, temporary, before)))
      collections.push(replica ? await withProofs(before, replica) : before)
    else if (replica) collections.push(await writeCollection(place, temporary, collection, pace))
    onProgress(collections.length, source.collections.length)
  }
  const { lsn, timeMs, catalog } = source
  const directory = place.directory()
  const name = basename(temporary).slice('tmp-'.length)
  const manifest: Manifest = { ...(directory !== undefined && { directory, name }), lsn, timeMs, catalog, collections }
  await writeManifest(vfs, join(temporary, manifestName), manifest)
  await vfs.syncDirectory(temporary)
  return manifest
}

async function writeCollection(
  { vfs, originalsDir }: CheckpointPlace,
  dir: string,
  collection: CheckpointCollection,
  pace: SteadyPace,
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
    const originalProofs = await proofsOf(cut.replica, cut.originals)
    for (const name of originals) await vfs.link(join(originalsDir, name), join(dir, name))
    const originalBytes = cut.originals.map(({ bytes }) => bytes)
    return { id, lsn: cut.lsn, fields: cut.replica.definition.fields, originals, originalBytes, originalProofs, files }
  } finally {
    cut.release()
  }
}

function proofsOf({ originals }: Replica, files: readonly OriginalsFile[]) {
  return Promise.all(files.map(async (file) => (await originals[file.field]?.listed(file))?.proof ?? null))
}

/** A collection of an earlier format with what can be said of its files at little cost, now that they are open. */
async function withProofs(collection: ManifestCollection, replica: Replica): Promise<ManifestCollection> {
  const { originals, originalProofs, originalBytes } = collection
  if (originalProofs !== undefined || originals.length !== originalBytes?.length) return collection
  const files = listedOriginals(collection).map((file, at) => ({ ...file, bytes: originalBytes[at] ?? 0 }))
  return { ...collection, originalProofs: await proofsOf(replica, files) }
}

/** Links every file of a collection; when one is missing, none, and the collection must be written again. */
async function linkWhole(vfs: Vfs, from: string, to: string, collection: ManifestCollection): Promise<boolean> {
  const linked: string[] = []
  for (const name of namesOf(collection)) {
    try {
      await vfs.link(join(from, name), join(to, name))
    } catch (error) {
      if (!isMissing(error)) throw error
      for (const one of linked) await vfs.remove(one)
      return false
    }
    linked.push(join(to, name))
  }
  return true
}

/** Links those files of a collection that are there. */
async function linkLeft(
  vfs: Vfs,
  from: string,
  to: string,
  collection: ManifestCollection,
): Promise<ManifestCollection> {
  for (const name of namesOf(collection)) {
    await vfs.link(join(from, name), join(to, name)).catch((error: unknown) => {
      if (!isMissing(error)) throw error
    })
  }
  return collection
}

function namesOf({ files, originals }: ManifestCollection): string[] {
  return [...files.map(({ name }) => name), ...originals]
}

/** A checkpoint that cannot be used at all. */
export interface DamagedCheckpoint {
  readonly path: string
  readonly message: string
  /** Whether it is of no use to anybody, so that newer checkpoints take its place. */
  readonly isLost: boolean
}

/** The checkpoints whose manifests fit, newest first, and what is wrong with the others. */
export async function findCheckpoints(
  place: CheckpointPlace,
): Promise<{ readonly good: Checkpoint[]; readonly damaged: DamagedCheckpoint[] }> {
  const { vfs, dir } = place
  if (!(await vfs.exists(dir))) return { good: [], damaged: [] }
  const names = (await vfs.list(dir))
    .filter((name) => checkpointName.test(name))
    .sort()
    .reverse()
  const good: Checkpoint[] = []
  const damaged: DamagedCheckpoint[] = []
  for (const name of names) {
    const path = join(dir, name)
    try {
      const manifest = await readManifest(vfs, join(path, manifestName))
      const stranger = strangerFault(place, name, manifest)
      if (stranger === undefined) good.push({ path, manifest })
      // Not removed: it may be all that somebody has of another directory.
      else damaged.push({ path, message: `${path} is not used: ${stranger}`, isLost: false })
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      damaged.push({ path, message: error.message, isLost: error.code === 'snapshot_damaged' })
    }
  }
  return { good, damaged }
}

/** Why a checkpoint is none of this directory, or not the one that its folder is named after. */
function strangerFault({ directory }: CheckpointPlace, folder: string, manifest: Manifest): string | undefined {
  const [own, { directory: writer, name }] = [directory(), manifest]
  if (writer !== undefined && own !== undefined && writer !== own)
    return `it is a checkpoint of directory ${writer}, and this is directory ${own}`
  if (name !== undefined && name !== folder) return `its manifest is that of checkpoint ${name}`
  return undefined
}

export interface LoadWork {
  readonly pool: WorkerPool
  /** Something that was damaged and is cured. */
  readonly onTrouble: (sentence: string) => void
}

/** Loads one collection; undefined when the checkpoint does not hold it. Throws snapshot_damaged, with nothing left open. */
export async function loadCollection(
  place: CheckpointPlace,
  checkpoint: Checkpoint,
  entry: CollectionEntry,
  { pool, onTrouble }: LoadWork,
): Promise<Replica | undefined> {
  try {
    return await loadFrom(place, checkpoint, entry, pool)
  } catch (error) {
    const isOriginals = error instanceof EngineError && String(error.details.file).startsWith(place.originalsDir)
    if (!isOriginals || !(await replaceOriginals(place, checkpoint, entry, onTrouble))) throw error
    return loadFrom(place, checkpoint, entry, pool)
  }
}

/**
 * Where a file in originals/ is not the one that the checkpoint means, and the checkpoint's own link still is, the link takes its
 * place; the other file is put aside under another name. Says whether there was such a file.
 */
async function replaceOriginals(
  { vfs, originalsDir }: CheckpointPlace,
  { path, manifest }: Checkpoint,
  { id }: CollectionEntry,
  onTrouble: LoadWork['onTrouble'],
): Promise<boolean> {
  const collection = manifest.collections.find((candidate) => candidate.id === id)
  let isReplaced = false
  for (const listed of collection ? listedOriginals(collection) : []) {
    const dimension = dimensionOf(collection?.fields[listed.field])
    const [live, held] = [join(originalsDir, listed.name), join(path, listed.name)]
    const look = { dimension, isDeep: false }
    const fault = await originalsFault(vfs, live, listed, look)
    if (fault === undefined || (await originalsFault(vfs, held, listed, look)) !== undefined) continue
    const aside = `${live}.refused`
    if (await vfs.exists(aside)) await vfs.remove(aside)
    if (await vfs.exists(live)) await vfs.rename(live, aside)
    await vfs.link(held, live)
    isReplaced = true
    onTrouble(`${fault}; it is kept as ${basename(aside)}, and the file that is linked in ${path} takes its place`)
  }
  return isReplaced
}

async function loadFrom(
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
    const held = join(path, name)
    if (!(await vfs.exists(live))) await accessing(held, () => vfs.link(held, live))
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
  const originals = { vfs, dir: originalsDir, directory: () => place.directory() ?? '' }
  return loadReplica({ ...entry, definition }, collection.lsn, partOf, {
    ...{ pool, originals, listed: listedOriginals(collection) },
  })
}

/** Removes what a crash left half made. */
export async function sweepTemporary({ vfs, dir }: CheckpointPlace): Promise<void> {
  if (!(await vfs.exists(dir))) return
  for (const name of await vfs.list(dir)) if (name.startsWith('tmp-')) await vfs.removeTree(join(dir, name))
}

async function removeOld(
  place: CheckpointPlace,
  catalog: CatalogState,
  { damage, isLogWhole }: Pick<CheckpointWork, 'damage' | 'isLogWhole'>,
): Promise<number> {
  const { good, damaged } = await findCheckpoints(place)
  const whole = good.filter((checkpoint) => !damage.has(checkpoint))
  for (const { path } of whole.slice(kept)) await retire(place, path)
  // Damaged ones stay until there are two ways back without them.
  const lost = [...good.filter((checkpoint) => damage.has(checkpoint)), ...damaged.filter(({ isLost }) => isLost)]
  if (whole.length >= kept || isLogWhole) for (const { path } of lost) await discard(place, path)
  // With only one checkpoint the whole log stays, so that there are always two ways back; so it does for a collection that was
  // not loaded yet, or is in quarantine, when the older one was taken.
  const older = whole[kept - 1]
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
    for (const name of [...files.map((file) => file.name), ...originals])
      await vfs.remove(join(path, name)).catch((error: unknown) => {
        if (!isMissing(error)) throw error
      })
  return { path, manifest: left }
}

async function retire(place: CheckpointPlace, path: string): Promise<void> {
  const { vfs, dir, archiveDir } = place
  if (archiveDir === undefined) return discard(place, path)
  await makeDurableDirectory(vfs, archiveDir, dirname(dir))
  await vfs.rename(path, join(archiveDir, basename(path)))
  await vfs.syncDirectory(archiveDir)
  await vfs.syncDirectory(dir)
}

async function discard({ vfs, dir }: CheckpointPlace, path: string): Promise<void> {
  // Renamed first: a crash in between must not leave a manifest whose files are gone.
  const leaving = join(dir, `tmp-${basename(path)}`)
  await vfs.rename(path, leaving)
  await vfs.syncDirectory(dir)
  await vfs.removeTree(leaving)
}

function fileName(collectionId: number, part: number): string {
  return `collection-${collectionId}-part-${part}.snap`
}
