// An engine whose directory is kept in a bucket, and what a restore from that bucket gives.
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { type Collection, type Engine, openEngine } from '@annal/engine'
import { openWorkerPool, type WorkerPool } from '@annal/engine/testing'
import { chosenSeed, type Random, seededRandom } from '@annal/wal/testing'
import type { Test } from 'tap'
import { BucketArchive, type BucketArchiveOptions } from '../../src/archive/bucket-archive.ts'
import { type RestoreArchive, restoreArchive } from '../../src/archive/restore-archive.ts'
import { ObjectServer, soundObjects } from '../cluster/object-server.ts'
import { temporaryDirectory } from '../running-app.ts'

export const seed = chosenSeed()
export const bucketUrl = 's3://annal/shop'

export interface World {
  readonly random: Random
  readonly server: ObjectServer
  readonly dir: string
  readonly pool: WorkerPool
}

export async function newWorld(t: Test, faults = soundObjects): Promise<World> {
  t.comment(`ANNAL_SEED=${seed}`)
  const random = seededRandom(seed)
  const server = new ObjectServer(random, faults)
  await server.listen(t)
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(() => pool.close())
  return { random, server, pool, dir: await temporaryDirectory(t) }
}

export interface Archived {
  readonly engine: Engine
  readonly archive: BucketArchive
  readonly dataDir: string
  readonly notices: string[]
  /** Ends without a last upload, and without a last checkpoint if the test copies the directory first. */
  close(): Promise<void>
}

/** Opens a directory of the world and archives it. `history`: the engine keeps removed segments. */
export async function openArchived(
  t: Test,
  { dir, pool }: World,
  name: string,
  options: Partial<BucketArchiveOptions> & { readonly history?: boolean } = {},
): Promise<Archived> {
  const { history = true, ...given } = options
  const dataDir = path.join(dir, name)
  const notices: string[] = []
  const archive = newArchive(dataDir, notices, given)
  const archiveLimits = { maxBytes: 1e9, maxAgeMs: history ? 3_600_000 : 0 }
  const engine = await openEngine(
    { dataDir, archive: archiveLimits, retainAfter: () => archive.lsnNeeded },
    { pool, checkpointsOnDemand: true },
  )
  archive.start(engine)
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= archive.stop().then(() => engine.close())
    return closed
  }
  t.teardown(close)
  return { engine, archive, dataDir, notices, close }
}

export function newArchive(
  dataDir: string,
  notices: string[],
  given: Partial<BucketArchiveOptions> = {},
): BucketArchive {
  return new BucketArchive({
    ...{ place: { bucket: 'annal', prefix: 'shop/' }, dataDir, keep: 2, lagMsMax: 60_000, backlogBytesMax: 1e9 },
    ...{ isRequired: false, onNotice: (sentence: string) => void notices.push(sentence), requestMs: 5_000, tickMs: 50 },
    ...given,
  })
}

/** Waits until everything that is durable is in the bucket. */
export async function uploaded(t: Test, { engine, archive }: Pick<Archived, 'engine' | 'archive'>): Promise<void> {
  t.ok(
    await archive.whenArchived(engine.lsnDurable, 120_000),
    `everything is uploaded; ${archive.reasons().join('; ')}`,
  )
}

export async function newCollection(engine: Engine, name: string): Promise<Collection> {
  await engine.database().createCollection({
    name,
    fields: [{ name: 'v', type: 'vector', params: { dimension: 4, spaceType: 'l2', precision: 'int8', M: 4 } }],
  })
  return engine.database().collection(name)
}

/** Writes and deletes some objects. */
export async function write(collection: Collection, random: Random, steps: number): Promise<void> {
  for (let step = 0; step < steps; step++) {
    const id = () => `o${random.below(300)}`
    if (random.chance(0.2)) await collection.delete([id()])
    const ids = new Set(Array.from({ length: 1 + random.below(5) }, id))
    const object = (one: string) => ({
      id: one,
      meta: { text: 'x'.repeat(random.below(200)) },
      fields: { v: Array.from({ length: 4 }, () => random.next() * 2 - 1) },
    })
    await collection.upsert([...ids].map(object))
  }
}

export function digestsOf(engine: Engine): Readonly<Record<string, string>> {
  const database = engine.database()
  return Object.fromEntries(
    database.collections().map(({ name }) => [name, database.collection(name).stateDigest()] as const),
  )
}

/** Restores into an empty folder, and returns the digests of what it holds. */
export async function restored(
  { dir, pool }: Pick<World, 'dir' | 'pool'>,
  moment: Pick<RestoreArchive, 'lsn' | 'timeMs' | 'onNotice'> = {},
): Promise<Readonly<Record<string, string>>> {
  const to = path.join(dir, 'restored')
  await restoreArchive({ from: bucketUrl, to, ...moment })
  const engine = await openEngine({ dataDir: to }, { pool })
  try {
    return digestsOf(engine)
  } finally {
    await engine.close()
    await rm(to, { recursive: true })
  }
}
