// Creates the files of an image: immutable snapshot files are linked; the last file of original vectors, which still
// grows, and the records after the snapshot are written. Writers never wait for it.
import { join } from 'node:path'
import { copyFile, type LogRecord, linkOrCopy, type Vfs } from '@annal/wal'
import { assert, EngineError } from '../../errors.ts'
import { accessing } from '../../file-damage.ts'
import { originalsFault } from '../../originals/check-originals.ts'
import { dimensionOf } from '../../originals/originals-owner.ts'
import type { ListedFile } from '../../snapshot/manifest.ts'
import { readSnapshotFile } from '../../snapshot/snapshot-source.ts'
import { hashFile } from './hash-file.ts'
import {
  deltaName,
  type Image,
  type ImageDelta,
  type ImageOriginals,
  type ImagePart,
  type ImageTail,
  originalsName,
  partName,
  type StoredImage,
  tailPart,
} from './image.ts'
import type { ImageBase } from './image-base.ts'
import { writeTail } from './tail-file.ts'

export interface ImagePlan {
  /** Everything that does not depend on the files. */
  readonly facts: Omit<Image, 'snapshotLsn' | 'parts' | 'originals' | 'tail'>
  /** Absent when the records hold everything. */
  readonly base: ImageBase | undefined
  /** Records of the collection after the base, up to the image's LSN. */
  readonly records: AsyncIterable<LogRecord>
  /** For an image that is not a backup: every file is linked and none is hashed, so its size does not matter. */
  readonly linkOnly: boolean
  /** An older image of the same collection: common files are linked and not hashed again. */
  readonly older: StoredImage | undefined
  readonly checkWanted: () => void
  readonly onProgress: (bytesDone: number) => void
}

/**
 * Writes everything except the manifest into the directory, which must exist. Throws snapshot_damaged: what is hashed is compared with the
 * checksums of the base, so that damage does not become part of a backup.
 */
export async function makeImage(vfs: Vfs, dir: string, plan: ImagePlan): Promise<Image> {
  const { facts, base, older, linkOnly } = plan
  const held = olderFiles(older, base)
  let done = 0
  const advance = (bytes: number) => {
    done += bytes
    plan.onProgress(done)
    plan.checkWanted()
  }
  const parts: ImagePart[] = []
  const linkPart = async (from: string, name: string, expected: ListedFile['expected']) => {
    const { bytes, sum } = expected
    const path = join(dir, name)
    await accessing(from, () => linkOrCopy(vfs, from, path))
    const known = held.get(`${name} ${bytes} ${sum}`)?.sha256
    if (!linkOnly && known === undefined) await checkPart(vfs, from, expected, plan.checkWanted)
    const sha256 = known ?? (await hashOf(vfs, path, plan))
    advance(bytes)
    return { bytes, sum, sha256 }
  }
  for (const { part, files } of base?.parts ?? []) {
    const deltas: ImageDelta[] = []
    const linked = async ({ name, expected }: ListedFile, isFirst: boolean) =>
      linkPart(join((base as ImageBase).dir, name), isFirst ? partName(part) : deltaName(part, expected.lsn), expected)
    const [first, ...later] = files
    assert(first, 'a part has a file')
    const facts = await linked(first, true)
    for (const file of later) deltas.push({ lsn: file.expected.lsn, ...(await linked(file, false)) })
    parts.push({ part, ...facts, ...(deltas.length > 0 && { lsn: first.expected.lsn, deltas }) })
  }
  const originals: ImageOriginals[] = []
  for (const file of base?.originals ?? []) {
    const { generation, field, chunk, bytes, full, proof } = file
    const name = originalsName(file)
    const from = join((base as ImageBase).dir, file.name)
    const same = held.get(`${name} ${bytes}`)
    const linked = same?.path ?? from
    if (!linkOnly && same === undefined) await checkOriginals(vfs, from, base as ImageBase, file)
    await accessing(linked, async () => {
      if (full || same || linkOnly) await linkOrCopy(vfs, linked, join(dir, name))
      else await copyFile(vfs, from, join(dir, name), bytes)
    })
    const sha256 = same?.sha256 ?? (await hashOf(vfs, join(dir, name), plan))
    originals.push({ generation, field, chunk, full, bytes, sha256, ...(proof && { proof }) })
    advance(bytes)
  }
  const tail = await makeTail(vfs, dir, plan)
  advance(tail.bytes)
  return { ...facts, snapshotLsn: base?.lsn ?? 0, parts, originals, tail }
}

/** Reads a whole snapshot file. Throws snapshot_damaged. */
async function checkPart(
  vfs: Vfs,
  path: string,
  expected: ListedFile['expected'],
  checkWanted: () => void,
): Promise<void> {
  for await (const _ of readSnapshotFile(vfs, path, expected)) checkWanted()
}

/** Reads the header and the last row; a damaged row is found, and named, when it is read. Throws snapshot_damaged. */
async function checkOriginals(
  vfs: Vfs,
  path: string,
  { fields }: ImageBase,
  file: ImageBase['originals'][number],
): Promise<void> {
  const fault = await originalsFault(vfs, path, file, { dimension: dimensionOf(fields[file.field]), isDeep: false })
  if (fault !== undefined) throw new EngineError('snapshot_damaged', fault, { file: path })
}

async function hashOf(vfs: Vfs, path: string, { linkOnly, checkWanted }: ImagePlan): Promise<string> {
  return linkOnly ? '' : (await hashFile(vfs, path, checkWanted)).sha256
}

async function makeTail(vfs: Vfs, dir: string, plan: ImagePlan): Promise<ImageTail> {
  const { facts, base, records, older } = plan
  const path = join(dir, partName(tailPart))
  if (older?.image.lsn === facts.lsn && older.image.snapshotLsn === (base?.lsn ?? 0)) {
    await linkOrCopy(vfs, join(older.dir, partName(tailPart)), path)
    return older.image.tail
  }
  const head = { collectionId: facts.source.collectionId, lsn: facts.lsn }
  const { records: count, bytes, sum } = await writeTail(vfs, path, head, records)
  return { records: count, bytes, sum, sha256: await hashOf(vfs, path, plan) }
}

/** Files of an image that began with the same snapshot, keyed by their identity. */
function olderFiles(older: StoredImage | undefined, base: ImageBase | undefined) {
  const held = new Map<string, { readonly path: string; readonly sha256: string }>()
  if (!older || !base || older.image.snapshotLsn !== base.lsn) return held
  const put = (key: string, name: string, sha256: string) => held.set(key, { path: join(older.dir, name), sha256 })
  for (const { part, bytes, sum, sha256, deltas } of older.image.parts) {
    put(`${partName(part)} ${bytes} ${sum}`, partName(part), sha256)
    for (const delta of deltas ?? []) {
      const name = deltaName(part, delta.lsn)
      put(`${name} ${delta.bytes} ${delta.sum}`, name, delta.sha256)
    }
  }
  for (const file of older.image.originals)
    put(`${originalsName(file)} ${file.bytes}`, originalsName(file), file.sha256)
  return held
}

/** Links every file of an image into another directory. */
export async function linkImage(
  vfs: Vfs,
  files: readonly { readonly name: string }[],
  from: string,
  to: string,
): Promise<void> {
  for (const { name } of files)
    await accessing(join(from, name), () => linkOrCopy(vfs, join(from, name), join(to, name)))
}
