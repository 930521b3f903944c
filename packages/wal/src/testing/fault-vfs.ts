// Wraps a Vfs and injects faults. A short write really writes the part.
import type { Vfs, VfsFile } from '../vfs.ts'
import { type DiskCall, errnoError, type Fault, type FaultPlan } from './fault.ts'

/** A Vfs whose calls fail as planned. */
export function faultVfs(inner: Vfs, plan: FaultPlan): Vfs {
  let handles = 0

  async function attempt<T>(call: DiskCall, path: string, act: () => Promise<T>): Promise<T> {
    fail(plan({ call, path, handle: 0, bytes: 0 }), call, path)
    return act()
  }

  return {
    async open(path, mode) {
      const file = await attempt('open', path, () => inner.open(path, mode))
      handles++
      return faultFile(file, path, handles, plan)
    },
    rename: (from, to) => attempt('rename', to, () => inner.rename(from, to)),
    remove: (path) => attempt('remove', path, () => inner.remove(path)),
    removeTree: (path) => attempt('removeTree', path, () => inner.removeTree(path)),
    link: (existing, path) => attempt('link', path, () => inner.link(existing, path)),
    makeDirectory: (path) => attempt('makeDirectory', path, () => inner.makeDirectory(path)),
    list: (path) => attempt('list', path, () => inner.list(path)),
    exists: (path) => attempt('exists', path, () => inner.exists(path)),
    syncDirectory: (path) => attempt('syncDirectory', path, () => inner.syncDirectory(path)),
    freeBytes: (path) => attempt('freeBytes', path, () => inner.freeBytes(path)),
  }
}

function faultFile(inner: VfsFile, path: string, handle: number, plan: FaultPlan): VfsFile {
  async function attempt<T>(call: DiskCall, act: () => Promise<T>): Promise<T> {
    fail(plan({ call, path, handle, bytes: 0 }), call, path)
    return act()
  }
  return {
    async write(bytes, position) {
      const fault = plan({ call: 'write', path, handle, bytes: bytes.length })
      if (fault !== undefined && 'short' in fault) {
        const part = bytes.subarray(0, Math.min(bytes.length, fault.short))
        return part.length === 0 ? 0 : inner.write(part, position)
      }
      fail(fault, 'write', path)
      return inner.write(bytes, position)
    },
    read: (bytes, position) => attempt('read', () => inner.read(bytes, position)),
    datasync: () => attempt('datasync', () => inner.datasync()),
    truncate: (size) => attempt('truncate', () => inner.truncate(size)),
    size: () => attempt('size', () => inner.size()),
    async close() {
      const fault = plan({ call: 'close', path, handle, bytes: 0 })
      // A descriptor is gone after close, even when close fails.
      await inner.close()
      fail(fault, 'close', path)
    },
  }
}

function fail(fault: Fault | undefined, call: DiskCall, path: string): void {
  if (fault !== undefined && 'errno' in fault) throw errnoError(fault.errno, { call, path })
}
