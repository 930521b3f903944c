// The archive in a bucket: everything that is reported as uploaded is restored from the bucket alone, to the digest that the engine had.
import { cp, rm } from 'node:fs/promises'
import path from 'node:path'
import tap, { test } from 'tap'
import { roughObjects, soundObjects } from '../cluster/object-server.ts'
import { until } from '../eventually.ts'
import { type Archived, digestsOf, newCollection, newWorld, openArchived, restored, uploaded, write } from './rig.ts'

tap.setTimeout(600_000)

/** Every checkpoint becomes a base. */
const always = { due: { logBytesMin: 1, logShareMin: 0 }, baseTickMs: 20 }

/** Waits until health has this reason. */
function reason({ archive }: Archived, form: RegExp): Promise<void> {
  return until(() => archive.reasons().some((sentence) => form.test(sentence)))
}

test('a new directory is restored from the bucket, to its end and to moments', async (t) => {
  const world = await newWorld(t)
  const one = await openArchived(t, world, 'data')
  const collection = await newCollection(one.engine, 'docs')
  await write(collection, world.random, 20)
  const { lsnApplied: lsn, timeMs } = one.engine
  const earlier = digestsOf(one.engine)
  await until(() => Date.now() > timeMs + 1)
  await write(collection, world.random, 20)
  // A clone is an image that a record names: it is in the bucket before the record.
  await one.engine.database().backups.clone('docs', 'copy')
  await until(() => one.engine.database().collections().length === 2)
  await write(one.engine.database().collection('copy'), world.random, 10)
  await uploaded(t, one)
  t.strictSame(one.archive.reasons(), [])
  t.strictSame(await restored(world), digestsOf(one.engine), 'to the end')
  t.strictSame(await restored(world, { lsn }), earlier, 'to an LSN')
  t.strictSame(await restored(world, { timeMs }), earlier, 'to a time')
  await t.rejects(restored(world, { lsn: one.engine.lsnDurable + 1_000 }), { code: 'restore_unreachable' })

  // The marker after the last write is seen, and no request follows.
  const { lsnDurable } = one.engine
  await until(() => one.engine.lsnDurable > lsnDurable || one.archive.figures().lagLsns === 0)
  const puts = world.server.requests('PUT')
  await uploaded(t, one)
  t.equal(world.server.requests('PUT'), puts, 'an idle server writes nothing')
  await one.close()

  const two = await openArchived(t, world, 'data')
  await write(two.engine.database().collection('docs'), world.random, 20)
  await uploaded(t, two)
  t.strictSame(await restored(world), digestsOf(two.engine), 'after a restart it continues')
})

test('a server that stops before its archive is open uploads what it wrote', async (t) => {
  const world = await newWorld(t)
  const one = await openArchived(t, world, 'data')
  await newCollection(one.engine, 'docs')
  await one.close()
  const two = await openArchived(t, world, 'data')
  await write(two.engine.database().collection('docs'), world.random, 1)
  const written = digestsOf(two.engine)
  await two.close()
  t.strictSame(await restored(world), written)
})

test('bases: a log that was truncated is restored, and what is old is removed', async (t) => {
  const world = await newWorld(t)
  const first = await openArchived(t, world, 'data', {
    place: { bucket: 'annal', prefix: 'elsewhere/' },
    history: false,
  })
  const collection = await newCollection(first.engine, 'docs')
  for (let i = 0; i < 3; i++) {
    await write(collection, world.random, 10)
    await first.engine.checkpoint()
  }
  await first.close()

  let one = await openArchived(t, world, 'data', { history: false, ...always })
  for (let i = 0; i < 5; i++) {
    const docs = one.engine.database().collection('docs')
    await write(docs, world.random, 10)
    await uploaded(t, one)
    const bases = one.archive.figures().bases
    const { bytes } = one.archive.figures()
    await one.engine.checkpoint()
    await until(() => one.archive.figures().bytes > bytes && one.archive.figures().bases >= Math.min(2, bases + 1))
    await write(docs, world.random, 3)
    await uploaded(t, one)
    t.strictSame(await restored(world), digestsOf(one.engine), `restored after checkpoint ${i}`)
    // Each start is a new segment, so that old messages can be removed.
    await one.close()
    one = await openArchived(t, world, 'data', { history: false, ...always })
  }
  await uploaded(t, one)
  t.strictSame(one.archive.reasons(), [])
  t.equal(one.archive.figures().bases, 2, 'two bases are kept')
  t.notOk(world.server.keys.includes('shop/frames/0000000000000001'), 'the log before them is removed')
  const files = world.server.keys.filter((key) => key.startsWith('shop/files/')).length
  t.ok(files < 2 * 6 + 2, `files that no base names are removed: ${files} are left`)

  // A damaged file of the newest base: the base before it leads to the same state.
  const digests = digestsOf(one.engine)
  for (const key of world.server.keys.filter((name) => name.startsWith('shop/frames/')).slice(-1)) {
    world.server.damage(key)
    const message = `message ${Number(key.slice(-16))} of s3://annal/shop/ cannot be used: its checksum does not match`
    await t.rejects(restored(world), { code: 'archive_damaged', message })
    world.server.damage(key)
  }
  t.strictSame(await restored(world), digests)
})

test('a damaged file of a checkpoint is named, and the checkpoint before it leads to the same state', async (t) => {
  const world = await newWorld(t)
  const one = await openArchived(t, world, 'data', always)
  const docs = await newCollection(one.engine, 'docs')
  for (let i = 1; i <= 2; i++) {
    await write(docs, world.random, 10)
    await uploaded(t, one)
    await one.engine.checkpoint()
    await until(() => one.archive.figures().bases === i)
  }
  await write(docs, world.random, 4)
  await uploaded(t, one)
  const digests = digestsOf(one.engine)
  const files = world.server.keys.filter((key) => key.startsWith('shop/files/'))
  let named = 0
  for (const key of files) {
    world.server.damage(key)
    const notices: string[] = []
    const onNotice = (sentence: string) => void notices.push(sentence)
    t.strictSame(await restored(world, { onNotice }), digests, key)
    if (notices.some((sentence) => sentence.includes(key.slice('shop/'.length)))) named++
    world.server.damage(key)
  }
  t.ok(named >= 5, `${named} of ${files.length} files belong to the newest checkpoint`)
})

test('two servers with one prefix: the second one is refused by name', async (t) => {
  const world = await newWorld(t)
  const one = await openArchived(t, world, 'data')
  const docs = await newCollection(one.engine, 'docs')
  await write(docs, world.random, 5)
  await uploaded(t, one)

  const other = await openArchived(t, world, 'other')
  await newCollection(other.engine, 'docs')
  await reason(other, /nothing is archived: .* contains the archive of data directory .*; this directory is/)
  t.notOk(
    await other.archive.whenArchived(other.engine.lsnDurable, 60_000),
    'a write that waits for it is not confirmed',
  )
  await other.close()

  // A copy of the directory, for example of the whole machine.
  await one.engine.checkpoint()
  await cp(one.dataDir, path.join(world.dir, 'copy'), { recursive: true })
  const copy = await openArchived(t, world, 'copy')
  await write(docs, world.random, 5)
  await uploaded(t, one)
  await write(copy.engine.database().collection('docs'), world.random, 5)
  await reason(copy, /another server writes to|which is not in the log of this directory/)
  await write(docs, world.random, 5)
  await uploaded(t, one)
  t.strictSame(await restored(world), digestsOf(one.engine), 'the archive is that of the first')
  await copy.close()

  // An older copy that is started later.
  await rm(path.join(world.dir, 'copy'), { recursive: true })
  await one.close()
  await cp(one.dataDir, path.join(world.dir, 'copy'), { recursive: true })
  const again = await openArchived(t, world, 'data')
  await write(again.engine.database().collection('docs'), world.random, 5)
  await uploaded(t, again)
  const late = await openArchived(t, world, 'copy')
  await reason(late, /which is not in the log of this directory|another server writes to/)
})

test('a server that fails, delays, loses replies and lists late loses nothing', async (t) => {
  const world = await newWorld(t, roughObjects)
  let one = await openArchived(t, world, 'data', { ...always })
  await newCollection(one.engine, 'docs')
  for (let i = 0; i < 4; i++) {
    await write(one.engine.database().collection('docs'), world.random, 10)
    await one.engine.checkpoint()
    await uploaded(t, one)
    await one.close()
    one = await openArchived(t, world, 'data', { ...always })
  }
  await write(one.engine.database().collection('docs'), world.random, 10)
  await uploaded(t, one)
  world.server.faults = soundObjects
  t.strictSame(await restored(world), digestsOf(one.engine))
})

test('each message arrives and its reply is lost: the server recognizes its own', async (t) => {
  const world = await newWorld(t)
  world.server.losesFirstReply = (url) => url.includes('/frames/')
  // Each start begins a segment.
  for (let start = 0; start < 3; start++) {
    const one = await openArchived(t, world, 'data')
    const docs = start === 0 ? await newCollection(one.engine, 'docs') : one.engine.database().collection('docs')
    for (let i = 0; i < 2; i++) {
      await write(docs, world.random, 3)
      await uploaded(t, one)
    }
    t.strictSame(one.archive.reasons(), [])
    t.strictSame(await restored(world), digestsOf(one.engine))
    await one.close()
  }
})

test('a server that ignores conditions is refused by name', async (t) => {
  const world = await newWorld(t, { ...soundObjects, ignoresIfNoneMatch: true })
  const one = await openArchived(t, world, 'data', { isRequired: true })
  await reason(one, /ignores the header If-None-Match of a write/)
  t.match(one.archive.refusal()?.message, /If-None-Match/, 'writes are rejected where the archive is required')
})

test('a bucket that does not answer holds the log, up to a limit; beyond it the archive names its gap', async (t) => {
  const world = await newWorld(t)
  const options = { history: false, ...always, lagMsMax: 0 }
  const one = await openArchived(t, world, 'data', { ...options, requestMs: 500 })
  const docs = await newCollection(one.engine, 'docs')
  await write(docs, world.random, 5)
  await uploaded(t, one)
  const { lsnApplied: lsnBefore } = one.engine
  const before = digestsOf(one.engine)
  world.server.faults = { ...soundObjects, refuse: 1 }
  for (let i = 0; i < 4; i++) {
    await write(docs, world.random, 5)
    await one.engine.checkpoint()
  }
  t.ok(one.archive.lsnNeeded <= lsnBefore + 2, 'nothing that is not uploaded may be removed')
  await reason(one, /s late; \d+ bytes of the log wait: /)
  await one.close()

  const two = await openArchived(t, world, 'data', { ...options, requestMs: 500, backlogBytesMax: 1 })
  await until(() => two.archive.lsnNeeded === Number.POSITIVE_INFINITY)
  await reason(two, /more than 1 bytes of the log waited/)
  const again = two.engine.database().collection('docs')
  for (let i = 0; i < 3; i++) {
    await write(again, world.random, 5)
    await two.engine.checkpoint()
  }
  await two.close()
  world.server.faults = soundObjects
  const three = await openArchived(t, world, 'data', options)
  await uploaded(t, three)
  t.match(three.notices.join(), /has a gap/)
  t.strictSame(three.archive.reasons(), [], 'a checkpoint after the gap is uploaded')
  t.strictSame(await restored(world), digestsOf(three.engine))
  t.strictSame(await restored(world, { lsn: lsnBefore }), before, 'moments before the gap stay')
  await t.rejects(restored(world, { lsn: lsnBefore + 8 }), { code: 'restore_unreachable' }, 'moments in it are refused')
})
