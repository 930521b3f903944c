// Gives a file a second name: by a hard link where the file system supports them, by a durable copy where it does not.
import { errnoOf } from './errors.ts'
import { copyRange } from './tail.ts'
import type { Vfs } from './vfs.ts'

/** Another file system, one without links, too many links of one file, or a file of another owner. */
const unlinkable: readonly (string | undefined)[] = ['EXDEV', 'EPERM', 'EMLINK', 'ENOSYS', 'ENOTSUP', 'EOPNOTSUPP']

/**
 * Gives an immutable file a second name and returns whether its bytes were copied. The new name becomes durable with
 * its directory.
 */
export async function linkOrCopy(vfs: Vfs, from: string, to: string): Promise<'linked' | 'copied'> {
  try {
    await vfs.link(from, to)
    return 'linked'
  } catch (error) {
    if (!unlinkable.includes(errnoOf(error))) throw error
    await copyFile(vfs, from, to)
    return 'copied'
  }
}

/** Copies the first `bytes` bytes of a file, all of them by default, and makes the copy durable. */
export async function copyFile(vfs: Vfs, from: string, to: string, bytes?: number): Promise<void> {
  const end = bytes ?? (await sizeOf(vfs, from))
  await copyRange(vfs, { source: from, target: to, from: 0, to: end })
}

/** The size of a file. */
export async function sizeOf(vfs: Vfs, path: string): Promise<number> {
  const file = await vfs.open(path, 'read')
  try {
    return await file.size()
  } finally {
    await file.close()
  }
}
