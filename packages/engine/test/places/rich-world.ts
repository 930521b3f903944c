// A directory with a collection of every precision and kind of field, expiries, aliases, a branch, backups, history, a log of several
// segments after the newest checkpoint, and files of checkpoints with and without changes.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine } from '@annal/engine'
import { type Random, seededRandom } from '@annal/wal/testing'
import type { EngineParts } from '../../src/engine/engine-parts.ts'
import { openEngine } from '../../src/engine.ts'
import { backedUp, denseField, precisions, someVector, spaceTypes } from '../backup/rig.ts'
import { answersOf, copyTree, type World } from './world.ts'

const archive = { maxBytes: 1e12, maxAgeMs: 1e12 }
/** TIP and the Marker of the newest record are on the disk after this time. */
const settledMs = 300
const [late, early] = ['2999-01-01T00:00:00Z', '2026-01-01T00:00:00Z']

/** Two worlds with different seeds have the same shapes and names. */
export async function makeRichWorld(root: string, seed: number, parts: EngineParts): Promise<World> {
  const random = seededRandom(seed)
  const [older, dir] = [join(root, 'older'), join(root, 'dir')]
  let live = join(root, 'live-0')
  const open = () => openEngine({ dataDir: live, archive, threads: 1 }, parts)
  /** Continues on what a kill would leave, so that the log gets another segment without a checkpoint. */
  const killed = async (engine: Engine, lives: number): Promise<Engine> => {
    const next = join(root, `live-${lives}`)
    await sleep(settledMs)
    await copyTree(live, next)
    await engine.close()
    await rm(live, { recursive: true })
    live = next
    return open()
  }
  let engine = await open()
  await fill(engine, random)
  await engine.checkpoint()
  await write(engine, 0, random)
  await engine.checkpoint()
  engine = await killed(engine, 1)
  await copyTree(live, older)
  const database = engine.database()
  await database.collection('int8').rebuild()
  await write(engine, 20, random)
  await engine.checkpoint()
  const { lsn } = await writeTo(engine, 'a', 30, random)
  const past = { lsn, digest: database.collection('a').stateDigest() }
  await backedUp(database, 'int4', 'backup')
  await database.backups.restore('backup', 'restored')
  await database.branch('a', { name: 'branch' })
  await database.collection('branch').served()
  for (const { name } of database.collections()) await database.collection(name).rebuild()
  await engine.checkpoint()
  await write(engine, 30, random)
  await engine.checkpoint()
  engine = await killed(engine, 2)
  await write(engine, 40, random)
  await engine.database().putAlias('moving', 'int2')
  await engine.database().deleteCollection('dropped')
  engine = await killed(engine, 3)
  await writeTo(engine, 'a', 45, random)
  await writeTo(engine, 'branch', 45, random)
  const answers = await answersOf(engine)
  const backups = new Map(
    engine
      .database()
      .backups.list()
      .map(({ name, digest }) => [name, digest]),
  )
  await sleep(settledMs)
  await copyTree(live, dir)
  await engine.close()
  await rm(live, { recursive: true })
  return { dir, older, answers, backups, past }
}

async function fill(engine: Engine, random: Random): Promise<void> {
  const database = engine.database()
  for (const [i, precision] of precisions.entries()) {
    const more = [
      { name: 's', type: 'sparse', params: {} },
      { name: 't', type: 'text' },
      { ...denseField('m', precision), type: 'multi_vector' },
    ] as const
    const fields = [denseField('v', precision, spaceTypes[i % 3]), ...more.slice(0, 1 + (i % 3))]
    await database.createCollection({ name: precision, fields })
  }
  await database.createCollection({ name: 'a', fields: [denseField('v', 'float16'), { name: 't', type: 'text' }] })
  await database.createCollection({ name: 'dropped', fields: [denseField()] })
  await database.putAlias('moving', 'float32')
  await database.putAlias('fixed', 'binary')
  await write(engine, 0, random, 60)
}

/** Writes to every collection but the one that is dropped and those that came from files. */
async function write(engine: Engine, first: number, random: Random, count = 15): Promise<void> {
  for (const name of [...precisions, 'a']) {
    await writeTo(engine, name, first, random, count)
    const collection = engine.database().collection(name)
    await collection.delete([`o${first + 1}`, 'o7'])
    await collection.updateFilters([{ id: `o${first + 2}`, filter: { third: 9 } }])
  }
}

function writeTo(engine: Engine, name: string, first: number, random: Random, count = 15) {
  const collection = engine.database().collection(name)
  const { fields } = collection.describe()
  const someValue = (kind: string, i: number) => {
    if (kind === 'dense') return someVector(random)
    if (kind === 'multi') return [someVector(random), someVector(random)]
    if (kind === 'text') return `word${i % 7} word${random.below(9)} and more`
    return { indices: [i % 7, 10 + (i % 5)], values: [1, 0.5] }
  }
  return collection.upsert(
    Array.from({ length: count }, (_, i) => ({
      id: `o${first + i}`,
      meta: { n: random.below(1_000) },
      filter: { third: i % 3 },
      expiresAt: [null, late, null, early][i % 4],
      fields: Object.fromEntries(fields.map(({ name: field, kind }) => [field, someValue(kind, i)])),
    })),
  )
}
