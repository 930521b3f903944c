// A machine with a simulated disk on which engines are started one after another.
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Engine, type EngineOptions, openEngine } from '@annal/engine'
import type { WorkerPool } from '@annal/engine/testing'
import type { Vfs } from '@annal/wal'
import { type Random, SimDisk } from '@annal/wal/testing'
import { eagerDeltas } from '../snapshot/eager-deltas.ts'

/** One disk, and a real empty directory for each start, because a stopped engine never releases its lock. */
export class World {
  readonly disk: SimDisk
  readonly #dir: string
  #starts = 0

  constructor(dir: string, random: Random) {
    this.#dir = dir
    this.disk = new SimDisk({ random })
  }

  async open(pool: WorkerPool, options: Omit<EngineOptions, 'dataDir'> = {}): Promise<Engine> {
    const base = join(this.#dir, `start-${this.#starts++}`)
    await mkdir(join(base, 'data'), { recursive: true })
    const vfs = below(this.disk.vfs(), base)
    await vfs.makeDirectory(join(base, 'data'))
    await vfs.syncDirectory(base)
    // Checkpoints of small collections contain only changes, too: their files are part of every stop.
    return openEngine({ dataDir: join(base, 'data'), ...options }, { vfs, pool, deltas: eagerDeltas })
  }

  /** Resolves when the machine has stopped. */
  async stopped(): Promise<'stopped'> {
    while (!this.disk.isStopped) await sleep(1)
    return 'stopped'
  }
}

/** Maps paths of the simulated disk, which do not have the real directory of this start. */
function below(inner: Vfs, base: string): Vfs {
  const relativePath = (path: string): string => path.slice(base.length) || '/'
  return {
    open: (path, mode) => inner.open(relativePath(path), mode),
    rename: (from, to) => inner.rename(relativePath(from), relativePath(to)),
    remove: (path) => inner.remove(relativePath(path)),
    removeTree: (path) => inner.removeTree(relativePath(path)),
    link: (existing, path) => inner.link(relativePath(existing), relativePath(path)),
    makeDirectory: (path) => inner.makeDirectory(relativePath(path)),
    list: (path) => inner.list(relativePath(path)),
    exists: (path) => inner.exists(relativePath(path)),
    syncDirectory: (path) => inner.syncDirectory(relativePath(path)),
    freeBytes: (path) => inner.freeBytes(relativePath(path)),
  }
}
