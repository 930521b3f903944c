// Checkpoints: directories `<data>/checkpoints/<lsn>-<random>` with one file for each part of every collection and a
// manifest. A checkpoint is created under a temporary name and renamed when all of it is durable. Files of unchanged
// collections are links to those of the previous checkpoint. The two newest checkpoints are kept.
import { randomBytes } from 'node:crypto'
import { basename, dirname, join } from 'node:path'
import { makeDurableDirectory, type SteadyPace, type Vfs } from '@annal/wal'
import type { CatalogState, CollectionEntry } from '../catalog/catalog-state.ts'
import { assert, EngineError } from '../errors.ts'
import { accessing, isMissing } from '../file-damage.ts'
import { originalsFault } from '../replica/check-originals.ts'
import type { OriginalsFile } from '../replica/originals-chunks.ts'
import { dimensionOf } from '../replica/originals-owner.ts'
import type { Replica } from '../replica/replica.ts'
import type { WriteGate } from '../replica/write-gate.ts'
import type { WorkerPool } from '../vector/pool.ts'
import { changesWorth, type DeltaLimits, usualDeltaLimits } from './delta-limits.ts'
import {
  chainId,
  listedFiles,
  listedOriginals,
  type Manifest,
  type ManifestCollection,
  type ManifestFile,
  manifestName,
  readManifest,
  snapshotFiles,
  writeManifest,
} from './manifest.ts'
import { cutReplica, type EarlierPart, loadReplica, objectsPart, type PartCut } from './replica-parts.ts'
import { writeSnapshotFile } from './snapshot-file.ts'
import { SnapshotSource } from './snapshot-source.ts'

const checkpointName = /^(\d{20})-[0-9a-f]{8}$/
const keptCount = 2

export interface CheckpointPlace {
  readonly vfs: Vfs
  /** `<data>/checkpoints` */
  readonly dir: string
  /** `<data>/originals` */
  readonly originalsDir: string
  /** The uuid of the data directory; undefined while it is unknown. Checkpoints of another directory are refused. */
  directory(): string | undefined
  /** Folder for checkpoints that recovery no longer needs. Without it, they are removed. */
  readonly archiveDir?: string
}

export interface Checkpoint {
  readonly path: string
  readonly manifest: Manifest
}

/** The content of a checkpoint as of its LSN. */
export interface CheckpointSource {
  readonly lsn: number
  readonly timeMs: number
  readonly catalog: CatalogState
  readonly collections: readonly CheckpointCollection[]
}

export interface CheckpointCollection {
  readonly entry: CollectionEntry
  /** Undefined in quarantine: the part of the previous checkpoint that holds the collection is kept unchanged. */
  readonly recovering: Replica | undefined
  readonly gate: WriteGate
}

/** Damaged parts of checkpoints. No new checkpoint links to them, and they do not count as recovery paths. */
export class Damage {
  readonly #collections = new Map<string, Set<number>>()

  add({ path }: Checkpoint, collectionId: number): void {
    const ids = this.#collections.get(path) ?? new Set()
    this.#collections.set(path, ids.add(collectionId))
  }

  /**
   * Whether the snapshot of a collection in a checkpoint is damaged; without a collection, whether any snapshot in it
   * is.
   */
  has({ path }: Checkpoint, collectionId?: number): boolean {
    const ids = this.#collections.get(path)
    return ids !== undefined && (collectionId === undefined || ids.has(collectionId))
  }
}

export interface CheckpointWork {
  readonly pace: SteadyPace
  readonly damage: Damage
  /** Whether the log has all its records, which makes it a recovery path too. */
  readonly isLogWhole: boolean
  /** When only changes are written; the usual limits by default. */
  readonly deltas?: DeltaLimits
  readonly onProgress: (done: number, total: number) => void
}

/**
 * Writes a checkpoint and returns the older of the two newest LSNs that are kept: records up to it are no longer
 * needed.
 */
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
    // A failed checkpoint must not keep its space on a full disk. When even its removal fails, the next start removes
    // it.
    await vfs.removeTree(temporary).catch(() => undefined)
    throw error
  })
  await vfs.rename(temporary, path)
  await vfs.syncDirectory(dir)
  // The log is truncated up to a checkpoint, so the name of its folder must be durable.
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
  work: CheckpointWork,
): Promise<Manifest> {
  const { damage, onProgress } = work
  const { vfs } = place
  const collections: ManifestCollection[] = []
  for (const collection of source.collections) {
    const { entry, recovering: replica, gate } = collection
    const before = previous?.manifest.collections.find((candidate) => candidate.id === entry.id)
    const isSame = before?.lsn === replica?.lsnApplied && gate.pending.events === 0
    const isLinked = previous !== undefined && before !== undefined && (replica === undefined || isSame)
    // In quarantine: all existing files are kept, so that the collection can be loaded again when missing files are
    // restored.
    if (isLinked && replica === undefined) collections.push(await linkLeft(vfs, previous.path, temporary, before))
    else if (isLinked && !damage.has(previous, entry.id) && (await linkWhole(vfs, previous.path, temporary, before)))
      collections.push(replica ? await withProofs(before, replica) : before)
    else if (replica) {
      const earlier =
        before && previous && !damage.has(previous, entry.id) ? { path: previous.path, before } : undefined
      collections.push(await writeCollection(place, temporary, collection, { earlier, work }))
    }
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

/** The snapshot of a collection in the previous checkpoint. */
interface Earlier {
  readonly path: string
  readonly before: ManifestCollection
}

async function writeCollection(
  { vfs, originalsDir }: CheckpointPlace,
  dir: string,
  collection: CheckpointCollection,
  { earlier, work }: { readonly earlier: Earlier | undefined; readonly work: CheckpointWork },
): Promise<ManifestCollection> {
  const { id } = collection.entry
  const { pace, deltas: limits = usualDeltaLimits } = work
  const earlierPart: EarlierPart = (part) => {
    const file = earlier?.before.files.find((candidate) => candidate.part === part)
    if (!earlier || !file || file.bytes < limits.partBytesMin) return undefined
    return { id: chainId(earlier.before, file), bytesMax: changesWorth(file, limits) }
  }
  const cut = await cutReplica(collection, pace, earlierPart)
  assert(cut, `collection ${id} is not in quarantine`)
  const head = { collectionId: id, lsn: cut.lsn }
  const files: ManifestFile[] = []
  const written: (() => void)[] = []
  try {
    for (const one of cut.parts) {
      const file = one.isDelta
        ? await writeDelta(vfs, dir, one, { head, earlier: earlier as Earlier, pace })
        : await writeWhole(vfs, dir, one, { head, pace })
      // A file of the earlier checkpoint is missing, for example: everything is written.
      if (!file) return await rewriteCollection()
      files.push(file)
      written.push(() => one.written(chainId({ id, lsn: cut.lsn }, file)))
    }
    for (const file of cut.replica.originals) await file?.sync()
    const originals = cut.originals.map(({ name }) => name)
    const originalProofs = await proofsOf(cut.replica, cut.originals)
    for (const name of originals) await vfs.link(join(originalsDir, name), join(dir, name))
    const originalBytes = cut.originals.map(({ bytes }) => bytes)
    for (const report of written) report()
    return { id, lsn: cut.lsn, fields: cut.replica.definition.fields, originals, originalBytes, originalProofs, files }
  } finally {
    cut.release()
  }

  async function rewriteCollection(): Promise<ManifestCollection> {
    cut?.release()
    for (const file of files)
      for (const { name } of listedFiles({ id, lsn: 0 }, file)) await vfs.remove(join(dir, name))
    return writeCollection({ vfs, originalsDir } as CheckpointPlace, dir, collection, { earlier: undefined, work })
  }
}

interface PartWork {
  readonly head: { readonly collectionId: number; readonly lsn: number }
  readonly pace: SteadyPace
}

async function writeWhole(
  vfs: Vfs,
  dir: string,
  { part, pieces }: PartCut,
  { head, pace }: PartWork,
): Promise<ManifestFile> {
  const name = fileName(head.collectionId, part)
  return { name, part, ...(await writeSnapshotFile(vfs, join(dir, name), { ...head, part }, pieces, pace)) }
}

/** Links the earlier files of a part and writes its changes. Undefined, with nothing linked, when that cannot be done. */
async function writeDelta(
  vfs: Vfs,
  dir: string,
  { part, pieces }: PartCut,
  { head, pace, earlier }: PartWork & { readonly earlier: Earlier },
): Promise<ManifestFile | undefined> {
  const file = earlier.before.files.find((candidate) => candidate.part === part)
  assert(file, `changes of part ${part} follow a snapshot of it`)
  const chain = listedFiles(earlier.before, file)
  const since = chain.at(-1)?.expected.lsn ?? 0
  // No record came since, so a file of this name exists.
  if (since === head.lsn) return undefined
  if (
    !(await linkAll(
      vfs,
      earlier.path,
      dir,
      chain.map(({ name }) => name),
    ))
  )
    return undefined
  const name = deltaName(head.collectionId, part, head.lsn)
  const facts = await writeSnapshotFile(vfs, join(dir, name), { ...head, part, since }, pieces, pace)
  const delta = { name, lsn: head.lsn, ...facts }
  return { ...file, lsn: chain[0]?.expected.lsn ?? 0, deltas: [...(file.deltas ?? []), delta] }
}

function proofsOf({ originals }: Replica, files: readonly OriginalsFile[]) {
  return Promise.all(files.map(async (file) => (await originals[file.field]?.listed(file))?.proof ?? null))
}

/** Adds the proofs of open original files to a collection of an earlier format. */
async function withProofs(collection: ManifestCollection, replica: Replica): Promise<ManifestCollection> {
  const { originals, originalProofs, originalBytes } = collection
  if (originalProofs !== undefined || originals.length !== originalBytes?.length) return collection
  const files = listedOriginals(collection).map((file, index) => ({ ...file, bytes: originalBytes[index] ?? 0 }))
  return { ...collection, originalProofs: await proofsOf(replica, files) }
}

/** Links every file of a collection. When one is missing it links none, and the collection must be written again. */
function linkWhole(vfs: Vfs, from: string, to: string, collection: ManifestCollection): Promise<boolean> {
  return linkAll(vfs, from, to, namesOf(collection))
}

/** Links every file, or none when one is missing; returns which. */
async function linkAll(vfs: Vfs, from: string, to: string, names: readonly string[]): Promise<boolean> {
  const linked: string[] = []
  for (const name of names) {
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

/** Links the existing files of a collection. */
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

function namesOf(collection: ManifestCollection): string[] {
  return [...snapshotFiles(collection).map(({ name }) => name), ...collection.originals]
}

/** A checkpoint that cannot be used. */
export interface DamagedCheckpoint {
  readonly path: string
  readonly message: string
  /** Whether it is useless for any directory, so that newer checkpoints may replace it. */
  readonly isLost: boolean
}

/** Finds the checkpoints with valid manifests, newest first, and the faults of the others. */
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
      // Not removed: it may be the only copy of another directory's data.
      else damaged.push({ path, message: `${path} is not used: ${stranger}`, isLost: false })
    } catch (error) {
      if (!(error instanceof EngineError)) throw error
      damaged.push({ path, message: error.message, isLost: error.code === 'snapshot_damaged' })
    }
  }
  return { good, damaged }
}

/** Why a checkpoint does not belong to this directory or to its folder name. */
function strangerFault({ directory }: CheckpointPlace, folder: string, manifest: Manifest): string | undefined {
  const [own, { directory: writer, name }] = [directory(), manifest]
  if (writer !== undefined && own !== undefined && writer !== own)
    return `it is a checkpoint of directory ${writer}, but this is directory ${own}`
  if (name !== undefined && name !== folder) return `its manifest belongs to checkpoint ${name}`
  return undefined
}

export interface LoadWork {
  readonly pool: WorkerPool
  /** Reports damage that was repaired. */
  readonly onTrouble: (sentence: string) => void
}

/**
 * Loads one collection; undefined when the checkpoint does not hold it. Throws snapshot_damaged, with no file left
 * open.
 */
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
 * Repairs files in originals/. Where such a file differs from the checkpoint's and the checkpoint's own link is intact,
 * the link replaces it, and the other file is kept under another name. Returns whether there was such a file.
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
    const check = { dimension, isDeep: false }
    const fault = await originalsFault(vfs, live, listed, check)
    if (fault === undefined || (await originalsFault(vfs, held, listed, check)) !== undefined) continue
    const refusedPath = `${live}.refused`
    if (await vfs.exists(refusedPath)) await vfs.remove(refusedPath)
    if (await vfs.exists(live)) await vfs.rename(live, refusedPath)
    await vfs.link(held, live)
    isReplaced = true
    onTrouble(`${fault}; it is kept as ${basename(refusedPath)}, and the file linked in ${path} replaces it`)
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
  const filesOf = (part: number) => {
    const file = collection.files.find((candidate) => candidate.part === part)
    const missing: ManifestFile = { name: fileName(collection.id, part), part, bytes: 0, sum: '0' }
    return listedFiles(collection, file ?? missing).map(
      ({ name, expected }) =>
        () =>
          SnapshotSource.open(vfs, join(path, name), expected),
    )
  }
  const definition = { ...entry.definition, fields: collection.fields }
  const originals = { vfs, dir: originalsDir, directory: () => place.directory() ?? '' }
  const replica = await loadReplica({ ...entry, definition }, collection.lsn, filesOf, {
    ...{ pool, originals, listed: listedOriginals(collection) },
  })
  // The next checkpoint may contain only what is applied from here on.
  for (const file of collection.files) {
    const id = chainId(collection, file)
    if (file.part === objectsPart) replica.objectsSnapshot = id
    else replica.dense[file.part - 1]?.loadedAs(id)
  }
  return replica
}

/** Removes unfinished checkpoints that a crash left behind. */
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
  const { kept, isEnough } = keptOf(whole)
  const oldest = kept.at(-1)
  for (const checkpoint of whole) {
    if (kept.includes(checkpoint)) continue
    // Moments after the oldest checkpoint can be restored from it.
    if (oldest && checkpoint.manifest.lsn > oldest.manifest.lsn) await discard(place, checkpoint.path)
    else await retire(place, checkpoint.path)
  }
  // Damaged checkpoints stay until there are two recovery paths without them.
  const lost = [...good.filter((checkpoint) => damage.has(checkpoint)), ...damaged.filter(({ isLost }) => isLost)]
  if (isEnough || isLogWhole) for (const { path } of lost) await discard(place, path)
  const living = new Set(catalog.collections.map(({ id }) => id))
  // An archived checkpoint must lead to every moment it covers, including those before the deletion.
  if (place.archiveDir === undefined)
    for (const older of kept.slice(1)) await removeDropped(place.vfs, older, (id) => !living.has(id))
  // Without two recovery paths the whole log is kept. The same holds when a collection was in quarantine or not loaded
  // when the oldest checkpoint was taken.
  if (!oldest || !isEnough) return 0
  const held = new Set(oldest.manifest.collections.map(({ id }) => id))
  const isWhole = oldest.manifest.catalog.collections.every(({ id }) => held.has(id) || !living.has(id))
  return isWhole ? oldest.manifest.lsn : 0
}

/**
 * The checkpoints to keep, newest first: the two newest, and for each collection of which the newest one has changes only, one that does not
 * need the same files. `isEnough`: damage of one file leaves a way to recover every collection.
 */
function keptOf(whole: readonly Checkpoint[]): { readonly kept: readonly Checkpoint[]; readonly isEnough: boolean } {
  const kept = new Set(whole.slice(0, keptCount))
  let isEnough = kept.size === keptCount
  const [newest, ...others] = whole
  for (const collection of newest?.manifest.collections ?? []) {
    if (!collection.files.some(({ deltas }) => deltas?.length)) continue
    // Two checkpoints share the files of a collection that nobody writes to.
    if (others[0]?.manifest.collections.some(({ id, lsn }) => id === collection.id && lsn === collection.lsn)) continue
    const independent = others.find((other) => isIndependent(other.manifest, collection))
    if (independent) kept.add(independent)
    else isEnough = false
  }
  return { kept: whole.filter((checkpoint) => kept.has(checkpoint)), isEnough }
}

/** Whether a start from the manifest gets the collection without the files on which its newest changes depend. */
function isIndependent(manifest: Manifest, { id, files }: ManifestCollection): boolean {
  // The collection was created later, so the log has all its records.
  if (!manifest.catalog.collections.some((entry) => entry.id === id)) return true
  const other = manifest.collections.find((collection) => collection.id === id)
  return (
    other !== undefined &&
    !files.some(({ deltas, sum }) => deltas?.length && other.files.some((file) => file.sum === sum))
  )
}

/**
 * Removes the files of collections whose deletion is durable from a checkpoint. A start from it replays the deletion
 * later in the log, so it needs only their entries in the catalog. Returns the changed manifest.
 */
export async function removeDropped(
  vfs: Vfs,
  { path, manifest }: Checkpoint,
  isDropped: (id: number) => boolean,
): Promise<Checkpoint> {
  const removedCollections = manifest.collections.filter(({ id }) => isDropped(id))
  if (removedCollections.length === 0) return { path, manifest }
  const remaining = { ...manifest, collections: manifest.collections.filter(({ id }) => !isDropped(id)) }
  // The manifest is written first: after a crash it must not name files that are gone.
  await writeManifest(vfs, join(path, manifestName), remaining)
  for (const collection of removedCollections)
    for (const name of namesOf(collection))
      await vfs.remove(join(path, name)).catch((error: unknown) => {
        if (!isMissing(error)) throw error
      })
  return { path, manifest: remaining }
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
  // The folder is renamed first: after a crash there must be no manifest whose files are gone.
  const temporary = join(dir, `tmp-${basename(path)}`)
  await vfs.rename(path, temporary)
  await vfs.syncDirectory(dir)
  await vfs.removeTree(temporary)
}

function fileName(collectionId: number, part: number): string {
  return `collection-${collectionId}-part-${part}.snap`
}

function deltaName(collectionId: number, part: number, lsn: number): string {
  return `collection-${collectionId}-part-${part}-changes-${String(lsn).padStart(20, '0')}.snap`
}
