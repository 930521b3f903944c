// Writes the parts of one collection into a checkpoint that is being created: completely, or as changes next to links to the files of an
// earlier checkpoint. Links the files of its original vectors.
import { join } from 'node:path'
import type { SteadyPace, Vfs } from '@annal/wal'
import { assert } from '../errors.ts'
import { ttlOf } from '../model/schema.ts'
import type { OriginalsFile } from '../originals/originals-chunks.ts'
import type { Replica } from '../replica/replica.ts'
import type { CheckpointCollection, CheckpointPlace, CheckpointWork } from './checkpoint.ts'
import { deltaName, fileName, linkAll } from './checkpoint-files.ts'
import { changesWorth, usualDeltaLimits } from './delta-limits.ts'
import { chainId, listedFiles, listedOriginals, type ManifestCollection, type ManifestFile } from './manifest.ts'
import { cutReplica, type EarlierPart, type PartCut } from './replica-parts.ts'
import { writeSnapshotFile } from './snapshot-file.ts'

/** The snapshot of a collection in the previous checkpoint. */
interface Earlier {
  readonly path: string
  readonly before: ManifestCollection
}

export async function writeCollection(
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
    const { definition, expiry } = cut.replica
    const own = { ...ttlOf(definition), ...(expiry.wasUsed && { expires: true as const }) }
    return { id, lsn: cut.lsn, fields: definition.fields, ...own, originals, originalBytes, originalProofs, files }
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
export async function withProofs(collection: ManifestCollection, replica: Replica): Promise<ManifestCollection> {
  const { originals, originalProofs, originalBytes } = collection
  if (originalProofs !== undefined || originals.length !== originalBytes?.length) return collection
  const files = listedOriginals(collection).map((file, index) => ({ ...file, bytes: originalBytes[index] ?? 0 }))
  return { ...collection, originalProofs: await proofsOf(replica, files) }
}
