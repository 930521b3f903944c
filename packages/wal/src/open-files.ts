// Lets a process have more files open than it has descriptors. A file opened through `OpenFiles.vfs` gives its
// descriptor up when others need one, least recently used first, and gets another when it is used again. The log's
// tail, the lock and files that are read once are opened on the Vfs below; their descriptors are never taken.
//
// The guarantees of VfsFile hold:
// - Written data is synced before its descriptor closes, because the system reports a failed write only to descriptors
// that are open at that time. A failure is kept, and every later datasync of the file reports it.
// - A file survives the removal or replacement of its name through this Vfs: it keeps its descriptor. After a rename
// through this Vfs it is found under the new name. Names that are changed elsewhere are not noticed.
import { sep } from 'node:path'
import { errnoOf } from './errors.ts'
import { type DescriptorOwner, SharedFile } from './shared-file.ts'
import type { Vfs } from './vfs.ts'

/** A limited number of descriptors, shared by any number of files. */
export class OpenFiles implements DescriptorOwner {
  readonly max: number
  /** Files that have a descriptor. */
  readonly #holding = new Set<SharedFile>()
  readonly #wrapped = new WeakMap<Vfs, Vfs>()
  #taken = 0
  #uses = 0

  /** At most `max` descriptors; more only while that many files are in use at once or have lost their names. */
  constructor(max: number) {
    this.max = max
  }

  /** Descriptors that are open or being opened. */
  get taken(): number {
    return this.#taken
  }

  /** Returns a Vfs whose files share the descriptors; always the same one for the same `inner`. */
  vfs(inner: Vfs): Vfs {
    const known = this.#wrapped.get(inner) ?? sharingVfs(this, inner)
    this.#wrapped.set(inner, known)
    return known
  }

  /** Closes an eighth of the idle descriptors, at least one. Returns false when there are none. */
  async #shed(): Promise<boolean> {
    const wanted = Math.max(1, this.#holding.size >> 3)
    const unused = [...this.#holding].filter(({ isIdle }) => isIdle).sort((a, b) => a.lastUse - b.lastUse)
    await Promise.all(unused.slice(0, wanted).map((file) => file.giveUp()))
    return unused.length > 0
  }

  /** Counts a use, which makes the file the most recently used one. */
  countUse(): number {
    return ++this.#uses
  }

  /** Opens a descriptor for a file once one is available. */
  async open<T>(file: SharedFile, openDescriptor: () => Promise<T>): Promise<T> {
    this.#taken++
    try {
      await this.trim()
      const descriptor = await this.openWithRetry(openDescriptor)
      this.#holding.add(file)
      return descriptor
    } catch (error) {
      this.#taken--
      throw error
    }
  }

  /** Closes idle descriptors until at most `max` are open. */
  async trim(): Promise<void> {
    while (this.#taken > this.max) {
      const unused = this.#longestUnused()
      if (unused === undefined) return
      await unused.giveUp()
    }
  }

  /** Runs an open call. When the system is out of descriptors, it closes some idle ones and tries again. */
  async openWithRetry<T>(open: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await open()
      } catch (error) {
        if (!isOutOfDescriptors(error) || !(await this.#shed())) throw error
      }
    }
  }

  /** The file is about to close its descriptor; call `done` when it is closed. */
  beginClose(file: SharedFile): { readonly done: () => void } {
    this.#holding.delete(file)
    return { done: () => void this.#taken-- }
  }

  #longestUnused(): SharedFile | undefined {
    let found: SharedFile | undefined
    for (const file of this.#holding) if (file.isIdle && (!found || file.lastUse < found.lastUse)) found = file
    return found
  }
}

/** The process or the whole system is out of descriptors. */
function isOutOfDescriptors(error: unknown): boolean {
  const errno = errnoOf(error)
  return errno === 'EMFILE' || errno === 'ENFILE'
}

function sharingVfs(owner: OpenFiles, inner: Vfs): Vfs {
  const named = new Map<string, Set<SharedFile>>()
  const enter = (file: SharedFile) => named.set(file.path, (named.get(file.path) ?? new Set()).add(file))
  const leave = (file: SharedFile) => {
    const files = named.get(file.path)
    files?.delete(file)
    if (files?.size === 0) named.delete(file.path)
  }
  const filesAt = (path: string): SharedFile[] => [...(named.get(path) ?? [])]
  const atOrBelow = (path: string): SharedFile[] =>
    [...named].flatMap(([name, files]) => (name === path || name.startsWith(path + sep) ? [...files] : []))
  const loseNames = (files: readonly SharedFile[]) => {
    for (const file of files) {
      leave(file)
      file.keepDescriptor()
    }
  }
  /** Runs the operation while the files hold their descriptors, so that changes of their names do not matter. */
  const runHolding = async (files: readonly SharedFile[], act: () => Promise<void>): Promise<void> => {
    const releases = await Promise.all(files.map((file) => file.hold()))
    try {
      await act()
    } finally {
      for (const release of releases) release()
    }
  }
  const runRemoving = (files: readonly SharedFile[], remove: () => Promise<void>) =>
    runHolding(files, async () => {
      await remove()
      loseNames(files)
    })

  return {
    async open(path, mode) {
      const file = new SharedFile({ owner, inner, path, mode, onClose: leave })
      await file.begin()
      enter(file)
      return file
    },
    rename(from, to) {
      const [moved, replaced] = [atOrBelow(from), filesAt(to)]
      return runHolding([...moved, ...replaced], async () => {
        await inner.rename(from, to)
        loseNames(replaced)
        for (const file of moved) {
          leave(file)
          file.path = to + file.path.slice(from.length)
          enter(file)
        }
      })
    },
    remove: (path) => runRemoving(filesAt(path), () => inner.remove(path)),
    removeTree: (path) => runRemoving(atOrBelow(path), () => inner.removeTree(path)),
    link: (existing, path) => inner.link(existing, path),
    makeDirectory: (path) => inner.makeDirectory(path),
    list: (path) => inner.list(path),
    exists: (path) => inner.exists(path),
    syncDirectory: (path) => inner.syncDirectory(path),
    freeBytes: (path) => inner.freeBytes(path),
  }
}
