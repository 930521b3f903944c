// Makes the files of an image: snapshot files that are never written again are linked, the last file of vectors, which still
// grows, and the records after the snapshot are written. Nothing here asks a writer to wait.
import { join } from 'node:path'
import { copyFile, type LogRecord, linkOrCopy, type Vfs } from '@annal/wal'
import { assert } from '../errors.ts'
import type { ManifestCollection } from '../snapshot/manifest.ts'
import { hashFile } from './hash-file.ts'
import { type Image, type ImageOriginals, type ImagePart, originalsName, partName, tailPart } from './image.ts'
import { writeTail } from './tail-file.ts'

/** A collection as a checkpoint holds it. */
export interface ImageBase {
  readonly dir: string
  readonly collection: ManifestCollection
}

export interface ImagePlan {
  /** Everything that does not depend on the files. */
  readonly facts: Omit<Image, 'snapshotLsn' | 'parts' | 'originals' | 'tail'>
  /** Absent when the records hold everything. */
  readonly base: ImageBase | undefined
  /** The collection's own, after the base and up to the image's LSN. */
  readonly records: AsyncIterable<LogRecord>
  /** An older image of the same collection: what both hold need not be hashed again. */
  readonly older: Image | undefined
  readonly checkWanted: () => void
  readonly onProgress: (bytesDone: number) => void
}

/** Writes everything but the manifest into the directory, which must be there. */
export async function makeImage(vfs: Vfs, dir: string, plan: ImagePlan): Promise<Image> {
  const { facts, base, records, older } = plan
  const known = new Map<string, string>()
  if (older && base && older.snapshotLsn === base.collection.lsn) {
    for (const { part, sum, bytes, sha256 } of older.parts) known.set(`${part} ${sum} ${bytes}`, sha256)
    for (const file of older.originals) known.set(`${originalsName(file)} ${file.bytes}`, file.sha256)
  }
  let done = 0
  const advance = (bytes: number) => {
    done += bytes
    plan.onProgress(done)
    plan.checkWanted()
  }
  const parts: ImagePart[] = []
  for (const { name, part, bytes, sum } of base?.collection.files ?? []) {
    const path = join(dir, partName(part))
    await linkOrCopy(vfs, join((base as ImageBase).dir, name), path)
    const sha256 = known.get(`${part} ${sum} ${bytes}`) ?? (await hashFile(vfs, path)).sha256
    parts.push({ part, bytes, sum, sha256 })
    advance(bytes)
  }
  const originals: ImageOriginals[] = []
  for (const file of base ? originalsOf(base.collection) : []) {
    const { name, ...facts } = file
    const path = join(dir, originalsName(file))
    const from = join((base as ImageBase).dir, name)
    if (file.full) await linkOrCopy(vfs, from, path)
    else await copyFile(vfs, from, path, file.bytes)
    const sha256 = known.get(`${originalsName(file)} ${file.bytes}`) ?? (await hashFile(vfs, path, file.bytes)).sha256
    originals.push({ ...facts, sha256 })
    advance(file.bytes)
  }
  const path = join(dir, partName(tailPart))
  const of = { collectionId: facts.source.collectionId, lsn: facts.lsn }
  const written = await writeTail(vfs, path, of, records)
  const { sha256 } = await hashFile(vfs, path)
  advance(written.bytes)
  const tail = { records: written.records, bytes: written.bytes, sum: written.sum, sha256 }
  return { ...facts, snapshotLsn: base?.collection.lsn ?? 0, parts, originals, tail }
}

/** Links every file of an image into another directory. */
export async function linkImage(
  vfs: Vfs,
  files: readonly { readonly name: string }[],
  from: string,
  to: string,
): Promise<void> {
  for (const { name } of files) await linkOrCopy(vfs, join(from, name), join(to, name))
}

const originalsForm = /^collection-\d+-generation-(\d+)-field-(\d+)-chunk-(\d+)\.f32$/

/** Whether a checkpoint says how much of its files with vectors is its own; those of earlier versions do not. */
export function saysLengths({ originals, originalBytes }: ManifestCollection): boolean {
  return originals.length === (originalBytes?.length ?? 0)
}

function originalsOf({ originals, originalBytes = [] }: ManifestCollection) {
  const files = originals.map((name, at) => {
    const found = originalsForm.exec(name)
    assert(found, `${name} is the name of a file of vectors`)
    const [generation, field, chunk] = found.slice(1).map(Number) as [number, number, number]
    return { name, generation, field, chunk, bytes: originalBytes[at] ?? 0 }
  })
  // Files of one field are filled one after another: only the last may still grow.
  return files.map((file) => ({
    ...file,
    full: files.some((other) => other.field === file.field && other.chunk > file.chunk),
  }))
}
