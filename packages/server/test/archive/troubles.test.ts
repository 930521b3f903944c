// A bucket that cannot be used is named in health, at the start and while the server runs, and the archive continues without a restart
// when the cause is gone. Where another server has the archive, it does not.
import { cp } from 'node:fs/promises'
import path from 'node:path'
import tap, { test } from 'tap'
import { type ObjectFaults, soundObjects } from '../cluster/object-server.ts'
import { until } from '../eventually.ts'
import { type Archived, digestsOf, newCollection, newWorld, openArchived, restored, uploaded, write } from './rig.ts'

tap.setTimeout(300_000)

/** Health names every delay, and retries are quick. */
const impatient = { lagMsMax: 0, requestMs: 500, refusedRetryMsMax: 200 }

const troubles: readonly { readonly name: string; readonly faults: Partial<ObjectFaults>; readonly reason: RegExp }[] =
  [
    {
      name: 'missing',
      faults: { answers: { status: 404, code: 'NoSuchBucket' } },
      reason: /the bucket annal does not exist \(NoSuchBucket\)/,
    },
    {
      name: 'credentials',
      faults: { answers: { status: 403, code: 'InvalidAccessKeyId' } },
      reason: /the bucket annal rejects the credentials \(403 InvalidAccessKeyId\)/,
    },
    {
      name: 'failing',
      faults: { answers: { status: 503, code: 'SlowDown' } },
      reason: /the bucket annal answers 503 \(SlowDown\)/,
    },
    { name: 'timeout', faults: { hangs: true }, reason: /the bucket annal does not answer in time/ },
    {
      name: 'unconditional',
      faults: { ignoresIfNoneMatch: true },
      reason: /ignores the header If-None-Match of a write/,
    },
    {
      name: 'unconditional',
      faults: { lacksConditions: true },
      reason: /does not support the header If-None-Match of a write|answers 501 \(NotImplemented\)/,
    },
  ]

async function named({ archive }: Archived, name: string, reason: RegExp): Promise<void> {
  await until(() => archive.figures().trouble === name && archive.reasons().some((sentence) => reason.test(sentence)))
}

for (const { name, faults, reason } of troubles) {
  test(`a bucket with the trouble ${name} (${Object.keys(faults)}) is named, and used again without a restart`, async (t) => {
    const world = await newWorld(t, { ...soundObjects, ...faults })
    const one = await openArchived(t, world, 'data', { ...impatient, conditionsMs: 0 })
    const docs = await newCollection(one.engine, 'docs')
    await named(one, name, reason)
    world.server.faults = soundObjects
    await until(() => one.archive.figures().trouble === undefined)
    await uploaded(t, one)
    t.strictSame(one.archive.reasons(), [], 'after a start')

    world.server.faults = { ...soundObjects, ...faults }
    await write(docs, world.random, 2)
    // A server that does not know conditions fails the write first.
    await (faults.lacksConditions ? until(() => one.archive.figures().trouble !== undefined) : named(one, name, reason))
    world.server.faults = soundObjects
    await write(docs, world.random, 2)
    await until(() => one.archive.figures().trouble === undefined)
    await uploaded(t, one)
    t.strictSame(await restored(world), digestsOf(one.engine), 'while it runs')
  })
}

test('a bucket that was deleted and created again gets a whole archive', async (t) => {
  const world = await newWorld(t)
  const one = await openArchived(t, world, 'data', { ...impatient, history: false })
  const docs = await newCollection(one.engine, 'docs')
  await write(docs, world.random, 5)
  await uploaded(t, one)
  world.server.faults = { ...soundObjects, answers: { status: 404, code: 'NoSuchBucket' } }
  await write(docs, world.random, 5)
  await until(() => one.archive.figures().trouble === 'missing')
  world.server.clear()
  world.server.faults = soundObjects
  await until(() => one.notices.some((sentence) => /is not in the bucket any more/.test(sentence)))
  await one.engine.checkpoint()
  await uploaded(t, one)
  t.strictSame(one.archive.reasons(), [])
  t.strictSame(await restored(world), digestsOf(one.engine))
})

test('a server whose archive another one continued notices while it is idle, and stays refused', async (t) => {
  const world = await newWorld(t)
  const one = await openArchived(t, world, 'data', { ...impatient, watchMs: 100 })
  const docs = await newCollection(one.engine, 'docs')
  await write(docs, world.random, 5)
  await uploaded(t, one)
  await one.engine.checkpoint()
  await cp(one.dataDir, path.join(world.dir, 'copy'), { recursive: true })
  const copy = await openArchived(t, world, 'copy')
  await write(copy.engine.database().collection('docs'), world.random, 5)
  await uploaded(t, copy)
  await named(one, 'archive_in_use', /another server writes to/)
  const { keys } = world.server
  await write(docs, world.random, 5)
  t.notOk(await one.archive.whenArchived(one.engine.lsnDurable, 1_500), 'nothing is uploaded any more')
  t.strictSame(world.server.keys, keys)
  t.strictSame(await restored(world), digestsOf(copy.engine))
})

test('lists that are old, and files that are gone, are named', async (t) => {
  const world = await newWorld(t, { ...soundObjects, listBehind: 50 })
  const one = await openArchived(t, world, 'data', { due: { logBytesMin: 1, logShareMin: 0 }, baseTickMs: 20 })
  const docs = await newCollection(one.engine, 'docs')
  const checkpoint = async (bases: number) => {
    await write(docs, world.random, 5)
    await uploaded(t, one)
    await one.engine.checkpoint()
    await until(() => one.archive.figures().bases === bases)
  }
  await checkpoint(1)
  await until(() =>
    one.notices.some((sentence) => /the lists of the bucket are old: they lack \d+ objects/.test(sentence)),
  )
  t.strictSame(one.archive.reasons(), [], 'nothing depends on lists')

  world.server.faults = soundObjects
  const { keys } = world.server
  await checkpoint(2)
  // A part of the second checkpoint, which is still kept after the third.
  const lost = world.server.keys.find((key) => key.startsWith('shop/files/') && !keys.includes(key)) ?? ''
  world.server.lose(lost)
  await checkpoint(2)
  const isNamed = () =>
    one.archive.reasons().some((sentence) => /which a checkpoint in the bucket needs, is missing/.test(sentence))
  await until(isNamed)
  const { failures } = one.archive.figures()
  await until(() => one.archive.figures().failures > failures + 1)
  t.ok(isNamed(), 'it is named for as long as it is missing')
})
