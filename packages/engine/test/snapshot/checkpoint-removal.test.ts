// Which checkpoints are removed after a new one, and how much of the log may go with them: there are always two ways back.
import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { nodeVfs, SteadyPace } from '@annal/wal'
import { type Test, test } from 'tap'
import { Catalog } from '../../src/catalog/catalog.ts'
import type { CollectionEntry } from '../../src/catalog/catalog-state.ts'
import { KeyTable } from '../../src/requests/key-table.ts'
import { type Checkpoint, type CheckpointPlace, Damage } from '../../src/snapshot/checkpoint.ts'
import { RequestKeysCut } from '../../src/snapshot/request-keys-cut.ts'
import { writeCheckpoint } from '../../src/snapshot/write-checkpoint.ts'

interface World {
  readonly damage: Damage
  /** Takes a checkpoint; the LSN that the log is not needed up to. */
  take(lsn: number, collections?: readonly CollectionEntry[], isLogWhole?: boolean): Promise<number>
  /** The checkpoint of an LSN. */
  taken(lsn: number): Checkpoint
  /** LSNs of the checkpoints that are kept, in ascending order. */
  kept(): Promise<readonly number[]>
}

async function openWorld(t: Test, archive = false): Promise<World> {
  const root = await mkdtemp(join(tmpdir(), 'annal-checkpoints-'))
  t.teardown(() => rm(root, { recursive: true }))
  const vfs = nodeVfs()
  const place: CheckpointPlace = {
    vfs,
    dir: join(root, 'checkpoints'),
    originalsDir: join(root, 'originals'),
    directory: () => undefined,
    ...(archive && { archiveDir: join(root, 'archive') }),
  }
  await vfs.makeDirectory(place.dir)
  const damage = new Damage()
  const all = new Map<number, Checkpoint>()
  return {
    damage,
    async take(lsn, collections = [], isLogWhole = false) {
      const catalog = { ...new Catalog().state(), collections }
      const pace = new SteadyPace({ hurried: true })
      const work = { pace, damage, isLogWhole, onProgress: () => undefined, syncLog: async () => undefined }
      const keys = new RequestKeysCut(new KeyTable({ max: 1, maxAgeMs: 1 }), undefined)
      const source = { lsn, timeMs: lsn, catalog, collections: [], keys }
      const { checkpoint, lsnNotNeeded } = await writeCheckpoint(place, source, undefined, work)
      all.set(lsn, checkpoint)
      return lsnNotNeeded
    },
    taken: (lsn) => all.get(lsn) as Checkpoint,
    kept: async () => (await readdir(place.dir)).map((name) => Number(name.split('-')[0])).sort((a, b) => a - b),
  }
}

test('two checkpoints are kept, and the log from the older one on', async (t) => {
  const { take, kept } = await openWorld(t)
  t.equal(await take(10), 0, 'with one checkpoint the whole log stays')
  t.equal(await take(20), 10)
  t.equal(await take(30), 20)
  t.strictSame(await kept(), [20, 30])
})

test('a damaged checkpoint is not a recovery path', async (t) => {
  const { take, taken, kept, damage } = await openWorld(t)
  await take(10)
  await take(20)
  damage.add(taken(20), 7)
  t.equal(await take(30), 10, 'the log stays from the older whole one on')
  t.strictSame(await kept(), [10, 30], 'and the damaged one goes, since there are two whole ones')
})

test('damaged checkpoints stay while there is one intact checkpoint, unless the log is complete', async (t) => {
  for (const isLogWhole of [false, true]) {
    const { take, taken, kept, damage } = await openWorld(t)
    await take(10)
    damage.add(taken(10), 7)
    t.equal(await take(20, [], isLogWhole), 0)
    t.strictSame(await kept(), isLogWhole ? [20] : [10, 20])
  }
})

test('the log stays complete for a collection that the older checkpoint does not contain', async (t) => {
  const { take } = await openWorld(t)
  // It is in the catalog and was not loaded when the checkpoints were taken.
  const entry = { id: 3, databaseId: 0, definition: { name: 'a', fields: [] }, createdAtMs: 0, lsnCreated: 1 }
  const missing = [{ ...entry, hashSeed: { low: 1, high: 2 } } as unknown as CollectionEntry]
  await take(10, missing)
  t.equal(await take(20, missing), 0)
  t.equal(await take(30), 20, 'a collection that is deleted since needs none of it')
})

test('an archive receives the checkpoints that recovery does not need', async (t) => {
  const { take, kept, taken } = await openWorld(t, true)
  for (const lsn of [10, 20, 30, 40]) await take(lsn)
  t.strictSame(await kept(), [30, 40])
  const archive = join(taken(10).path, '..', '..', 'archive')
  t.strictSame(
    (await readdir(archive)).map((name) => Number(name.split('-')[0])).sort((a, b) => a - b),
    [10, 20],
  )
})
