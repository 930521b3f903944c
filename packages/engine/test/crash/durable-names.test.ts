// When a call of the engine has returned, every name that a start or a restore needs is durable: each file, link, rename, and folder below
// the data directory was followed by a sync of its folder.
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, dirname, join } from 'node:path'
import { openEngine } from '@annal/engine'
import type { Vfs } from '@annal/wal'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { backedUp, denseField, runRandomLife } from '../backup/rig.ts'
import { watchedVfs } from './watched-vfs.ts'

tap.setTimeout(120_000)
const seed = chosenSeed()

/** The names that no crash may lose, by folder. */
class Names {
  readonly #dataDir: string
  readonly #pending = new Map<string, Set<string>>()
  readonly vfs: Vfs

  constructor(dataDir: string) {
    this.#dataDir = dataDir
    const watched = watchedVfs(async ({ call, path }) => {
      if (call === 'sync') this.#pending.delete(path)
      else if (call === 'make') await this.#make(path)
      else if (call === 'create' || call === 'link') this.#add(path)
      else if (call === 'remove' || call === 'removeTree') this.#remove(path)
    })
    this.vfs = {
      ...watched,
      rename: async (from, to) => {
        const within = [...this.#pending].filter(([dir]) => dir === from || dir.startsWith(`${from}/`))
        this.#remove(from)
        for (const [dir, names] of within) this.#pending.set(to + dir.slice(from.length), names)
        this.#add(to)
        await watched.rename(from, to)
      },
    }
  }

  /** The names that must be durable and are not yet. */
  unsynced(): string[] {
    const paths = [...this.#pending].flatMap(([dir, names]) => [...names].map((name) => join(dir, name)))
    return paths.filter((path) => !mayBeLost(path.slice(this.#dataDir.length + 1)))
  }

  async #make(path: string): Promise<void> {
    if (path.length <= this.#dataDir.length) return
    await this.#make(dirname(path))
    const there = await readdir(dirname(path)).catch((): string[] => [])
    if (!there.includes(basename(path))) this.#add(path)
  }

  #add(path: string): void {
    const names = this.#pending.get(dirname(path)) ?? new Set()
    this.#pending.set(dirname(path), names.add(basename(path)))
  }

  #remove(path: string): void {
    this.#pending.get(dirname(path))?.delete(basename(path))
    for (const dir of this.#pending.keys()) if (dir === path || dir.startsWith(`${path}/`)) this.#pending.delete(dir)
  }
}

/** Links of checkpoints and files that a start restores, incomplete files, and the lock, which lives as long as its process. */
function mayBeLost(path: string): boolean {
  return /^(originals|LOCK)/.test(path) || path.endsWith('.tmp') || /(^|\/)tmp-/.test(path)
}

test(`every name is durable when the call that created it returns, seed ${seed}`, async (t) => {
  const dataDir = join(await mkdtemp(join(tmpdir(), 'annal-names-')), 'deep', 'data')
  t.teardown(() => rm(dirname(dirname(dataDir)), { recursive: true }))
  const names = new Names(dataDir)
  const random = seededRandom(seed)
  const settled = (what: string) => t.same(names.unsynced(), [], what)
  for (let start = 0; start < 4; start++) {
    const archive = { maxBytes: 1e12, maxAgeMs: 1e12 }
    const engine = await openEngine({ dataDir, threads: 1, archive }, { vfs: names.vfs })
    settled('open')
    const database = engine.database()
    if (start === 0) await database.createCollection({ name: 'a', fields: [denseField()] })
    const collection = database.collection('a')
    await runRandomLife(collection, random, 10)
    settled('writes')
    await backedUp(database, 'a', `kept${start}`)
    settled('backup')
    await engine.checkpoint()
    settled('checkpoint')
    await database.backups.clone('a', 'b')
    settled('clone')
    await database.backups.restore(`kept${start}`, 'c')
    settled('restore')
    for (const name of ['b', 'c']) await database.deleteCollection(name)
    await runRandomLife(collection, random, 3)
    await engine.checkpoint()
    settled('another checkpoint')
    if (start > 1) await database.backups.remove('kept0').catch(() => undefined)
    settled('remove')
    await engine.close()
    settled('close')
  }
  t.ok((await readdir(join(dataDir, 'archive', 'wal'))).length > 0, 'segments were archived')
  t.ok((await readdir(join(dataDir, 'archive', 'checkpoints'))).length > 0, 'and checkpoints')
})
