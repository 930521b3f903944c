// New files appear whole or not at all: written under a temporary name, synced, renamed, then the directory is synced.
import { dirname, resolve } from 'node:path'
import { errnoOf } from './errors.ts'
import type { Vfs, VfsFile } from './vfs.ts'

/** Ending of the names of files that are not complete yet. */
export const temporarySuffix = '.tmp'

/** Writes every byte or fails. A write of 0 bytes without an error means a full disk. */
export async function writeFully(file: VfsFile, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0
  while (done < bytes.length) {
    const rest = done === 0 ? bytes : bytes.subarray(done)
    const taken = await file.write(rest, position + done)
    if (taken <= 0) throw noSpace()
    done += taken
  }
}

/** Reads until the buffer is full or the file ends; returns the number of bytes read. */
export async function readFully(file: VfsFile, into: Uint8Array, position: number): Promise<number> {
  let done = 0
  while (done < into.length) {
    const rest = done === 0 ? into : into.subarray(done)
    const got = await file.read(rest, position + done)
    if (got <= 0) break
    done += got
  }
  return done
}

/** Creates or replaces the file at `path`; `fill` writes its content. */
export async function createWhole(vfs: Vfs, path: string, fill: (file: VfsFile) => Promise<void>): Promise<void> {
  const temporary = path + temporarySuffix
  if (await vfs.exists(temporary)) await vfs.remove(temporary)
  const file = await vfs.open(temporary, 'create')
  try {
    try {
      await fill(file)
      await file.datasync()
    } finally {
      await file.close()
    }
  } catch (error) {
    // On a full disk a partial file must not keep its space.
    await vfs.remove(temporary).catch(() => undefined)
    throw error
  }
  await vfs.rename(temporary, path)
  await vfs.syncDirectory(dirname(path))
}

/**
 * Makes a directory and its missing parents, with durable names up to `root`, which must exist and be durable. It also
 * syncs the names of existing directories: the process that created them may have been killed before it did.
 */
export async function makeDurableDirectory(vfs: Vfs, dir: string, root: string): Promise<void> {
  await vfs.makeDirectory(dir)
  for (
    let current = resolve(dir);
    current !== resolve(root) && current !== dirname(current);
    current = dirname(current)
  )
    await vfs.syncDirectory(dirname(current))
}

/**
 * Makes the directory's own name durable. A process without access to the parent did not create a name in it either.
 */
export async function syncNameOf(vfs: Vfs, dir: string): Promise<void> {
  try {
    await vfs.syncDirectory(dirname(resolve(dir)))
  } catch (error) {
    const errno = errnoOf(error)
    if (errno !== 'EACCES' && errno !== 'EPERM') throw error
  }
}

/** Makes the directory and its missing parents, and makes all their names durable. */
export async function makeNamedDirectory(vfs: Vfs, dir: string): Promise<void> {
  const made = [resolve(dir)]
  for (
    let current = resolve(dir);
    !(await vfs.exists(current)) && current !== dirname(current);
    current = dirname(current)
  )
    made.push(dirname(current))
  if (made.length > 1) await vfs.makeDirectory(dir)
  // The directory's own name is synced every time: the start that created it may have been killed earlier.
  for (const one of made.length > 1 ? made.slice(0, -1) : made) await syncNameOf(vfs, one)
}

/** Returns the content of a small file; a longer file is truncated to `bytesMax`. */
export async function readSmall(vfs: Vfs, path: string, bytesMax: number): Promise<Buffer> {
  const file = await vfs.open(path, 'read')
  try {
    const bytes = Buffer.alloc(bytesMax)
    return bytes.subarray(0, await readFully(file, bytes, 0))
  } finally {
    await file.close()
  }
}

function noSpace(): Error {
  return Object.assign(new Error('ENOSPC: the file system accepted no more bytes'), { code: 'ENOSPC' })
}
