// The real disk with a hook: `before` is awaited before every call that changes durable state. It may wait, do other work, or end the
// process.
import { nodeVfs, type Vfs, type VfsFile } from '@annal/wal'

export interface DurableCall {
  readonly call:
    | 'create'
    | 'write'
    | 'datasync'
    | 'truncate'
    | 'rename'
    | 'remove'
    | 'removeTree'
    | 'link'
    | 'make'
    | 'sync'
  readonly path: string
}

export function watchedVfs(before: (call: DurableCall) => Promise<void>): Vfs {
  const inner = nodeVfs()
  const watched =
    <A extends unknown[]>(
      call: DurableCall['call'],
      act: (...args: A) => Promise<void>,
      path: (...args: A) => string,
    ) =>
    async (...args: A): Promise<void> => {
      await before({ call, path: path(...args) })
      await act(...args)
    }
  const first = (path: string): string => path
  const second = (_: string, path: string): string => path
  return {
    ...inner,
    async open(path, mode) {
      if (mode === 'create') await before({ call: 'create', path })
      return watchedFile(await inner.open(path, mode), path, before)
    },
    rename: watched('rename', inner.rename, second),
    remove: watched('remove', inner.remove, first),
    removeTree: watched('removeTree', inner.removeTree, first),
    link: watched('link', inner.link, second),
    makeDirectory: watched('make', inner.makeDirectory, first),
    syncDirectory: watched('sync', inner.syncDirectory, first),
  }
}

function watchedFile(inner: VfsFile, path: string, before: (call: DurableCall) => Promise<void>): VfsFile {
  return {
    ...inner,
    async write(bytes, position) {
      await before({ call: 'write', path })
      return inner.write(bytes, position)
    },
    async datasync() {
      await before({ call: 'datasync', path })
      await inner.datasync()
    },
    async truncate(size) {
      await before({ call: 'truncate', path })
      await inner.truncate(size)
    },
  }
}
