// A disk in memory that keeps only what it must. A power cut loses, tears or reorders unsynced sectors and names; calls
// fail or write less on request; the machine can stop in the middle of any call. Everything follows from the seed.
import { basename, dirname, normalize } from 'node:path'
import type { OpenMode, Vfs, VfsFile } from '../vfs.ts'
import { type DiskCall, errnoError, type Fault, type FaultPlan } from './fault.ts'
import type { Random } from './random.ts'
import { SimDirectory, type SimNode } from './sim-directory.ts'
import { SimFile } from './sim-file.ts'

/** The source of all decisions of the disk, and its free space. */
export interface SimDiskOptions {
  readonly random: Random
  readonly faults?: FaultPlan
  readonly freeBytes?: number
}

interface SimOperation {
  readonly call: DiskCall
  readonly path: string
  readonly handle: number
  readonly bytes?: number
}

/** A simulated disk of one machine. */
export class SimDisk {
  readonly #random: Random
  #root = new SimDirectory()
  #boot = 0
  #handles = 0
  #stopAt = Infinity
  #stopped = false
  faults: FaultPlan | undefined
  freeBytes: number
  /** Calls made since the machine was started. */
  operations = 0
  /** Every call, while recording is on. */
  trace: SimOperation[] | undefined

  constructor(options: SimDiskOptions) {
    this.#random = options.random
    this.faults = options.faults
    this.freeBytes = options.freeBytes ?? Number.MAX_SAFE_INTEGER
  }

  /** True once the machine has stopped; calls then never return. */
  get isStopped(): boolean {
    return this.#stopped
  }

  get root(): SimDirectory {
    return this.#root
  }

  /** Stops the machine at this call, which may or may not still take effect. */
  stopAt(operation: number): void {
    this.#stopAt = operation
  }

  /** Starts the machine again. After `kill` the system and its cache survive; after `power` only the disk does. */
  restart(how: 'kill' | 'power'): void {
    if (how === 'power') this.#root = this.#root.afterPowerCut(this.#random, new Map())
    this.#boot++
    this.operations = 0
    this.#stopped = false
    this.#stopAt = Infinity
  }

  /** Restores a copy of an earlier state. */
  replaceRoot(root: SimDirectory): void {
    this.#root = root
  }

  /** The file or directory at a path, for tests that inspect or damage the disk directly. */
  node(path: string): SimNode | undefined {
    let node: SimNode | undefined = this.#root
    for (const part of partsOf(path)) {
      node = node instanceof SimDirectory ? node.get(part) : undefined
    }
    return node
  }

  /** The disk as a process started now sees it. When the machine stops, this view hangs forever. */
  vfs(): Vfs {
    const boot = this.#boot
    const run = <T>(call: DiskCall, path: string, act: () => T, handle = 0): Promise<T> =>
      this.#run(boot, { call, path, handle }, act)
    return {
      open: (path, mode) => run('open', path, () => this.#open(boot, path, mode)),
      rename: (from, to) => run('rename', to, () => this.#rename(from, to)),
      remove: (path) => run('remove', path, () => this.#remove(path)),
      removeTree: (path) => run('removeTree', path, () => this.#removeTree(path)),
      link: (existing, path) => run('link', path, () => this.#link(existing, path)),
      makeDirectory: (path) => run('makeDirectory', path, () => this.#makeDirectory(path)),
      list: (path) => run('list', path, () => this.#directory(path).list()),
      exists: (path) => run('exists', path, () => this.node(path) !== undefined),
      syncDirectory: (path) => run('syncDirectory', path, () => this.#directory(path).sync()),
      freeBytes: (path) => run('freeBytes', path, () => this.freeBytes),
    }
  }

  #run<T>(boot: number, operation: SimOperation, act: () => T, planned?: Fault | 'none'): Promise<T> {
    if (this.#stopped || boot !== this.#boot) return never()
    this.operations++
    this.trace?.push(operation)
    if (this.operations >= this.#stopAt) {
      this.#stopped = true
      if (this.#random.chance(0.5)) act()
      return never()
    }
    const fault = planned ?? this.faults?.({ bytes: 0, ...operation })
    try {
      if (fault !== undefined && fault !== 'none' && 'errno' in fault) throw errnoError(fault.errno, operation)
      return Promise.resolve(act())
    } catch (error) {
      return Promise.reject(error)
    }
  }

  #open(boot: number, path: string, mode: OpenMode): VfsFile {
    const parent = this.#directory(dirname(path))
    const name = basename(path)
    const found = parent.get(name)
    if (mode === 'create') {
      if (found !== undefined) throw errnoError('EEXIST', { call: 'open', path })
      const file = new SimFile()
      parent.add(name, file)
      return this.#handle(boot, path, file, mode)
    }
    if (found === undefined) throw errnoError('ENOENT', { call: 'open', path })
    if (!(found instanceof SimFile)) throw errnoError('EISDIR', { call: 'open', path })
    return this.#handle(boot, path, found, mode)
  }

  #handle(boot: number, path: string, file: SimFile, mode: OpenMode): VfsFile {
    const handle = ++this.#handles
    let isOpen = true
    const run = <T>(call: DiskCall, act: () => T): Promise<T> =>
      this.#run(boot, { call, path, handle }, () => {
        if (!isOpen) throw errnoError('EBADF', { call, path })
        return act()
      })
    return {
      write: (bytes, position) => this.#write(boot, { path, handle, file, mode, bytes, position }),
      read: (bytes, position) => run('read', () => file.read(bytes, position)),
      datasync: () => this.#datasync(boot, path, handle, file),
      truncate: (size) => run('truncate', () => file.truncate(size)),
      size: () => run('size', () => file.size),
      close: () =>
        run('close', () => {
          isOpen = false
        }),
    }
  }

  #write(
    boot: number,
    to: { path: string; handle: number; file: SimFile; mode: OpenMode; bytes: Uint8Array; position: number },
  ): Promise<number> {
    const { path, handle, file, bytes, position } = to
    const operation: SimOperation = { call: 'write', path, handle, bytes: bytes.length }
    if (this.#stopped || boot !== this.#boot) return never()
    const fault = this.faults?.({ call: 'write', path, handle, bytes: bytes.length }) ?? 'none'
    const short = fault !== 'none' && 'short' in fault ? fault.short : bytes.length
    // A stop in the middle of a write leaves any part of it.
    const isLast = this.operations + 1 >= this.#stopAt
    const length = Math.min(short, isLast ? this.#random.below(bytes.length + 1) : bytes.length)
    const act = () => {
      if (to.mode === 'read') throw errnoError('EBADF', { call: 'write', path })
      file.write(bytes.subarray(0, length), position)
      return length
    }
    return this.#run(boot, operation, act, fault)
  }

  async #datasync(boot: number, path: string, handle: number, file: SimFile): Promise<void> {
    let end: () => void
    try {
      end = await this.#run(boot, { call: 'datasync', path, handle }, () => file.beginSync())
    } catch (error) {
      file.failSync()
      throw error
    }
    // Other calls run in between, and the machine may stop before the sync ends.
    for (let turns = this.#random.below(6); turns > 0; turns--) await undefined
    if (this.#stopped || boot !== this.#boot) return never()
    end()
  }

  #rename(from: string, to: string): void {
    const source = this.#directory(dirname(from))
    const target = this.#directory(dirname(to))
    const node = source.get(basename(from))
    if (node === undefined) throw errnoError('ENOENT', { call: 'rename', path: from })
    if (source === target) source.rename(basename(from), basename(to), node)
    else {
      source.remove(basename(from))
      target.add(basename(to), node)
    }
  }

  #remove(path: string): void {
    const parent = this.#directory(dirname(path))
    const node = parent.get(basename(path))
    if (node === undefined) throw errnoError('ENOENT', { call: 'remove', path })
    if (!(node instanceof SimFile)) throw errnoError('EPERM', { call: 'remove', path })
    parent.remove(basename(path))
  }

  #removeTree(path: string): void {
    if (this.node(path) !== undefined) this.#directory(dirname(path)).remove(basename(path))
  }

  #link(existing: string, path: string): void {
    const node = this.node(existing)
    const parent = this.#directory(dirname(path))
    if (node === undefined) throw errnoError('ENOENT', { call: 'link', path: existing })
    if (!(node instanceof SimFile)) throw errnoError('EPERM', { call: 'link', path: existing })
    if (parent.get(basename(path)) !== undefined) throw errnoError('EEXIST', { call: 'link', path })
    parent.add(basename(path), node)
  }

  #makeDirectory(path: string): void {
    let directory = this.#root
    for (const part of partsOf(path)) {
      const found = directory.get(part)
      if (found instanceof SimFile) throw errnoError('ENOTDIR', { call: 'makeDirectory', path })
      const next = found ?? new SimDirectory()
      if (found === undefined) directory.add(part, next)
      directory = next
    }
  }

  #directory(path: string): SimDirectory {
    const node = this.node(path)
    if (node === undefined) throw errnoError('ENOENT', { call: 'list', path })
    if (!(node instanceof SimDirectory)) throw errnoError('ENOTDIR', { call: 'list', path })
    return node
  }
}

function partsOf(path: string): string[] {
  return normalize(path)
    .split('/')
    .filter((part) => part !== '' && part !== '.')
}

function never(): Promise<never> {
  return new Promise(() => undefined)
}
