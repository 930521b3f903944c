// A server that follows an archive: it reaches the same states, survives restarts wherever it was killed, and can take the archive over.
// Then the writer before it is refused, and what that one acknowledged alone is in a file.
import { cp, readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import type { Engine } from '@annal/engine'
import tap, { type Test, test } from 'tap'
import { ArchiveCopy } from '../../src/archive/archive-copy.ts'
import { Follower } from '../../src/archive/follower.ts'
import { requestTakeover } from '../../src/archive/takeover-request.ts'
import { roughObjects, soundObjects } from '../cluster/object-server.ts'
import { until } from '../eventually.ts'
import { setVariable } from '../s3-server.ts'
import {
  type Archived,
  digestsOf,
  newArchive,
  newCollection,
  newWorld,
  openArchived,
  restored,
  uploaded,
  type World,
  write,
} from './rig.ts'

tap.setTimeout(300_000)

const quietly = { lagMsMax: 60_000, onNotice: () => undefined, onWriter: async () => undefined }
const place = { bucket: 'annal', prefix: 'shop/' }

interface Following {
  readonly follower: Follower
  readonly engine: Engine
  readonly dataDir: string
  readonly notices: string[]
  /** Resolves with the archive that a takeover begins. */
  readonly writer: Promise<Pick<Archived, 'engine' | 'archive'>>
  close(): Promise<void>
}

async function follow(t: Test, world: World, name: string): Promise<Following> {
  const dataDir = path.join(world.dir, name)
  const notices: string[] = []
  const { promise: writer, resolve } = Promise.withResolvers<Pick<Archived, 'engine' | 'archive'>>()
  const follower = await Follower.open({
    ...{ place, dataDir, lagMsMax: 60_000, pollMs: 20, requestMs: 2_000 },
    onNotice: (sentence) => void notices.push(sentence),
    onWriter: async (opened) => {
      const archive = newArchive(dataDir, notices)
      archive.start(opened)
      t.teardown(() => archive.stop())
      resolve({ engine: opened, archive })
    },
  })
  if (follower === undefined) throw new Error(`${dataDir} follows nothing`)
  const engine = await follower.openEngine({ dataDir }, { pool: world.pool, checkpointsOnDemand: true })
  let closed: Promise<void> | undefined
  const close = () => {
    closed ??= follower.stop().then(() => engine.close())
    return closed
  }
  t.teardown(close)
  return { follower, engine, dataDir, notices, writer, close }
}

/** Waits until a follower has everything that a writer has. */
async function caughtUp(t: Test, one: Pick<Archived, 'engine' | 'archive'>, { engine }: Following): Promise<void> {
  await uploaded(t, one)
  await until(() => engine.lsnApplied >= one.engine.lsnApplied)
  t.strictSame(digestsOf(engine), digestsOf(one.engine))
}

test('a follower begins with a checkpoint or without one, applies what arrives, and takes no writes', async (t) => {
  const world = await newWorld(t)
  const one = await openArchived(t, world, 'data', {
    history: false,
    due: { logBytesMin: 1, logShareMin: 0 },
    baseTickMs: 20,
  })
  const docs = await newCollection(one.engine, 'docs')
  await write(docs, world.random, 10)
  await uploaded(t, one)
  const early = await follow(t, world, 'early')
  await caughtUp(t, one, early)
  await one.engine.checkpoint()
  await until(() => one.archive.figures().bases === 1)
  await write(docs, world.random, 10)
  await uploaded(t, one)

  const two = await follow(t, world, 'two')
  t.ok((await readdir(path.join(two.dataDir, 'checkpoints'))).length > 0, 'it has the checkpoint of the writer')
  await caughtUp(t, one, two)
  // A clone is an image that a record names, and a rebuild changes the graph.
  await one.engine.database().backups.clone('docs', 'copy')
  await until(() => one.engine.database().collections().length === 2)
  await write(one.engine.database().collection('copy'), world.random, 5)
  await docs.rebuild({})
  await write(docs, world.random, 5)
  await newCollection(one.engine, 'more')
  await one.engine.database().deleteCollection('more')
  await caughtUp(t, one, two)
  await caughtUp(t, one, early)

  const found = await two.engine
    .database()
    .collection('docs')
    .search({ fields: { v: { query: [1, 0, 0, 0], limit: 3 } } })
  t.equal(found.results.v?.length, 3)
  const database = two.engine.database()
  for (const refused of [
    () => database.collection('docs').upsert([{ id: 'x', fields: { v: [1, 2, 3, 4] } }]),
    () => database.collection('docs').delete(['none']),
    () => newCollection(two.engine, 'own'),
    async () => database.backups.create('docs'),
  ])
    await t.rejects(async () => void (await refused()), { code: 'not_leader' })
  t.match(two.follower.status(), { from: 's3://annal/shop/', role: 'follower', lsn: two.engine.lsnApplied })
  t.strictSame(two.follower.reasons(), [])

  // A checkpoint of its own truncates its own log only, and it continues from there.
  await two.engine.checkpoint()
  await two.close()
  await write(docs, world.random, 5)
  const again = await follow(t, world, 'two')
  await caughtUp(t, one, again)
  await t.rejects(ArchiveCopy.open({ place: { ...place, prefix: 'other/' }, dataDir: early.dataDir }), {
    code: 'directory_locked',
  })
  await early.close()
  await t.rejects(openArchived(t, world, 'early'), { code: 'directory_follows' }, 'nothing else opens it')
  await t.rejects(ArchiveCopy.open({ place: { ...place, prefix: 'other/' }, dataDir: early.dataDir }), {
    code: 'invalid_argument',
    message: /follows s3:\/\/annal\/shop\/, not s3:\/\/annal\/other\//,
  })
  const own = await openArchived(t, world, 'has-own', { place: { ...place, prefix: 'own/' } })
  await own.close()
  await t.rejects(ArchiveCopy.open({ place, dataDir: own.dataDir }), {
    code: 'invalid_argument',
    message: /has data of its own/,
  })
})

/** Programs that are opened from now on use this key of the bucket. */
function useKey(t: Test, key: string): void {
  setVariable(t, 'AWS_ACCESS_KEY_ID', key)
}

test('a takeover: the follower writes, and the writer before it is refused and says what it alone has', async (t) => {
  const world = await newWorld(t)
  useKey(t, 'first')
  const one = await openArchived(t, world, 'data')
  const docs = await newCollection(one.engine, 'docs')
  await write(docs, world.random, 10)
  await uploaded(t, one)
  useKey(t, 'second')
  const two = await follow(t, world, 'two')
  await caughtUp(t, one, two)
  const lsnUploaded = one.engine.lsnApplied

  // The first writer does not reach the bucket, and goes on to acknowledge.
  world.server.refusedKey = 'first'
  const fields = { v: [9, 9, 9, 9] }
  const meta = [{ title: 'x' }, Buffer.from([7, 0, 255]), undefined]
  await docs.upsert(meta.map((each, i) => ({ id: `lost ${i}`, fields, ...(each && { meta: each }) })))
  await until(() => one.archive.figures().trouble === 'credentials')
  const answer = await requestTakeover(two.dataDir, 600_000)
  t.equal(answer?.kind, 'done', JSON.stringify(answer))
  t.ok(answer?.kind === 'done' && answer.lsn >= lsnUploaded, 'after the last record that was uploaded')
  const writer = await two.writer
  t.match(two.follower.status(), { role: 'writer', lag_seconds: 0 })
  await write(two.engine.database().collection('docs'), world.random, 10)
  await two.engine.database().backups.clone('docs', 'copy')
  await uploaded(t, writer)
  t.strictSame(writer.archive.reasons(), [])

  world.server.refusedKey = undefined
  await until(() => one.archive.refusal() !== undefined)
  t.match(one.archive.refusal(), { code: 'not_leader', message: /another server took over s3:\/\/annal\/shop\// })
  await until(() => one.archive.reasons().some((sentence) => /1 records of this server are not in it/.test(sentence)))
  const [left = ''] = (await readdir(one.dataDir)).filter((name) => name.startsWith('not-in-archive-after-'))
  const lines = (await readFile(path.join(one.dataDir, left), 'utf8')).trim().split('\n')
  t.match(
    lines.map((line) => JSON.parse(line)),
    [
      {
        kind: 'objects-upserted',
        ids: ['lost 0', 'lost 1', 'lost 2'],
        metas: [{ title: 'x' }, 'BwD/', {}],
        dense: [{ field: 0, vectors: Array(12).fill(9) }],
      },
    ],
  )
  t.notOk(await one.archive.whenArchived(one.engine.lsnDurable, 60_000), 'it confirms nothing')

  t.strictSame(await restored(world), digestsOf(two.engine), 'the archive is restored across the takeover')
  const three = await follow(t, world, 'three')
  await caughtUp(t, writer, three)

  // Both directories are opened again: the writer continues, the other one is refused.
  await one.close()
  const again = await openArchived(t, world, 'data')
  await until(() => again.archive.refusal()?.code === 'not_leader')
  await writer.archive.stop()
  await two.close()
  t.equal(await Follower.open({ ...quietly, place, dataDir: two.dataDir }), undefined, 'it follows no longer')
  const writing = await openArchived(t, world, 'two')
  await write(writing.engine.database().collection('docs'), world.random, 5)
  await caughtUp(t, writing, three)
  t.strictSame(writing.archive.reasons(), [])
})

test('a takeover whose process was killed after its message is completed by the next start', async (t) => {
  const world = await newWorld(t)
  const one = await openArchived(t, world, 'data')
  await write(await newCollection(one.engine, 'docs'), world.random, 5)
  await uploaded(t, one)
  const digests = digestsOf(one.engine)
  await one.close()
  const copy = await ArchiveCopy.open({ place, dataDir: path.join(world.dir, 'two') })
  // The reply to the message is lost, too.
  world.server.losesFirstReply = (url) => url.includes('/frames/')
  let isCopied = false
  await copy?.takeOver(async () => {
    if (isCopied) return
    isCopied = true
    await cp(path.join(world.dir, 'two'), path.join(world.dir, 'killed'), { recursive: true })
  })
  await copy?.close()
  await copy?.directory.close()
  const dataDir = path.join(world.dir, 'killed')
  await t.rejects(openArchived(t, world, 'killed'), { code: 'directory_follows' })
  const follower = await Follower.open({ ...quietly, place, dataDir })
  t.equal(follower?.status().role, 'writer')
  await follower?.stop()
  const writing = await openArchived(t, world, 'killed')
  t.strictSame(digestsOf(writing.engine), digests)
  await write(writing.engine.database().collection('docs'), world.random, 5)
  await uploaded(t, writing)
  t.strictSame(await restored(world), digestsOf(writing.engine))
})

test('nothing that was confirmed from the bucket is lost by a takeover from a writer that works', async (t) => {
  const world = await newWorld(t, roughObjects)
  const one = await openArchived(t, world, 'data')
  const docs = await newCollection(one.engine, 'docs')
  await uploaded(t, one)
  const two = await follow(t, world, 'two')
  const confirmed: string[] = []
  let isRefused = false
  const writing = (async () => {
    for (let i = 0; !isRefused; i++) {
      const { lsn } = await docs.upsert([{ id: `w${i}`, fields: { v: [i, 0, 0, 1] } }])
      if (await one.archive.whenArchived(lsn, 60_000)) confirmed.push(`w${i}`)
      else isRefused = true
    }
  })()
  await until(() => confirmed.length > 5)
  const answer = await requestTakeover(two.dataDir, 600_000)
  t.equal(answer?.kind, 'done', JSON.stringify(answer))
  const writer = await two.writer
  await writing
  t.equal(one.archive.refusal()?.code, 'not_leader')
  const found = await two.engine.database().collection('docs').getMany(confirmed)
  t.equal(found.length, confirmed.length, `${confirmed.length} writes were confirmed`)
  world.server.faults = soundObjects
  await uploaded(t, writer)
  t.strictSame(await restored(world), digestsOf(two.engine))
})

test('a follower that the bucket cannot serve any more says why', async (t) => {
  const world = await newWorld(t)
  const one = await openArchived(t, world, 'data')
  const docs = await newCollection(one.engine, 'docs')
  await uploaded(t, one)
  const two = await follow(t, world, 'two')
  await caughtUp(t, one, two)
  const newest = world.server.keys.filter((key) => key.startsWith('shop/frames/')).length
  await write(docs, world.random, 3)
  await uploaded(t, one)
  await caughtUp(t, one, two)
  await two.close()
  world.server.damage(`shop/frames/${String(newest + 1).padStart(16, '0')}`)
  const three = ArchiveCopy.open({ place, dataDir: path.join(world.dir, 'three') })
  await t.rejects(async () => void (await (await three)?.next()), { code: 'archive_damaged' })
  await (await three)?.close()
  await t.rejects(ArchiveCopy.open({ place: { ...place, prefix: 'none/' }, dataDir: path.join(world.dir, 'four') }), {
    code: 'archive_empty',
  })
})
