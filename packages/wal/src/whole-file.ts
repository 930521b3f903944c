// New files appear whole or not at all: written under a temporary name, synced, renamed, and the directory synced.
import { dirname, resolve } from 'node:path'
import { errnoOf } from './errors.ts'
import type { Vfs, VfsFile } from './vfs.ts'

export const temporarySuffix = '.tmp'

/** Writes every byte or fails. A file system that takes nothing without saying why is full. */
export async function writeFully(file: VfsFile, bytes: Uint8Array, position: number): Promise<void> {
  let done = 0
  while (done < bytes.length) {
    const rest = done === 0 ? bytes : bytes.subarray(done)
    const taken = await file.write(rest, position + done)
    if (taken <= 0) throw noSpace()
    done += taken
  }
}

/** Reads until the buffer is full or the file ends; returns how many bytes were read. */
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
    // On a full disk what is half there must not go on taking room.
    await vfs.remove(temporary).catch(() => undefined)
    throw error
  }
  await vfs.rename(temporary, path)
  await vfs.syncDirectory(dirname(path))
}

/**
 * Makes a directory and those above it that are missing, with durable names up to `root`, which must be there and durable. Names
 * are synced also where the directories exist: whoever made them may have been killed before.
 */
export async function makeDurableDirectory(vfs: Vfs, dir: string, root: string): Promise<void> {
  await vfs.makeDirectory(dir)
  for (let at = resolve(dir); at !== resolve(root) && at !== dirname(at); at = dirname(at))
    await vfs.syncDirectory(dirname(at))
}

/** Makes the directory's own name durable. Whoever may not read the directory above did not name anything in it either. */
export async function syncNameOf(vfs: Vfs, dir: string): Promise<void> {
  try {
    await vfs.syncDirectory(dirname(resolve(dir)))
  } catch (error) {
    const errno = errnoOf(error)
    if (errno !== 'EACCES' && errno !== 'EPERM') throw error
  }
}

/** Makes the directory, with those above it that are missing, and all their names durable. */
export async function makeNamedDirectory(vfs: Vfs, dir: string): Promise<void> {
  const made = [resolve(dir)]
  for (let at = resolve(dir); !(await vfs.exists(at)) && at !== dirname(at); at = dirname(at)) made.push(dirname(at))
  if (made.length > 1) await vfs.makeDirectory(dir)
  // That of the directory itself every time: the start that made it may have been killed before.
  for (const one of made.length > 1 ? made.slice(0, -1) : made) await syncNameOf(vfs, one)
}

/** The content of a file that is known to be small; longer ones are cut at `bytesMax`. */
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
  return Object.assign(new Error('ENOSPC: the file system took no more bytes'), { code: 'ENOSPC' })
}
