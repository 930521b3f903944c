// The real disk. The only file of the package that uses node:fs. Files are private to their owner (0600, 0700).
import {
  access,
  close,
  closeSync,
  constants,
  fdatasync,
  fstat,
  fstatSync,
  fsync,
  ftruncate,
  link,
  mkdir,
  open,
  openSync,
  read,
  readdir,
  readFileSync,
  readlink,
  readSync,
  rename,
  rm,
  type Stats,
  stat,
  statfs,
  statSync,
  unlink,
  write,
} from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { errnoOf } from './errors.ts'
import { OpenFiles } from './open-files.ts'
import type { OpenMode, Vfs, VfsFile } from './vfs.ts'

type Done<T> = (error: NodeJS.ErrnoException | null, value: T) => void

/** Positions are explicit, so files are never opened in append mode, where the system would ignore positions. */
const flags: Record<OpenMode, number> = {
  read: constants.O_RDONLY,
  write: constants.O_RDWR,
  create: constants.O_RDWR | constants.O_CREAT | constants.O_EXCL,
}

const sharedMin = 16
const sharedMax = 4_096
/** Used where the system reports no limit. */
const limitAssumed = 512

/** Files that stay open for long but are rarely used share half of the descriptors this process may have. */
export const processFiles = new OpenFiles(shareOf(openFilesLimit()))

function shareOf(limit = limitAssumed): number {
  return Math.max(sharedMin, Math.min(sharedMax, Math.floor(limit / 2)))
}

/** Descriptors that this process may have; undefined where the system reports no limit. */
export function openFilesLimit(): number | undefined {
  try {
    const limit = /^Max open files\s+(\S+)/m.exec(readFileSync('/proc/self/limits', 'latin1'))?.[1]
    return limit === 'unlimited' ? Number.POSITIVE_INFINITY : limit === undefined ? undefined : Number(limit)
  } catch {
    return undefined
  }
}

/** The disk of this machine. */
export function nodeVfs(): Vfs {
  return {
    async open(path, mode) {
      return nodeFile(
        await processFiles.openWithRetry(() => promiseOf<number>((done) => open(path, flags[mode], 0o600, done))),
      )
    },
    rename: (from, to) => promiseOf<void>((done) => rename(from, to, nothing(done))),
    remove: (path) => promiseOf<void>((done) => unlink(path, nothing(done))),
    removeTree: (path) => promiseOf<void>((done) => rm(path, { recursive: true, force: true }, nothing(done))),
    link: (existing, path) => promiseOf<void>((done) => link(existing, path, nothing(done))),
    makeDirectory,
    list: (path) => promiseOf<string[]>((done) => readdir(path, done)),
    exists,
    syncDirectory,
    async freeBytes(path) {
      const facts = await promiseOf<{ bavail: number; bsize: number }>((done) => statfs(path, done))
      return facts.bavail * facts.bsize
    },
  }
}

/** Errors that mean that there is nothing under a name. */
const absent: ReadonlySet<string | undefined> = new Set(['ENOENT', 'ENOTDIR', 'ELOOP', 'ENAMETOOLONG'])

/** Rejects if the system cannot say: a file that cannot be reached must not count as one that does not exist. */
function exists(path: string): Promise<boolean> {
  return new Promise((resolve, reject) => {
    access(path, (error) => {
      if (error === null) resolve(true)
      else if (absent.has(errnoOf(error))) resolve(false)
      else reject(error)
    })
  })
}

/** Identifies a directory independently of its path: other mounts and links give the same key. */
export function directoryKey(path: string): string {
  const facts = statSync(path)
  return `${facts.dev}:${facts.ino}`
}

/** The key of a directory that nothing else gets before `letGo`. */
export interface HeldDirectory {
  readonly key: string
  /** A path of a name in the directory; on Linux short enough for a socket, however long the path of the directory is. */
  pathOf(name: string): string
  letGo(): void
}

/**
 * Keeps a directory open where the system allows that: if it is deleted meanwhile, its inode number is not given to another directory, which
 * would have the same key.
 */
export function holdDirectory(path: string): HeldDirectory {
  if (process.platform === 'win32')
    return { key: directoryKey(path), pathOf: (name) => join(path, name), letGo: () => undefined }
  const fd = openSync(path, 'r')
  const { dev, ino } = fstatSync(fd)
  const base = process.platform === 'linux' ? `/proc/self/fd/${fd}` : path
  return { key: `${dev}:${ino}`, pathOf: (name) => join(base, name), letGo: () => closeSync(fd) }
}

/** The target of a symbolic link. */
export function linkTarget(path: string): Promise<string> {
  return promiseOf<string>((done) => readlink(path, done))
}

function nodeFile(fd: number): VfsFile {
  return {
    write: (bytes, position) => promiseOf<number>((done) => write(fd, bytes, 0, bytes.length, position, done)),
    read: (bytes, position) => promiseOf<number>((done) => read(fd, bytes, 0, bytes.length, position, done)),
    readNow: (bytes, position) => readSync(fd, bytes, 0, bytes.length, position),
    datasync: () => promiseOf<void>((done) => fdatasync(fd, nothing(done))),
    truncate: (size) => promiseOf<void>((done) => ftruncate(fd, size, nothing(done))),
    async size() {
      return (await promiseOf<{ size: number }>((done) => fstat(fd, done))).size
    },
    close: () => promiseOf<void>((done) => close(fd, nothing(done))),
  }
}

/**
 * Makes a directory and its missing parents, one level at a time. Where a virtual file system refuses a name as if its
 * parent were missing (below /proc, for example), the recursive call of node:fs never returns.
 */
async function makeDirectory(path: string): Promise<void> {
  try {
    await makeOneDirectory(path)
  } catch (error) {
    const above = dirname(resolve(path))
    if (errnoOf(error) !== 'ENOENT' || above === resolve(path)) throw error
    await makeDirectory(above)
    await makeOneDirectory(path)
  }
}

async function makeOneDirectory(path: string): Promise<void> {
  try {
    await promiseOf<void>((done) => mkdir(path, { mode: 0o700 }, nothing(done)))
  } catch (error) {
    if (errnoOf(error) !== 'EEXIST') throw error
    const facts = await promiseOf<Stats>((done) => stat(path, done))
    if (!facts.isDirectory()) throw error
  }
}

async function syncDirectory(path: string): Promise<void> {
  // Windows cannot sync a directory; its file systems journal names on their own.
  if (process.platform === 'win32') return
  const fd = await processFiles.openWithRetry(() => promiseOf<number>((done) => open(path, constants.O_RDONLY, done)))
  try {
    await promiseOf<void>((done) => fsync(fd, nothing(done)))
  } finally {
    await promiseOf<void>((done) => close(fd, nothing(done)))
  }
}

/** Turns a callback call into a promise. The promise functions of node:fs cost about twice as much per call. */
function promiseOf<T>(call: (done: Done<T>) => void): Promise<T> {
  return new Promise((resolve, reject) => {
    call((error, value) => {
      if (error === null || error === undefined) resolve(value)
      else reject(error)
    })
  })
}

/** For calls whose callback gets an error or nothing. */
function nothing(done: Done<void>): (error: NodeJS.ErrnoException | null) => void {
  return (error) => done(error, undefined)
}
