// Checks backups and the images of restored and cloned collections: that every file exists and has its length; a deep
// check also compares the checksums of the manifest.
import { basename, join, relative } from 'node:path'
import { sizeOf, type Vfs } from '@annal/wal'
import { filesOf, listedParts, originalsName, readImage, type StoredImage } from '../backup/image/image.ts'
import { verifyImage } from '../backup/image/verify-image.ts'
import { EngineError } from '../errors.ts'
import { unreadableFile } from '../file-damage.ts'
import { originalsFault } from '../originals/check-originals.ts'
import { dimensionOf } from '../originals/originals-owner.ts'
import type { CheckpointFault } from './check-checkpoints.ts'
import { snapshotFault } from './snapshot-fault.ts'

export interface ImageCheck {
  readonly vfs: Vfs
  readonly dataDir: string
  /** Whether every byte is read. */
  readonly isDeep: boolean
}

const cures = {
  backups: 'create the backup again, or fetch a copy of it',
  imports:
    'take a checkpoint on a running server, so that records that need this file are no longer replayed. Points in time before it cannot be restored',
}

export async function checkImages(check: ImageCheck): Promise<CheckpointFault[]> {
  const { vfs, dataDir } = check
  const faults: CheckpointFault[] = []
  for (const folder of ['backups', 'imports'] as const) {
    const dir = join(dataDir, folder)
    const names = (await vfs.exists(dir)) ? await vfs.list(dir) : []
    for (const name of names.filter((one) => /^[0-9a-f]{32}$/.test(one)).sort()) {
      const found = await imageFaults(check, join(dir, name))
      // While a server runs, an image may be removed during the check; that is not a fault.
      if (found.length > 0 && !(await vfs.exists(join(dir, name)))) continue
      for (const what of found) faults.push({ file: relative(dataDir, join(dir, name)), what, cure: cures[folder] })
    }
  }
  return faults
}

async function imageFaults({ vfs, isDeep }: ImageCheck, dir: string): Promise<string[]> {
  let stored: StoredImage
  try {
    stored = await readImage(vfs, dir)
  } catch (error) {
    if (error instanceof EngineError) return [error.message]
    throw error
  }
  const { folder = basename(dir) } = stored.image
  if (folder !== basename(dir)) return [`its manifest belongs to folder ${folder}`]
  const files = filesOf(stored.image)
  const isHashed = files.every(({ sha256 }) => sha256 !== '')
  if (isDeep && isHashed) return verifyImage(vfs, stored)
  const faults: string[] = []
  for (const { name, bytes } of files) {
    const size = await sizeOf(vfs, join(dir, name)).catch((error: unknown) => {
      const fault = unreadableFile(error, name)
      if (fault === undefined) throw error
      faults.push(fault.message)
      return undefined
    })
    // Files of original vectors that a clone links grow under their other names.
    if (size === undefined || size === bytes || (size > bytes && !isHashed)) continue
    faults.push(`${name} has ${size} bytes, but its manifest says ${bytes}`)
  }
  return isDeep && faults.length === 0 ? partFaults(vfs, stored) : faults
}

/** Faults of the files of an image that contain their own checksums. */
async function partFaults(vfs: Vfs, { dir, image }: StoredImage): Promise<string[]> {
  const faults: string[] = []
  for (const { name, expected } of image.parts.flatMap((file) => listedParts(image, file))) {
    const fault = await snapshotFault(vfs, join(dir, name), expected)
    if (fault !== undefined) faults.push(fault)
  }
  for (const file of image.originals) {
    const listed = { ...file, name: originalsName(file) }
    const check = { dimension: dimensionOf(image.fields[file.field]), isDeep: true }
    const fault = await originalsFault(vfs, join(dir, listed.name), listed, check)
    if (fault !== undefined) faults.push(fault)
  }
  return faults
}
