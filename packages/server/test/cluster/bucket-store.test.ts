// The log in a bucket with conditional writes: every test that each Log and each replicated log must pass, over a server
// with faults, and in long runs over a sound one. A server that ignores conditions is refused.
import { systemClock } from '@annal/wal'
import { openReplicatedLog } from '@annal/wal/replicated'
import { chosenSeed, logSuite, replicatedLogSuite, seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { type BucketStoreOptions, openBucketStore } from '../../src/cluster/bucket-store.ts'
import { ObjectServer, roughObjects, soundObjects } from './object-server.ts'

tap.setTimeout(600_000)

const seed = chosenSeed()

async function serve(t: Test, faults = soundObjects): Promise<ObjectServer> {
  t.comment(`ANNAL_SEED=${seed}`)
  const server = new ObjectServer(seededRandom(seed), faults)
  await server.listen(t)
  return server
}

function placed(prefix: string): BucketStoreOptions {
  return { place: { bucket: 'logs', prefix: `${prefix}/` }, pollMs: 5 }
}

const isLong = process.env.ANNAL_LONG === '1'
const servers = {
  'a server with faults': roughObjects,
  ...(isLong && { 'a sound server': soundObjects }),
}

for (const [what, faults] of Object.entries(servers)) {
  test(`a log in a bucket of ${what}`, { timeout: 600_000 }, async (t) => {
    await serve(t, faults)
    let logs = 0
    for (const { name, run } of logSuite) {
      await t.test(name, async () => {
        const options = placed(`log-${logs++}`)
        let epoch = 0
        await run(async () => {
          const store = await opened(options)
          const log = await openReplicatedLog({ store, logId: 7n, writer: Buffer.alloc(16, 1) })
          await log.lead(++epoch)
          return log
        })
      })
    }
    for (const { name, run } of replicatedLogSuite) {
      await t.test(name, async () => {
        const options = placed(`log-${logs++}`)
        await run({ clock: systemClock(), isSlow: !isLong, connect: () => opened(options) })
      })
    }
  })
}

/** Opens a store; again, if the server does not answer. */
async function opened(options: BucketStoreOptions) {
  for (;;) {
    try {
      return await openBucketStore(options)
    } catch (error) {
      if (!(error instanceof Error) || error.name !== 'StoreUnavailable') throw error
    }
  }
}

test('a server that ignores conditions of writes is refused by name', async (t) => {
  const server = await serve(t)
  server.faults = { ...soundObjects, ignoresIfNoneMatch: true }
  const refused = (header: string) => ({
    name: 'UnconditionalBucketError',
    message: `the server of the bucket logs ignores the header ${header} of a write, so it cannot keep a log`,
  })
  await t.rejects(openBucketStore(placed('a')), refused('If-None-Match'))
  server.faults = { ...soundObjects, ignoresIfMatch: true }
  await t.rejects(openBucketStore(placed('b')), refused('If-Match'))
  server.faults = { ...soundObjects, refuse: 1 }
  await t.rejects(openBucketStore(placed('c')), { name: 'StoreUnavailable' })
})

test('the end is found behind gaps of an append that was cut off, wherever it is', async (t) => {
  await serve(t)
  for (const end of isLong ? [0, 1, 2, 7, 16, 31, 64, 100] : [0, 1, 7, 16, 31]) {
    const options = placed(`gap-${end}`)
    const store = await openBucketStore(options)
    for (let seq = 0; seq < end; seq++) await store.append(Buffer.from(`${seq}`), seq)
    // Numbers of an append without an expectation, the first of which were never stored.
    for (const ahead of [2, 3, 5]) await store.append(Buffer.from('ahead'), end + ahead)
    const other = await openBucketStore(options)
    t.strictSame(await other.range(), { first: 1, last: end }, `${end} messages`)
    t.strictSame(await other.append(Buffer.from('next'), undefined), { kind: 'stored', seq: end + 1 })
    await store.close()
    await other.close()
  }
})

test('trimmed objects are deleted, and a cut deletion is finished by the next', async (t) => {
  const server = await serve(t)
  const store = await openBucketStore(placed('trim'))
  for (let seq = 0; seq < 20; seq++) await store.append(Buffer.from(`${seq}`), seq)
  const frames = () => server.keys.filter((key) => key.includes('/frames/')).length
  server.faults = { ...soundObjects, listBehind: 15 }
  await store.trim(11)
  t.strictSame(await store.range(), { first: 11, last: 20 })
  t.ok(frames() > 10, 'an old list leaves objects behind')
  server.faults = soundObjects
  await store.trim(12)
  t.equal(frames(), 9)
  await store.trim(1000)
  t.strictSame(await store.range(), { first: 20, last: 20 }, 'the newest message stays')
  t.strictSame(await store.append(Buffer.from('old'), 4), { kind: 'conflict' }, 'a number that was trimmed is not free')
  await store.close()
})
