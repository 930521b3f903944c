// A backup holds everything: random collections of every kind are backed up, deleted and restored, and come out the same, also
// after a restart that loads them and one that replays the restore.

import { cp } from 'node:fs/promises'
import { join } from 'node:path'
import type { FieldDefinition } from '@annal/engine'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import tap, { test } from 'tap'
import { backedUp, denseField, openedEngine, precisions, runRandomLife, spaceTypes, temporaryDirectory } from './rig.ts'

const seed = chosenSeed()
const collections = process.env.ANNAL_LONG === '1' ? 100 : 8
tap.setTimeout(900_000)

function randomFields(index: number, random: Random): FieldDefinition[] {
  const precision = precisions[index % 5]
  const spaceType = spaceTypes[Math.floor(index / 5) % 3]
  const first = denseField('v', precision, spaceType)
  const kind = random.below(4)
  if (kind === 0) return [first]
  if (kind === 1) return [first, { name: 's', type: 'sparse' }]
  if (kind === 2) return [first, { ...denseField('m', precisions[random.below(5)]), type: 'multi_vector' }]
  return [
    first,
    { name: 's', type: 'sparse' },
    denseField('w', precisions[random.below(5)], spaceTypes[random.below(3)]),
  ]
}

test(`a restored backup equals the source bit for bit (ANNAL_SEED=${seed})`, async (t) => {
  const random = seededRandom(seed)
  const dataDir = await temporaryDirectory(t)
  let engine = await openedEngine(t, { dataDir })
  const digests = new Map<string, string>()
  for (let index = 0; index < collections; index++) {
    const name = `c${index}`
    const database = engine.database()
    const collection = await database.createCollection({ name, fields: randomFields(index, random) })
    await runRandomLife(collection, random, 10 + random.below(20))
    if (random.chance(0.5)) await engine.checkpoint()
    await runRandomLife(collection, random, random.below(20))
    await backedUp(database, name, `b${index}`)
    const digest = collection.stateDigest()
    t.equal(database.backups.info(`b${index}`).digest, digest, 'the backup knows the digest')
    // What is written later is not in it.
    await runRandomLife(collection, random, random.below(5))
    await database.deleteCollection(name)
    await database.backups.restore(`b${index}`, `${name}-again`)
    t.equal(database.collection(`${name}-again`).stateDigest(), digest, `${name} is the same again`)
    digests.set(`${name}-again`, digest)
    if (random.chance(0.3)) {
      const kind = random.below(3)
      if (kind === 0) await engine.checkpoint()
      const copy = await temporaryDirectory(t)
      // A copy of a directory in use is what a crash leaves.
      if (kind === 1) await cp(dataDir, join(copy, 'data'), { recursive: true })
      await engine.close()
      const next = kind === 1 ? join(copy, 'data') : dataDir
      engine = await openedEngine(t, { dataDir: next })
      if (kind === 1) {
        await engine.close()
        engine = await openedEngine(t, { dataDir })
      }
    }
  }
  for (const [name, digest] of digests) t.equal(engine.database().collection(name).stateDigest(), digest, name)
  t.same(engine.health(), { status: 'ok', reasons: [] })
})

test('a restore that is only in the log is replayed from the image', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const crashed = join(await temporaryDirectory(t), 'data')
  const engine = await openedEngine(t, { dataDir })
  const random = seededRandom(seed + 1)
  const collection = await engine.database().createCollection({ name: 'a', fields: [denseField()] })
  await runRandomLife(collection, random, 30)
  await engine.checkpoint()
  await runRandomLife(collection, random, 10)
  await backedUp(engine.database(), 'a', 'kept')
  await engine.database().backups.restore('kept', 'b')
  await engine.database().backups.remove('kept')
  await engine.database().deleteCollection('a')
  const restored = engine.database().collection('b')
  await runRandomLife(restored, random, 20)
  await engine.database().backups.clone('b', 'c')
  await engine.database().collection('c').served()
  await runRandomLife(restored, random, 5)
  const digests = ['b', 'c'].map((name) => engine.database().collection(name).stateDigest())
  await cp(dataDir, crashed, { recursive: true, filter: (path) => !path.endsWith('LOCK') })
  const again = await openedEngine(t, { dataDir: crashed })
  t.same(again.health().reasons, [])
  t.same(
    ['b', 'c'].map((name) => again.database().collection(name).stateDigest()),
    digests,
  )
  await again.checkpoint()
  await again.close()
  const loaded = await openedEngine(t, { dataDir: crashed })
  t.same(
    ['b', 'c'].map((name) => loaded.database().collection(name).stateDigest()),
    digests,
  )
})

test('a backup copied into another data directory is restored there', async (t) => {
  const here = await openedEngine(t)
  const there = await temporaryDirectory(t)
  const random = seededRandom(seed + 2)
  const collection = await here
    .database()
    .createCollection({ name: 'a', fields: [denseField(), { name: 's', type: 'sparse' }] })
  await runRandomLife(collection, random, 40)
  await backedUp(here.database(), 'a', 'carried')
  const other = await openedEngine(t, { dataDir: there })
  await other.close()
  await cp(join(here.dataDir, 'backups'), join(there, 'backups'), { recursive: true })
  const again = await openedEngine(t, { dataDir: there })
  t.same(
    again
      .database()
      .backups.list()
      .map(({ name }) => name),
    ['carried'],
  )
  await again.database().backups.restore('carried', 'a')
  t.equal(again.database().collection('a').stateDigest(), collection.stateDigest())
})

test('a collection that was idle while the log grew is backed up and cloned after its next write', async (t) => {
  const dataDir = await temporaryDirectory(t)
  const random = seededRandom(seed + 3)
  const fields = [denseField()]
  for (let life = 0; life < 4; life++) {
    const engine = await openedEngine(t, { dataDir })
    const database = engine.database()
    const name = life === 0 ? 'idle' : 'busy'
    if (life < 2) await database.createCollection({ name, fields })
    await runRandomLife(database.collection(name), random, 10)
    await engine.close()
  }
  const engine = await openedEngine(t, { dataDir })
  const database = engine.database()
  const idle = database.collection('idle')
  const { segments } = engine.stats().log
  t.ok(segments < 4, `${segments} segments: the log gave up where the collection's snapshot is of`)
  await runRandomLife(idle, random, 3)
  await backedUp(database, 'idle', 'kept')
  await database.backups.restore('kept', 'again')
  await database.backups.clone('idle', 'clone')
  await database.collection('clone').served()
  for (const name of ['again', 'clone']) t.equal(database.collection(name).stateDigest(), idle.stateDigest())
})
