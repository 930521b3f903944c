// Directories with every kind of file, and everything that can be read from one: the expected results for a fault.
import { execFileSync } from 'node:child_process'
import { mkdir, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Collection, Engine, SearchRequest } from '@annal/engine'
import { type Random, seededRandom } from '@annal/wal/testing'
import type { EngineParts } from '../../src/engine/engine-parts.ts'
import { openEngine } from '../../src/engine.ts'
import { EngineError } from '../../src/errors.ts'
import { backedUp, denseField, dimension, someVector } from '../backup/rig.ts'

const archive = { maxBytes: 1e12, maxAgeMs: 1e12 }
const fields = [
  denseField('v'),
  denseField('w'),
  { ...denseField('m'), type: 'multi_vector' },
  { name: 's', type: 'sparse', params: {} },
] as const
/** Databases and their collections. Two collections of one name are in different databases. */
const collections = [
  ['default', 'a'],
  ['default', 'b'],
  ['other', 'a'],
] as const

/** The results of a collection, or `refused` if it rejects with a code. */
export interface Answers {
  readonly digest: string
  readonly objects: string
  readonly hits: string
}

export interface World {
  /** The state that a kill leaves, with records after its newest checkpoint. */
  readonly dir: string
  /** The same directory a few checkpoints earlier. */
  readonly older: string
  readonly answers: ReadonlyMap<string, Answers>
  /** Digest of the state of each backup. */
  readonly backups: ReadonlyMap<string, string>
  /** A record of collection a, and the digest after it. */
  readonly past: { readonly lsn: number; readonly digest: string }
}

/** Copies a directory with its links. */
export async function copyTree(from: string, to: string): Promise<void> {
  await rm(to, { recursive: true, force: true })
  await mkdir(dirname(to), { recursive: true })
  execFileSync('cp', ['-a', from, to])
  await rm(join(to, 'LOCK'), { force: true })
}

/** Two worlds with different seeds have the same shapes and names. */
export async function makeWorld(root: string, seed: number, parts: EngineParts): Promise<World> {
  const random = seededRandom(seed)
  const [live, older, dir] = [join(root, 'live'), join(root, 'older'), join(root, 'dir')]
  const opened = () => openEngine({ dataDir: live, archive, threads: 1 }, parts)
  let engine = await opened()
  await engine.control.createDatabase({ name: 'other' })
  for (const [database, name] of collections) {
    await engine.database(database).createCollection({ name, fields })
    await write(engine, database, name, 0, random)
  }
  await engine.checkpoint()
  await engine.close()
  await copyTree(live, older)
  engine = await opened()
  const database = engine.database()
  await database.collection('a').rebuild()
  // The backup has a part and its changes.
  await engine.checkpoint()
  await write(engine, 'default', 'a', 10, random)
  await engine.checkpoint()
  const { lsn } = await write(engine, 'default', 'a', 20, random)
  const past = { lsn, digest: database.collection('a').stateDigest() }
  await backedUp(database, 'a', 'k')
  await engine.checkpoint()
  await write(engine, 'default', 'b', 20, random)
  await backedUp(database, 'b', 'l')
  await database.backups.clone('b', 'clone')
  await database.backups.restore('k', 'restored')
  await engine.close()
  engine = await opened()
  // The checkpoints from here on need no file of those before, so the log before is archived.
  for (const [name, collection] of collections) await engine.database(name).collection(collection).rebuild()
  await engine.database().collection('clone').rebuild()
  await engine.checkpoint()
  for (const [name, collection] of collections) await write(engine, name, collection, 30, random)
  await write(engine, 'default', 'clone', 30, random)
  await engine.checkpoint()
  for (const [name, collection] of collections) await write(engine, name, collection, 45, random)
  const answers = await answersOf(engine)
  const backups = new Map(database.backups.list().map(({ name, digest }) => [name, digest]))
  // The state that a kill would leave.
  await copyTree(live, dir)
  await engine.close()
  await rm(live, { recursive: true })
  return { dir, older, answers, backups, past }
}

/** Writes objects numbered from `first`, some of which exist already. */
function write(engine: Engine, database: string, name: string, first: number, random: Random) {
  const objects = Array.from({ length: 20 }, (_, i) => ({
    id: `o${first + i}`,
    meta: { n: random.below(1_000) },
    filter: { third: i % 3 },
    fields: {
      v: someVector(random),
      w: someVector(random),
      m: [someVector(random), someVector(random)],
      s: { indices: [i % 7, 10 + (i % 5)], values: [1, 0.5] },
    },
  }))
  return engine.database(database).collection(name).upsert(objects)
}

export async function answersOf(engine: Engine): Promise<Map<string, Answers>> {
  const answers = new Map<string, Answers>()
  for (const { name: database } of engine.control.databases()) {
    const aliases = engine.database(database).aliases()
    const names = [...engine.database(database).collections(), ...aliases].map(({ name }) => name)
    for (const name of names) {
      const collection = engine.database(database).collection(name)
      const ids = Array.from({ length: 70 }, (_, i) => `o${i}`)
      answers.set(`${database}/${name}`, {
        digest: await orRefused(async () => collection.stateDigest()),
        objects: await orRefused(async () => JSON.stringify(await collection.getMany(ids))),
        hits: await orRefused(async () => JSON.stringify((await collection.search(searchOf(collection))).results)),
      })
    }
  }
  return answers
}

const query = Array.from({ length: dimension }, (_, index) => Math.sin(index + 1))
const queries = {
  dense: query,
  multi: [query, query.toReversed()],
  sparse: { indices: [1, 2, 11], values: [1, 1, 1] },
  text: 'word1 word2 word5',
} as const

/** A search of every field. */
function searchOf(collection: Collection): SearchRequest {
  const fields = collection.describe().fields.map(({ name, kind }) => [name, { query: queries[kind], limit: 5 }])
  return { fields: Object.fromEntries(fields), rescore: true, includeVectors: true }
}

/** Codes with which a collection may be rejected because of a file. */
const refusals: ReadonlySet<string> = new Set(['snapshot_damaged', 'collection_quarantined'])

async function orRefused(ask: () => Promise<string>): Promise<string> {
  try {
    return await ask()
  } catch (error) {
    if (error instanceof EngineError && refusals.has(error.code)) return 'refused'
    throw error
  }
}
