// Makes a directory writable without changing it. Writes go to a second directory, removals are remembered, and
// everything else is read from the original. Nothing is synced: the writes are discarded in the end.
import { dirname, join, relative } from 'node:path'
import { copyFile, type OpenMode, type Vfs, type VfsFile } from '@annal/wal'

export function overlayVfs(base: Vfs, directories: { readonly dir: string; readonly scratch: string }): Vfs {
  /** Paths whose original content counts as removed. */
  const gone = new Set<string>()
  const above = (path: string): string => join(directories.scratch, relative(directories.dir, path))
  const isBelow = async (path: string): Promise<boolean> => {
    for (let current = path; current.length >= directories.dir.length; current = dirname(current))
      if (gone.has(current)) return false
    return base.exists(path)
  }
  const isAbove = (path: string): Promise<boolean> => base.exists(above(path))
  const mustExist = async (path: string): Promise<void> => {
    if (!(await isAbove(path)) && !(await isBelow(path))) throw systemError('ENOENT', path)
  }
  const raise = async (path: string): Promise<string> => {
    await mustExist(path)
    if (await isAbove(path)) return above(path)
    await base.makeDirectory(dirname(above(path)))
    await copyFile(base, path, above(path))
    return above(path)
  }

  async function open(path: string, mode: OpenMode): Promise<VfsFile> {
    if (mode === 'create') {
      if ((await isAbove(path)) || (await isBelow(path))) throw systemError('EEXIST', path)
      await base.makeDirectory(dirname(above(path)))
      return withoutSync(await base.open(above(path), 'create'))
    }
    await mustExist(path)
    if (await isAbove(path)) return withoutSync(await base.open(above(path), mode))
    const below = await base.open(path, 'read')
    return mode === 'read' ? below : new CopiedOnWrite(below, async () => base.open(await raise(path), 'write'))
  }

  async function forget(path: string): Promise<void> {
    await mustExist(path)
    gone.add(path)
  }

  return {
    open,
    async rename(from, to) {
      const raised = await raise(from)
      await base.makeDirectory(dirname(above(to)))
      await base.rename(raised, above(to))
      gone.add(from)
    },
    async remove(path) {
      await forget(path)
      if (await isAbove(path)) await base.remove(above(path))
    },
    async removeTree(path) {
      gone.add(path)
      await base.removeTree(above(path))
    },
    async link(existing, path) {
      if ((await isAbove(path)) || (await isBelow(path))) throw systemError('EEXIST', path)
      await mustExist(existing)
      await base.makeDirectory(dirname(above(path)))
      // A copy: writes to one of the names must not reach the original.
      await copyFile(base, (await isAbove(existing)) ? above(existing) : existing, above(path))
    },
    makeDirectory: (path) => base.makeDirectory(above(path)),
    async list(path) {
      const names = new Set((await isAbove(path)) ? await base.list(above(path)) : [])
      if (await isBelow(path)) {
        for (const name of await base.list(path)) if (!gone.has(join(path, name))) names.add(name)
      } else if (!(await isAbove(path))) throw systemError('ENOENT', path)
      return [...names]
    },
    exists: async (path) => (await isAbove(path)) || (await isBelow(path)),
    syncDirectory: async () => undefined,
    freeBytes: () => base.freeBytes(directories.scratch),
  }
}

/** A file that is copied on its first write. Most files that are opened for writing are never written. */
class CopiedOnWrite implements VfsFile {
  readonly #raise: () => Promise<VfsFile>
  #file: VfsFile
  #raising: Promise<VfsFile> | undefined

  constructor(below: VfsFile, raise: () => Promise<VfsFile>) {
    this.#file = below
    this.#raise = raise
  }

  async write(bytes: Uint8Array, position: number): Promise<number> {
    return (await this.#raised()).write(bytes, position)
  }
  async read(bytes: Uint8Array, position: number): Promise<number> {
    return (await (this.#raising ?? this.#file)).read(bytes, position)
  }
  async truncate(size: number): Promise<void> {
    await (await this.#raised()).truncate(size)
  }
  async size(): Promise<number> {
    return (await (this.#raising ?? this.#file)).size()
  }
  async datasync(): Promise<void> {
    // See unsynced.
  }
  async close(): Promise<void> {
    await (await (this.#raising ?? this.#file)).close()
  }

  #raised(): Promise<VfsFile> {
    this.#raising ??= this.#raise().then(async (raised) => {
      await this.#file.close()
      return raised
    })
    return this.#raising
  }
}

function withoutSync(file: VfsFile): VfsFile {
  return {
    write: (bytes, position) => file.write(bytes, position),
    read: (bytes, position) => file.read(bytes, position),
    datasync: async () => undefined,
    truncate: (size) => file.truncate(size),
    size: () => file.size(),
    close: () => file.close(),
  }
}

function systemError(code: 'ENOENT' | 'EEXIST', path: string): Error {
  return Object.assign(new Error(`${code}: ${path}`), { code })
}
