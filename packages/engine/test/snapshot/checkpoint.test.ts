// One checkpoint after another of real replicas on a real disk: which files are written, linked and kept, in which order the disk is
// called, and how a collection is loaded and its files of original vectors are repaired.
import { mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { basename, join, relative } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import { openWorkerPool, type WorkerPool } from '@annal/engine/testing'
import { SteadyPace, type Vfs } from '@annal/wal'
import { type Test, test } from 'tap'
import { Catalog } from '../../src/catalog/catalog.ts'
import type { CollectionEntry } from '../../src/catalog/catalog-state.ts'
import type { EngineError } from '../../src/errors.ts'
import type { FieldSchema } from '../../src/model/schema.ts'
import { Replica } from '../../src/replica/replica.ts'
import { WriteGate } from '../../src/replica/write-gate.ts'
import { KeyTable } from '../../src/requests/key-table.ts'
import {
  type Checkpoint,
  type CheckpointCollection,
  type CheckpointPlace,
  type CheckpointWork,
  Damage,
} from '../../src/snapshot/checkpoint.ts'
import { findCheckpoints } from '../../src/snapshot/find-checkpoints.ts'
import { loadCollection } from '../../src/snapshot/load-collection.ts'
import { type ManifestCollection, manifestName, writeManifest } from '../../src/snapshot/manifest.ts'
import { removeDropped, sweepTemporary } from '../../src/snapshot/remove-checkpoints.ts'
import { RequestKeysCut } from '../../src/snapshot/request-keys-cut.ts'
import { lsnsPart } from '../../src/snapshot/snapshot-format.ts'
import { writeCheckpoint } from '../../src/snapshot/write-checkpoint.ts'
import { type DurableCall, watchedVfs } from '../crash/watched-vfs.ts'
import { hashSeed } from '../memory/rig.ts'

const directory = '00000000-0000-4000-8000-000000000001'
const fields: readonly FieldSchema[] = [
  { kind: 'sparse', name: 's', params: { model: 'default', dimension: 100 } },
  {
    kind: 'dense',
    name: 'v',
    params: { dimension: 4, spaceType: 'l2', precision: 'int8', M: 4, efConstruction: 8, rules: 3 },
  },
]

let pool: WorkerPool
test('a pool for all of them', async () => {
  pool = await openWorkerPool({ threads: 1 })
})

class World {
  readonly root: string
  readonly place: CheckpointPlace
  readonly calls: string[] = []
  readonly damage = new Damage()
  readonly progress: [number, number][] = []
  /** Calls to the disk that began and did not end. */
  underWay = 0
  most = 0
  /** Fails the calls that it throws for. */
  fault: (call: DurableCall) => void = () => undefined

  constructor(root: string, archive: boolean) {
    this.root = root
    this.place = {
      vfs: this.#countingVfs(),
      dir: join(root, 'data', 'checkpoints'),
      originalsDir: join(root, 'data', 'originals'),
      directory: () => directory,
      ...(archive && { archiveDir: join(root, 'data', 'archive') }),
    }
  }

  #countingVfs(): Vfs {
    const inner = watchedVfs(async (call) => {
      this.calls.push(`${call.call} ${relative(join(this.root, 'data'), call.path)}`)
      this.fault(call)
      await setImmediate()
    })
    const counted =
      <A extends unknown[], R>(act: (...args: A) => Promise<R>) =>
      async (...args: A): Promise<R> => {
        this.most = Math.max(this.most, ++this.underWay)
        try {
          return await act(...args)
        } finally {
          this.underWay--
        }
      }
    return {
      ...inner,
      async open(path, mode) {
        const file = await (mode === 'create' ? counted(inner.open) : inner.open)(path, mode)
        return { ...file, write: counted(file.write), datasync: counted(file.datasync) }
      },
      rename: counted(inner.rename),
      remove: counted(inner.remove),
      removeTree: counted(inner.removeTree),
      link: counted(inner.link),
      makeDirectory: counted(inner.makeDirectory),
      syncDirectory: counted(inner.syncDirectory),
    }
  }

  async take(
    lsn: number,
    collections: readonly CheckpointCollection[],
    previous?: Checkpoint,
    changes: Partial<CheckpointWork> & { readonly entries?: readonly CollectionEntry[] } = {},
  ): Promise<{ readonly checkpoint: Checkpoint; readonly lsnNotNeeded: number }> {
    const entries = changes.entries ?? collections.map(({ entry }) => entry)
    const catalog = { ...new Catalog().state(), collections: entries }
    this.progress.length = 0
    const keys = new RequestKeysCut(new KeyTable({ max: 1, maxAgeMs: 1 }), undefined)
    return writeCheckpoint(this.place, { lsn, timeMs: lsn * 10, catalog, collections, keys }, previous, {
      pace: new SteadyPace({ hurried: true }),
      damage: this.damage,
      isLogWhole: false,
      onProgress: (done, total) => this.progress.push([done, total]),
      syncLog: async () => undefined,
      ...changes,
    })
  }

  async load(checkpoint: Checkpoint, entry: CollectionEntry, trouble: string[] = []): Promise<Replica | undefined> {
    return loadCollection(this.place, checkpoint, entry, { pool, onTrouble: (sentence) => trouble.push(sentence) })
  }
}

async function openWorld(t: Test, archive = false): Promise<World> {
  const root = await mkdtemp(join(tmpdir(), 'annal-checkpoint-'))
  t.teardown(() => rm(root, { recursive: true }))
  const world = new World(root, archive)
  for (const dir of [join(root, 'data'), world.place.dir, world.place.originalsDir])
    await world.place.vfs.makeDirectory(dir)
  world.calls.length = 0
  world.most = 0
  return world
}

function entryOf(id: number): CollectionEntry {
  return { id, databaseId: 1, definition: { name: `c${id}`, fields }, createdAtMs: 0, lsnCreated: 1, hashSeed }
}

/** A collection of three objects whose newest record is `lsn`. */
async function openCollection(t: Test, { place }: World, id: number, lsn: number): Promise<CheckpointCollection> {
  const { vfs, originalsDir: dir } = place
  const originals = { vfs, dir, directory: () => directory }
  const entry = entryOf(id)
  const host = { seed: hashSeed, pool, originals, lsn: 0, generation: 0 }
  const replica = await Replica.empty(id, entry.definition, host)
  t.teardown(() => replica.close())
  await write(replica, lsn)
  return { entry, recovering: replica, gate: new WriteGate() }
}

async function write(replica: Replica, lsn: number): Promise<void> {
  const objects = Uint32Array.of(0, 1, 2)
  await replica.apply(lsn, {
    kind: 'objects-upserted',
    timeMs: lsn,
    collectionId: replica.id,
    ids: ['a', 'b', `${lsn}`],
    metas: [new Uint8Array([1, 2]), new Uint8Array(), new Uint8Array()],
    filters: ['{"a":1}', '', `{"lsn":${lsn}}`],
    dense: [
      {
        field: 1,
        objects,
        vectors: Float32Array.from({ length: 12 }, (_, i) => i / lsn),
        norms: new Float32Array(3).fill(1),
      },
    ],
    sparse: [
      {
        field: 0,
        objects,
        counts: Uint32Array.of(1, 1, 1),
        indices: Uint32Array.of(1, 2, 3),
        values: Float32Array.of(1, 2, 3),
      },
    ],
    multi: [],
    text: [],
  })
}

function quarantined({ entry, gate }: CheckpointCollection): CheckpointCollection {
  return { entry, recovering: undefined, gate }
}

const snapshots = (id: number) => [
  ...[0, 1, 2].map((part) => `collection-${id}-part-${part}.snap`),
  `collection-${id}-lsns.snap`,
]
const original = (id: number) => `collection-${id}-generation-0-field-1-chunk-0.f32`
const filesOf = (id: number) => [...snapshots(id), original(id)].sort()

async function inodes(path: string, names: readonly string[]): Promise<number[]> {
  return Promise.all(names.map(async (name) => (await stat(join(path, name))).ino))
}

test('a checkpoint is durable in this order: its files, its manifest, its folder, the name of its folder', async (t) => {
  const world = await openWorld(t)
  const collection = await openCollection(t, world, 1, 5)
  world.calls.length = 0
  world.most = 0
  const { checkpoint, lsnNotNeeded } = await world.take(7, [collection])
  t.strictSame([world.underWay, world.most], [0, 1], 'one call after another, and none is left')
  t.equal(lsnNotNeeded, 0)
  const name = basename(checkpoint.path)
  t.match(name, /^00000000000000000007-[0-9a-f]{8}$/)
  const temporary = `checkpoints/tmp-${name}`
  const durable = world.calls.filter((call) => !call.startsWith('write '))
  t.strictSame(durable, [
    `make ${temporary}`,
    ...snapshots(1).flatMap((file) => [`create ${temporary}/${file}`, `datasync ${temporary}/${file}`]),
    `datasync originals/${original(1)}`,
    `link ${temporary}/${original(1)}`,
    `create ${temporary}/${manifestName}.tmp`,
    `datasync ${temporary}/${manifestName}.tmp`,
    `rename ${temporary}/${manifestName}`,
    `sync ${temporary}`,
    `sync ${temporary}`,
    `rename checkpoints/${name}`,
    'sync checkpoints',
    'sync ',
  ])
  t.strictSame(await readdir(world.place.dir), [name])
  t.strictSame((await readdir(checkpoint.path)).sort(), [...filesOf(1), manifestName].sort())
  t.strictSame(world.progress, [[1, 1]])
  // Nothing of the replica is pinned any more.
  await collection.recovering?.pins.until(Number.POSITIVE_INFINITY)

  const { manifest } = checkpoint
  t.match(manifest, { directory, name, lsn: 7, timeMs: 70, catalog: { collections: [{ id: 1 }] } })
  t.equal(manifest.collections.length, 1)
  t.match(manifest.collections[0], { id: 1, lsn: 5, fields, originals: [original(1)], originalBytes: [64 + 3 * 24] })
  t.match(manifest.collections[0]?.originalProofs, [{ directory, collectionId: 1, chain: /^[0-9a-f]{16}$/ }])
  t.strictSame(
    manifest.collections[0]?.files.map(({ name: file, part }) => [file, part]),
    snapshots(1).map((file, part) => [file, part < 3 ? part : lsnsPart]),
  )
  t.strictSame((await findCheckpoints(world.place)).good, [checkpoint])
})

test('files of an unchanged collection are linked, those of a changed one written', async (t) => {
  const world = await openWorld(t)
  const [same, changed] = [await openCollection(t, world, 1, 5), await openCollection(t, world, 2, 6)]
  const { checkpoint: first } = await world.take(6, [same, changed])
  await write(changed.recovering as Replica, 8)
  world.most = 0
  const { checkpoint: second, lsnNotNeeded } = await world.take(8, [same, changed], first)
  t.strictSame([world.underWay, world.most], [0, 1])
  t.equal(lsnNotNeeded, 6)
  t.strictSame(await inodes(second.path, filesOf(1)), await inodes(first.path, filesOf(1)))
  for (const [i, inode] of (await inodes(second.path, snapshots(2))).entries())
    t.not(inode, (await inodes(first.path, snapshots(2)))[i])
  t.strictSame(second.manifest.collections[0], first.manifest.collections[0])
  t.strictSame(
    second.manifest.collections.map(({ id, lsn }) => [id, lsn]),
    [
      [1, 5],
      [2, 8],
    ],
  )
  t.strictSame(world.progress, [
    [1, 2],
    [2, 2],
  ])
})

test('a collection is written again while an event of it waits to be applied, and when its snapshot is damaged', async (t) => {
  const world = await openWorld(t)
  const collection = await openCollection(t, world, 1, 5)
  const { checkpoint: first } = await world.take(5, [collection])
  const inodesOfFirst = await inodes(first.path, snapshots(1))
  const waiting = Promise.withResolvers<void>()
  const queued = collection.gate.queue(1, () => waiting.promise)
  const taking = world.take(6, [collection], first)
  // The checkpoint waits for its turn behind that event.
  while (collection.gate.pending.events < 2) await setImmediate()
  waiting.resolve()
  await queued
  const { checkpoint: second } = await taking
  const inodesOfSecond = await inodes(second.path, snapshots(1))
  t.strictNotSame(inodesOfSecond, inodesOfFirst)

  t.notOk(world.damage.has(second))
  world.damage.add(second, 2)
  t.strictSame(
    [world.damage.has(second), world.damage.has(second, 1), world.damage.has(second, 2)],
    [true, false, true],
  )
  const { checkpoint: third } = await world.take(7, [collection], second)
  t.strictSame(await inodes(third.path, snapshots(1)), inodesOfSecond, 'another is damaged')
  world.damage.add(third, 3)
  world.damage.add(third, 1)
  t.ok(world.damage.has(third, 3))
  const { checkpoint: fourth } = await world.take(8, [collection], third)
  t.strictNotSame(await inodes(fourth.path, snapshots(1)), inodesOfSecond)
})

test('a collection with a missing file is written again, with none of the old files', async (t) => {
  const world = await openWorld(t)
  const collection = await openCollection(t, world, 1, 5)
  const { checkpoint: first } = await world.take(5, [collection])
  await rm(join(first.path, snapshots(1)[2] as string))
  const old = await inodes(first.path, snapshots(1).slice(0, 2))
  world.most = 0
  const { checkpoint: second } = await world.take(6, [collection], first)
  t.strictSame([world.underWay, world.most], [0, 1])
  t.strictSame((await readdir(second.path)).sort(), [...filesOf(1), manifestName].sort())
  for (const [i, inode] of (await inodes(second.path, snapshots(1).slice(0, 2))).entries()) t.not(inode, old[i])
  t.equal((await world.load(second, collection.entry))?.count, 3)
})

test('the files that are left of a collection in quarantine stay in every checkpoint, and the log stays', async (t) => {
  const world = await openWorld(t)
  const collection = await openCollection(t, world, 1, 5)
  const { checkpoint: first } = await world.take(5, [collection])
  await rm(join(first.path, snapshots(1)[0] as string))
  world.damage.add(first, 1)
  world.most = 0
  const { checkpoint: second, lsnNotNeeded } = await world.take(6, [quarantined(collection)], first, {
    isLogWhole: true,
  })
  t.strictSame([world.underWay, world.most], [0, 1])
  t.equal(lsnNotNeeded, 0)
  t.strictSame(
    (await readdir(second.path)).sort(),
    [...filesOf(1).filter((name) => name !== snapshots(1)[0]), manifestName].sort(),
  )
  // What came after the first one is replayed when it can be loaded again.
  const left = first.manifest.collections.map((one) => ({ ...one, lsnHeld: 5 }))
  t.strictSame(second.manifest.collections, left)
  const { checkpoint: third, lsnNotNeeded: stillNeeded } = await world.take(7, [quarantined(collection)], second)
  t.equal(stillNeeded, 0, 'it may be rebuilt from all records')
  t.strictSame(third.manifest.collections, left)
  const { checkpoint: fourth } = await world.take(8, [quarantined(collection)])
  t.strictSame(fourth.manifest.collections, [], 'without a checkpoint before it there is nothing to keep')
})

test('a checkpoint that fails leaves nothing behind, whatever call to the disk fails', async (t) => {
  const world = await openWorld(t)
  const [one, two] = [await openCollection(t, world, 1, 5), await openCollection(t, world, 2, 5)]
  const { checkpoint: first } = await world.take(5, [one, two])
  await write(two.recovering as Replica, 6)
  for (const call of ['link', 'create', 'datasync'] as const)
    for (const collection of [one, quarantined(one)]) {
      world.fault = (made) => {
        if (made.call === call && made.path.includes('tmp-'))
          throw Object.assign(new Error(`EDQUOT: ${call}`), { code: 'EDQUOT' })
      }
      await t.rejects(world.take(6, [collection, two], first), { message: `EDQUOT: ${call}` })
      t.equal(world.underWay, 0)
      t.strictSame(await readdir(world.place.dir), [basename(first.path)], `${call} fails`)
    }
  world.fault = ({ call }) => {
    if (call === 'datasync' || call === 'removeTree') throw new Error(`EIO: ${call}`)
  }
  await t.rejects(world.take(6, [one, two], first), { message: 'EIO: datasync' }, 'not what the removal failed with')
  world.fault = () => undefined
  t.equal((await readdir(world.place.dir)).filter((name) => name.startsWith('tmp-')).length, 1)
  await sweepTemporary(world.place)
  t.equal(world.underWay, 0)
  t.strictSame(await readdir(world.place.dir), [basename(first.path)])
  await world.take(6, [one, two], first)
})

test('a manifest of an earlier format receives the proofs of its files of original vectors', async (t) => {
  const world = await openWorld(t)
  const collection = await openCollection(t, world, 1, 5)
  let { checkpoint } = await world.take(5, [collection])
  const [listed] = checkpoint.manifest.collections as [ManifestCollection]
  const { originalProofs: _, ...withoutProofs } = listed
  const { originalBytes: __, ...withoutLengths } = withoutProofs
  // A file of version 1, which proves by its checksums that it is the one.
  const read: unknown[] = []
  const originals = [
    undefined,
    {
      async listed(file: object) {
        read.push(file)
        return { ...file, proof: { marks: '0123456789abcdef' } }
      },
    },
  ]
  const recovering = { lsnApplied: 5, originals } as unknown as Replica
  const takeAfter = async (before: ManifestCollection) => {
    const previous = { ...checkpoint, manifest: { ...checkpoint.manifest, collections: [before] } }
    const lsn = checkpoint.manifest.lsn + 1
    ;({ checkpoint } = await world.take(lsn, [{ ...collection, recovering }], previous))
    return checkpoint.manifest.collections[0]
  }
  const marked = { ...withoutProofs, originalProofs: [{ marks: '0123456789abcdef' }] }
  t.strictSame(await takeAfter(withoutProofs), marked)
  t.match(read, [{ name: original(1), field: 1, chunk: 0, bytes: listed.originalBytes?.[0] }])
  t.strictSame(await takeAfter(marked), marked)
  t.strictSame(await takeAfter(withoutLengths), withoutLengths, 'without lengths there is nothing to prove')
  t.equal(read.length, 1)
  originals.pop()
  t.strictSame(await takeAfter(withoutProofs), { ...withoutProofs, originalProofs: [null] }, 'unknown stays unknown')
})

test('checkpoints of another directory, of another name, and damaged ones are found and not used', async (t) => {
  const world = await openWorld(t)
  const { vfs, dir } = world.place
  t.strictSame(await findCheckpoints({ ...world.place, dir: join(dir, 'absent') }), { good: [], damaged: [] })
  const { checkpoint } = await world.take(5, [])
  const { checkpoint: newer } = await world.take(8, [])
  t.strictSame((await findCheckpoints(world.place)).good, [newer, checkpoint], 'newest first')

  const stranger = '00000000-0000-4000-8000-000000000002'
  const other = await findCheckpoints({ ...world.place, directory: () => stranger })
  t.strictSame(other.good, [])
  const message = `is not used: it is a checkpoint of directory ${directory}, but this is directory ${stranger}`
  t.match(other.damaged, [{ path: newer.path, message: `${newer.path} ${message}`, isLost: false }, { isLost: false }])
  t.equal((await findCheckpoints({ ...world.place, directory: () => undefined })).good.length, 2, 'while it is unknown')

  const renamed = join(dir, '00000000000000000009-00000000')
  await rename(newer.path, renamed)
  const moved = await findCheckpoints(world.place)
  t.strictSame(moved.good, [checkpoint])
  t.match(moved.damaged, [
    { path: renamed, message: new RegExp(`belongs to checkpoint ${basename(newer.path)}`), isLost: false },
  ])
  const { name: _, directory: __, ...oldest } = newer.manifest
  await writeManifest(vfs, join(renamed, manifestName), oldest)
  t.equal((await findCheckpoints(world.place)).good.length, 2, 'the oldest manifests have neither')

  const manifest = await readFile(join(checkpoint.path, manifestName), 'utf8')
  await writeFile(join(checkpoint.path, manifestName), manifest.replace('"lsn"', '"LSN"'))
  await writeFile(join(renamed, manifestName), manifest.replace(/"format":\d+/, '"format":99'))
  await writeFile(join(dir, 'a file of somebody'), '')
  const damaged = await findCheckpoints(world.place)
  t.strictSame(
    damaged.damaged.map(({ path, isLost }) => [path, isLost]),
    [
      [renamed, false],
      [checkpoint.path, true],
    ],
  )
  t.match(damaged.damaged[1]?.message, /wrong checksum/)
  const refusing = { ...vfs, open: async () => Promise.reject(Object.assign(new Error('EACCES'), { code: 'EACCES' })) }
  await t.rejects(findCheckpoints({ ...world.place, vfs: refusing }), { message: 'EACCES' }, 'no fault of the file')
})

test('a loaded collection equals the written one, and one that the checkpoint does not hold is not', async (t) => {
  const world = await openWorld(t)
  const [one, two] = [await openCollection(t, world, 1, 5), await openCollection(t, world, 2, 6)]
  const { checkpoint } = await world.take(6, [one, two])
  t.equal(await world.load(checkpoint, entryOf(3)), undefined)
  for (const { entry, recovering } of [one, two]) {
    const loaded = (await world.load(checkpoint, entry)) as Replica
    t.teardown(() => loaded.close())
    t.equal(loaded.digest(), recovering?.digest())
    t.equal(loaded.lsnApplied, recovering?.lsnApplied)
  }
  await rm(world.place.originalsDir, { recursive: true })
  world.most = 0
  const again = (await world.load(checkpoint, two.entry)) as Replica
  t.teardown(() => again.close())
  t.strictSame([world.underWay, world.most], [0, 1])
  t.strictSame(await readdir(world.place.originalsDir), [original(2)], 'its files are linked again')
  t.strictSame(await inodes(world.place.originalsDir, [original(2)]), await inodes(checkpoint.path, [original(2)]))
  await rm(join(world.place.originalsDir, original(2)))
  await rm(join(checkpoint.path, original(2)))
  await t.rejects(world.load(checkpoint, two.entry), { code: 'snapshot_damaged' })
})

test('a damaged snapshot is reported with its file', async (t) => {
  const world = await openWorld(t)
  const collection = await openCollection(t, world, 1, 5)
  const { checkpoint } = await world.take(6, [collection])
  for (const name of snapshots(1)) {
    const path = join(checkpoint.path, name)
    const bytes = await readFile(path)
    await writeFile(
      path,
      bytes.map((byte, i) => (i === bytes.length - 1 ? byte ^ 1 : byte)),
    )
    await t.rejects(world.load(checkpoint, collection.entry), { code: 'snapshot_damaged', details: { file: path } })
    await writeFile(path, bytes)
    await rename(path, `${path}.away`)
    await t.rejects(world.load(checkpoint, collection.entry), { code: 'snapshot_damaged', details: { file: path } })
    await rename(`${path}.away`, path)
    const files = checkpoint.manifest.collections[0]?.files.filter((file) => file.name !== name)
    const unlisted = [{ ...checkpoint.manifest.collections[0], files }] as Checkpoint['manifest']['collections']
    const shorter = { ...checkpoint, manifest: { ...checkpoint.manifest, collections: unlisted } }
    // Checkpoints of earlier versions have no LSNs.
    if (name.endsWith('-lsns.snap')) await (await world.load(shorter, collection.entry))?.close()
    else await t.rejects(world.load(shorter, collection.entry), { code: 'snapshot_damaged', details: { file: path } })
  }
})

test('a file of original vectors that is not the one of the checkpoint is kept under another name, and the linked one replaces it', async (t) => {
  const world = await openWorld(t)
  const collection = await openCollection(t, world, 1, 5)
  const { checkpoint } = await world.take(6, [collection])
  await collection.recovering?.close()
  const live = join(world.place.originalsDir, original(1))
  const held = join(checkpoint.path, original(1))
  const bytes = await readFile(held)
  const wrong = bytes.map((byte, i) => (i === 20 ? byte ^ 1 : byte))
  for (const refused of [undefined, 'an earlier one']) {
    await rm(live)
    await writeFile(live, wrong)
    if (refused !== undefined) await writeFile(`${live}.refused`, refused)
    const trouble: string[] = []
    world.most = 0
    const loaded = (await world.load(checkpoint, collection.entry, trouble)) as Replica
    t.strictSame([world.underWay, world.most], [0, 1])
    t.equal(loaded.count, 3)
    await loaded.close()
    t.equal(trouble.length, 1)
    t.match(trouble[0], `it is kept as ${original(1)}.refused, and the file linked in ${checkpoint.path} replaces it`)
    t.ok((await readFile(`${live}.refused`)).equals(wrong))
    t.strictSame(await inodes(world.place.originalsDir, [original(1)]), await inodes(checkpoint.path, [original(1)]))
    await rm(`${live}.refused`)
  }

  await rm(live)
  await writeFile(live, wrong)
  await writeFile(held, wrong)
  const trouble: string[] = []
  const failed = await world.load(checkpoint, collection.entry, trouble).catch((error: EngineError) => error)
  t.match(failed, { code: 'snapshot_damaged', details: { file: live } })
  t.strictSame(trouble, [], 'a damaged link replaces nothing')
  t.notOk(await world.place.vfs.exists(`${live}.refused`))
})

test('files of deleted collections leave a checkpoint after its manifest names them no more', async (t) => {
  const world = await openWorld(t)
  const [one, two] = [await openCollection(t, world, 1, 5), await openCollection(t, world, 2, 6)]
  const { checkpoint } = await world.take(6, [one, two])
  const { vfs } = world.place
  const unchanged = await removeDropped(vfs, checkpoint, () => false)
  t.equal(unchanged.manifest, checkpoint.manifest)
  await rm(join(checkpoint.path, original(1)))
  world.calls.length = 0
  world.most = 0
  const updated = await removeDropped(vfs, checkpoint, (id) => id === 1)
  t.strictSame([world.underWay, world.most], [0, 1])
  const folder = `checkpoints/${basename(checkpoint.path)}`
  const durable = world.calls.filter((call) => /^(rename|remove) /.test(call))
  t.strictSame(durable, [
    `rename ${folder}/${manifestName}`,
    ...[...snapshots(1), original(1)].map((name) => `remove ${folder}/${name}`),
  ])
  t.strictSame((await readdir(checkpoint.path)).sort(), [...filesOf(2), manifestName].sort())
  t.equal(updated.path, checkpoint.path)
  t.strictSame((await findCheckpoints(world.place)).good, [updated])
  t.strictSame(
    updated.manifest.collections.map(({ id }) => id),
    [2],
  )
  world.fault = ({ call }) => {
    if (call === 'remove') throw Object.assign(new Error('EIO'), { code: 'EIO' })
  }
  await t.rejects(
    removeDropped(vfs, updated, () => true),
    { message: 'EIO' },
  )
})

test('the older of two checkpoints loses the files of collections that are deleted, without an archive', async (t) => {
  for (const archive of [false, true]) {
    const world = await openWorld(t, archive)
    const [one, two] = [await openCollection(t, world, 1, 5), await openCollection(t, world, 2, 6)]
    const { checkpoint: first } = await world.take(6, [one, two])
    const { checkpoint: second, lsnNotNeeded } = await world.take(8, [two], first)
    t.equal(lsnNotNeeded, 6)
    const left = archive ? [...filesOf(1), ...filesOf(2)] : filesOf(2)
    t.strictSame((await readdir(first.path)).sort(), [...left, manifestName].sort())
    // Only one of two living collections is in the older checkpoint.
    const { lsnNotNeeded: needed } = await world.take(9, [two], second, { entries: [entryOf(1), entryOf(2)] })
    t.equal(needed, 8)
    const { lsnNotNeeded: all } = await world.take(10, [two], second, { entries: [entryOf(1), entryOf(2)] })
    t.equal(all, 0, 'the older one has a collection in its catalog that it does not hold')
  }
})

test('an old checkpoint is renamed before it is removed, and durably in the archive before it is gone', async (t) => {
  for (const archive of [false, true]) {
    const world = await openWorld(t, archive)
    const { checkpoint: first } = await world.take(5, [])
    await world.take(6, [])
    world.calls.length = 0
    world.most = 0
    await world.take(7, [])
    t.strictSame([world.underWay, world.most], [0, 1])
    const name = basename(first.path)
    const after = world.calls.slice(world.calls.indexOf('sync ') + 1)
    if (archive) {
      t.strictSame(after, ['make archive', 'sync ', `rename archive/${name}`, 'sync archive', 'sync checkpoints'])
      t.strictSame(await readdir(join(world.root, 'data', 'archive')), [name])
    } else
      t.strictSame(after, [`rename checkpoints/tmp-${name}`, 'sync checkpoints', `removeTree checkpoints/tmp-${name}`])
    t.equal((await readdir(world.place.dir)).length, 2)
  }
})

test('unfinished checkpoints are removed at a start, and nothing else', async (t) => {
  const world = await openWorld(t)
  await sweepTemporary({ ...world.place, dir: join(world.root, 'absent') })
  const { checkpoint } = await world.take(5, [])
  await world.place.vfs.makeDirectory(join(world.place.dir, 'tmp-00000000000000000006-00000000'))
  await writeFile(join(world.place.dir, 'tmp-00000000000000000006-00000000', 'a'), 'b')
  world.most = 0
  await sweepTemporary(world.place)
  t.strictSame([world.underWay, world.most], [0, 1])
  t.strictSame(await readdir(world.place.dir), [basename(checkpoint.path)])
})

test('the pool ends', async () => pool.close())
