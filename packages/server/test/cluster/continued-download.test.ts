// A snapshot whose download is interrupted: the next attempt keeps every part that is there and has its sum, and asks the store for the rest.
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { nodeVfs } from '@annal/wal'
import { StoreUnavailable } from '@annal/wal/replicated'
import { type Test, test } from 'tap'
import { putFileSet } from '../../src/cluster/file-sets.ts'
import type { SharedStore } from '../../src/cluster/shared-store.ts'
import { loadSnapshot, snapshotsFolder } from '../../src/cluster/snapshots/load-snapshot.ts'
import type { Roster } from '../../src/cluster/snapshots/roster.ts'
import type { Snapshot, SnapshotIndex, SnapshotList } from '../../src/cluster/snapshots/snapshot-index.ts'
import { temporaryDirectory } from '../running-app.ts'

const vfs = nodeVfs()
const uuid = '0a0b0c0d-0e0f-4011-8000-000000000000'
const partBytes = 1000

/** A store in memory, which fails after some reads. */
class MemoryStore implements SharedStore {
  readonly at = 'memory'
  readonly objectBytesMax = partBytes
  readonly objects = new Map<string, Uint8Array>()
  /** Keys of parts that were read. */
  read: string[] = []
  readsLeft = Number.POSITIVE_INFINITY

  checkRoom = async () => undefined

  async put(key: string, bytes: Uint8Array): Promise<'stored' | 'exists'> {
    if (this.objects.has(key)) return 'exists'
    this.objects.set(key, Buffer.from(bytes))
    return 'stored'
  }

  async get(key: string): Promise<Uint8Array | undefined> {
    if (/\/\d{20}-/.test(key)) return this.objects.get(key)
    if (this.readsLeft-- <= 0) throw new StoreUnavailable('the store is away')
    this.read.push(key)
    return this.objects.get(key)
  }

  async has(key: string): Promise<boolean> {
    return this.objects.has(key)
  }

  async list(folder: string): Promise<string[]> {
    return [...this.objects.keys()].filter((key) => key.startsWith(folder))
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) this.objects.delete(key)
  }

  close = () => undefined
}

interface World {
  readonly store: MemoryStore
  readonly checkpoints: string
  readonly list: { snapshots: readonly Snapshot[] }
  /** Stores a snapshot of the files. */
  add(lsn: number, files: Readonly<Record<string, Buffer>>): Promise<string>
  load(): Promise<number>
}

async function start(t: Test): Promise<World> {
  const [store, dataDir, source] = [new MemoryStore(), await temporaryDirectory(t), await temporaryDirectory(t)]
  const list: World['list'] = { snapshots: [] }
  const index = {
    read: async () => ({ ...list, marks: [] }),
    async change(change: (before: SnapshotList) => SnapshotList) {
      list.snapshots = change({ ...list, marks: [] }).snapshots
    },
  } as unknown as SnapshotIndex
  const roster = { note: async () => undefined } as unknown as Roster
  return {
    ...{ store, list, checkpoints: path.join(dataDir, 'checkpoints') },
    async add(lsn, files) {
      const name = `${String(lsn).padStart(20, '0')}-0123abcd`
      const listed: { name: string; bytes: number }[] = []
      for (const [file, bytes] of Object.entries(files)) {
        await writeFile(path.join(source, file), bytes)
        listed.push({ name: file, bytes: bytes.length })
      }
      await putFileSet({ store, folder: snapshotsFolder('a'), name }, { vfs, dir: source, files: listed })
      const bytes = listed.reduce((sum, each) => sum + each.bytes, 0)
      list.snapshots = [...list.snapshots, { lsn, lsnReached: lsn, node: 'a', name, bytes, timeMs: lsn }]
      return name
    },
    async load() {
      let done = 0
      const onProgress = (progress: { readonly done: number }) => {
        done = progress.done
      }
      const parts = { dataDir, uuid, index, roster, shared: store, onProgress, checkWanted: () => undefined }
      await loadSnapshot(parts, { lsnFirst: 9, isNeeded: false })
      return done
    },
  }
}

function fileOf(parts: number, first: number): Buffer {
  return Buffer.concat(
    Array.from({ length: parts }, (_, i) => Buffer.alloc(i === parts - 1 ? 500 : partBytes, first + i)),
  )
}

test('an interrupted download continues with what is there and sound', async (t) => {
  const { store, checkpoints, add, load } = await start(t)
  const files = { 'a.snap': fileOf(5, 1), 'b.snap': fileOf(4, 20), 'c.snap': fileOf(2, 40) }
  const name = await add(10, files)
  store.readsLeft = 7
  await t.rejects(load(), { message: 'the store is away' })
  t.strictSame(await readdir(checkpoints), [`tmp-${name}`], 'what was loaded is kept')
  // The disk lost a part of the second file, and has garbage behind it.
  const second = path.join(checkpoints, `tmp-${name}`, 'b.snap')
  const held = await readFile(second)
  t.equal(held.length, 2 * partBytes)
  await writeFile(second, Buffer.concat([held.subarray(0, partBytes), Buffer.alloc(partBytes + 7)]))
  store.readsLeft = Number.POSITIVE_INFINITY
  store.read = []
  t.equal(await load(), 4500 + 3500 + 1500, 'progress counts what was there')
  t.equal(store.read.length, 3 + 2, 'only what is missing or damaged is read')
  t.strictSame(await readdir(checkpoints), [name])
  for (const [file, bytes] of Object.entries(files))
    t.ok((await readFile(path.join(checkpoints, name, file))).equals(bytes), file)
})

test('a begun snapshot is finished although there is a newer one, and given up when it is gone', async (t) => {
  const { store, checkpoints, list, add, load } = await start(t)
  const first = await add(10, { 'a.snap': fileOf(3, 1) })
  store.readsLeft = 1
  await t.rejects(load())
  await add(20, { 'a.snap': fileOf(3, 60) })
  store.readsLeft = 1
  await t.rejects(load())
  t.strictSame(await readdir(checkpoints), [`tmp-${first}`], 'the second attempt continued the first')
  list.snapshots = list.snapshots.slice(1)
  const [{ name }] = list.snapshots as [Snapshot]
  store.readsLeft = Number.POSITIVE_INFINITY
  store.read = []
  await load()
  t.equal(store.read.length, 3)
  t.strictSame(await readdir(checkpoints), [name])
})

test('a damaged part gives the snapshot up, with what was loaded of it', async (t) => {
  const { store, checkpoints, list, add, load } = await start(t)
  const good = await add(10, { 'a.snap': fileOf(2, 1) })
  await add(20, { 'a.snap': fileOf(2, 60) })
  const key = [...store.objects.keys()].filter((each) => !/\/\d{20}-/.test(each)).at(-1) ?? ''
  store.objects.set(key, Buffer.from('damaged'))
  await load()
  t.strictSame(await readdir(checkpoints), [good])
  t.strictSame(
    list.snapshots.map(({ lsn }) => lsn),
    [10],
  )
})
