// Writes with request keys through the embedded API: a repetition returns what the first call did and appends nothing, in the same process,
// after a start from the log, and after one from a checkpoint.
import { createHash } from 'node:crypto'
import { cp, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setImmediate } from 'node:timers/promises'
import {
  type Acknowledgement,
  type Engine,
  type openEngine,
  restoreDataDirectory,
  verifyDataDirectory,
} from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import tap, { type Test, test } from 'tap'
import { openEngine as openWith } from '../../src/engine.ts'

const pool = await openWorkerPool({ threads: 1 })
tap.teardown(() => pool.close())

const fields = [
  { name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2', precision: 'float32' } },
] as const

function objects(ids: readonly string[], x = 0) {
  return ids.map((id) => ({ id, filter: { x }, fields: { v: [x, Number(id)] } }))
}

async function temporary(t: Test): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-request-keys-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  return dir
}

type Options = Omit<Parameters<typeof openEngine>[0], 'dataDir'>

async function opened(t: Test, dataDir: string, options: Options = {}): Promise<Engine> {
  const engine = await openWith({ dataDir, ...options }, { pool, checkpointsOnDemand: true })
  t.teardown(() => engine.close())
  return engine
}

async function filled(t: Test, options: Options = {}): Promise<{ readonly dataDir: string; readonly engine: Engine }> {
  const dataDir = join(await temporary(t), 'data')
  const engine = await opened(t, dataDir, options)
  const films = await engine.database().createCollection({ name: 'films', fields })
  await films.upsert(objects(['1', '2', '3', '4'], 1))
  await films.upsert(objects(['5', '6'], 2))
  await films.delete(['3'])
  return { dataDir, engine }
}

/** What the process would leave if it were killed. */
async function killed(t: Test, dataDir: string): Promise<string> {
  const copy = join(await temporary(t), 'data')
  await cp(dataDir, copy, { recursive: true })
  await rm(join(copy, 'LOCK'), { force: true })
  return copy
}

const hash = createHash('sha256').update('secret').digest('hex')

/** Every write of the embedded API. Each returns what can be compared. */
const writes: Readonly<Record<string, (engine: Engine, requestKey: string) => Promise<unknown>>> = {
  upsert: (engine, requestKey) =>
    engine
      .database()
      .collection('films')
      .upsert(objects(['1', '9'], 7), { requestKey }),
  'upsert of nothing': (engine, requestKey) => engine.database().collection('films').upsert([], { requestKey }),
  'upsert of a stream': (engine, requestKey) =>
    engine
      .database()
      .collection('films')
      .upsert(
        (async function* () {
          yield* objects(['10', '11'], 8)
        })(),
        { requestKey },
      ),
  'large upsert': (engine, requestKey) => {
    const many = Array.from({ length: 900 }, (_, i) => ({
      ...objects([`${100 + i}`])[0],
      id: `${100 + i}`,
      meta: { text: 'x'.repeat(700) },
    }))
    return engine
      .database()
      .collection('films')
      .upsert(many as unknown as ReturnType<typeof objects>, { requestKey })
  },
  delete: (engine, requestKey) =>
    engine.database().collection('films').delete(['2', 'absent', '4', '2'], { requestKey }),
  'delete of all': (engine, requestKey) => engine.database().collection('films').delete(['1', '9'], { requestKey }),
  'delete of nothing': (engine, requestKey) => engine.database().collection('films').delete(['absent'], { requestKey }),
  deleteWhere: (engine, requestKey) =>
    engine
      .database()
      .collection('films')
      .deleteWhere([{ x: { $eq: 2 } }], { requestKey }),
  'deleteWhere of nothing': (engine, requestKey) =>
    engine
      .database()
      .collection('films')
      .deleteWhere([{ x: { $eq: 77 } }], { requestKey }),
  updateFilters: (engine, requestKey) =>
    engine
      .database()
      .collection('films')
      .updateFilters(
        [
          { id: '10', filter: { x: 5 } },
          { id: 'absent', filter: { x: 5 } },
        ],
        { requestKey },
      ),
  updateFields: (engine, requestKey) =>
    engine
      .database()
      .collection('films')
      .updateFields({ v: { recall: 0.9 } }, { requestKey }),
  'updateFields to the same': (engine, requestKey) =>
    engine
      .database()
      .collection('films')
      .updateFields({ v: { recall: 0.9 } }, { requestKey }),
  rebuild: (engine, requestKey) =>
    engine
      .database()
      .collection('films')
      .rebuild({ v: { M: 8 } }, { requestKey }),
  vacuum: (engine, requestKey) => engine.database().collection('films').vacuum({ requestKey }),
  createCollection: async (engine, requestKey) =>
    (await engine.database().createCollection({ name: 'songs', fields }, { requestKey })).name,
  clone: (engine, requestKey) => engine.database().backups.clone('films', 'copy', { requestKey }),
  restorePast: (engine, requestKey) =>
    engine.database().backups.restorePast('films', 'past', { lsn: 4 }, { requestKey }),
  deleteCollection: (engine, requestKey) => engine.database().deleteCollection('copy', { requestKey }),
  createDatabase: (engine, requestKey) =>
    engine.control.createDatabase(
      { name: 'acme', type: 'pro', token: { name: 'a', kind: 'rw', hash } },
      { requestKey },
    ),
  setDatabaseActive: (engine, requestKey) => engine.control.setDatabaseActive('acme', false, { requestKey }),
  setDatabaseType: (engine, requestKey) => engine.control.setDatabaseType('acme', 'scale', { requestKey }),
  putToken: (engine, requestKey) =>
    engine.control.putToken('acme', { name: 'b', kind: 'r', hash: hash.replaceAll('1', '2') }, { requestKey }),
  deleteToken: (engine, requestKey) => engine.control.deleteToken('acme', 'b', { requestKey }),
  deleteDatabase: (engine, requestKey) => engine.control.deleteDatabase('acme', { requestKey }),
  putSetting: (engine, requestKey) => engine.control.putSetting('theme', 'dark', { requestKey }),
}

test('every write with a key is repeated without effect, also after starts', async (t) => {
  const { dataDir, engine } = await filled(t)
  const first = new Map<string, unknown>()
  for (const [name, write] of Object.entries(writes)) {
    const before = engine.stats().lsnApplied
    first.set(name, await write(engine, `key-of-${name.replaceAll(' ', '-')}`))
    const after = engine.stats().lsnApplied
    t.ok(after > before, `${name} appends a record`)
    t.strictSame(await write(engine, `key-of-${name.replaceAll(' ', '-')}`), first.get(name), `${name} again`)
    t.equal(engine.stats().lsnApplied, after, `${name} again appends nothing`)
  }
  t.strictSame(first.get('delete'), { ...(first.get('delete') as object), deleted: ['2', '4'] })
  t.strictSame(first.get('delete of nothing'), { ...(first.get('delete of nothing') as object), deleted: [] })
  const digest = engine.database().collection('films').stateDigest()
  // Collections and databases that are gone cannot be opened to repeat a write.
  const repeatable = Object.entries(writes)
  const byReplay = await opened(t, await killed(t, dataDir))
  await engine.checkpoint()
  const byCheckpoint = await opened(t, await killed(t, dataDir))
  for (const [how, again] of [
    ['replay', byReplay],
    ['checkpoint', byCheckpoint],
  ] as const) {
    const { lsnApplied } = again.stats()
    for (const [name, write] of repeatable)
      t.strictSame(await write(again, `key-of-${name.replaceAll(' ', '-')}`), first.get(name), `${name} by ${how}`)
    t.equal(again.stats().lsnApplied, lsnApplied, `nothing is appended after ${how}`)
    t.equal(again.database().collection('films').stateDigest(), digest)
    t.equal(again.stats().requestKeys.count, repeatable.length)
  }
})

test('a key for another request is refused, and so is what is no key', async (t) => {
  const { engine } = await filled(t)
  const films = engine.database().collection('films')
  await films.upsert(objects(['1'], 5), { requestKey: 'k' })
  const { lsnApplied } = engine.stats()
  await t.rejects(films.upsert(objects(['1'], 6), { requestKey: 'k' }), {
    code: 'request_key_reused',
    details: { value: 'k' },
  })
  await t.rejects(films.delete(['1'], { requestKey: 'k' }), { code: 'request_key_reused' })
  for (const requestKey of ['', 'a b', 'a\n', 'ä', 'x'.repeat(256), 7, {}])
    await t.rejects(films.delete(['1'], { requestKey: requestKey as string }), { code: 'invalid_argument' })
  t.equal(engine.stats().lsnApplied, lsnApplied)
  await films.delete(['1'], { requestKey: 'x'.repeat(255) })
})

test('each database has its own keys, and the control plane too', async (t) => {
  const { engine } = await filled(t)
  await engine.control.createDatabase({ name: 'other' }, { requestKey: 'k' })
  const other = await engine.database('other').createCollection({ name: 'films', fields }, { requestKey: 'k' })
  t.strictSame((await other.upsert(objects(['1']), { requestKey: 'l' })).upserted, 1)
  t.strictSame((await engine.database().collection('films').delete(['1'], { requestKey: 'l' })).deleted, ['1'])
})

test('a refused write leaves its key free', async (t) => {
  const { engine } = await filled(t)
  const database = engine.database()
  await t.rejects(database.deleteCollection('absent', { requestKey: 'k' }), { code: 'collection_not_found' })
  await t.rejects(database.createCollection({ name: 'films', fields }, { requestKey: 'k' }), {
    code: 'collection_exists',
  })
  t.equal(engine.stats().requestKeys.count, 0)
  await database.deleteCollection('films', { requestKey: 'k' })
  t.equal(engine.stats().requestKeys.count, 1)
})

test('calls with one key at the same time are one write', async (t) => {
  const { engine } = await filled(t)
  const films = engine.database().collection('films')
  const before = engine.stats().lsnApplied
  const answers = await Promise.all(
    Array.from({ length: 20 }, () => films.deleteWhere([{ x: { $eq: 1 } }], { requestKey: 'k' })),
  )
  t.equal(engine.stats().lsnApplied, before + 1)
  t.equal(new Set(answers.map((answer) => JSON.stringify(answer))).size, 1)
  t.equal(answers[0]?.deleted, 3)
})

test('after a refusal, the next of several calls runs', async (t) => {
  const { engine } = await filled(t)
  const { requestKeys } = engine
  const request = { database: 'default', key: 'k', digest: () => Buffer.alloc(32) }
  const order: string[] = []
  const failing = requestKeys.once(request, async () => {
    await setImmediate()
    order.push('fails')
    throw new Error('refused')
  })
  const films = engine.database().collection('films')
  const next = requestKeys.once(request, (requestKey) => {
    order.push('runs')
    return films.delete(['1'], { requestKey })
  })
  await t.rejects(failing, /refused/)
  t.match(await next, { deleted: ['1'] })
  t.strictSame(order, ['fails', 'runs'])
})

test('a write that goes on after its answer is answered again until it ends, and then from its record', async (t) => {
  const { engine } = await filled(t)
  const { requestKeys } = engine
  const films = engine.database().collection('films')
  const request = (digest = 0) => ({ database: 'default', key: 'k', digest: () => Buffer.alloc(32, digest) })
  let runs = 0
  let done: Promise<unknown> = Promise.resolve()
  const rebuild = (digest?: number) =>
    requestKeys.once<Acknowledgement & { job?: unknown }>(request(digest), async (requestKey) => {
      runs++
      requestKey.addFacts({ job: 17 })
      done = films.rebuild({}, { requestKey })
      requestKey.continueUntil(done)
      return { lsn: 0, durable: false, job: 17 }
    })
  t.match(await rebuild(), { job: 17 })
  t.match(await rebuild(), { job: 17 })
  await t.rejects(rebuild(1), { code: 'request_key_reused' })
  await done
  t.match(await rebuild(), { job: 17 })
  t.equal(runs, 1)
})

test('keys are forgotten by number and by the time of the log, the oldest first', async (t) => {
  let nowMs = 1_000_000
  const options = { requestKeys: { max: 3, maxAgeMs: 10_000 }, clock: { now: () => nowMs } }
  const { engine, dataDir } = await filled(t, options)
  const films = engine.database().collection('films')
  const first = await films.upsert(objects(['1']), { requestKey: 'a' })
  for (const requestKey of ['b', 'c']) await films.upsert(objects(['2']), { requestKey })
  t.strictSame(await films.upsert(objects(['1']), { requestKey: 'a' }), first)
  await films.upsert(objects(['2']), { requestKey: 'd' })
  t.not((await films.upsert(objects(['1']), { requestKey: 'a' })).lsn, first.lsn, 'the fourth key replaces the first')
  t.equal(engine.stats().requestKeys.count, 3)

  const kept = await films.upsert(objects(['7']), { requestKey: 'old' })
  nowMs += 10_001
  t.strictSame(
    await films.upsert(objects(['7']), { requestKey: 'old' }),
    kept,
    'no later record, so no time has passed',
  )
  await films.upsert(objects(['8']))
  const copy = await killed(t, dataDir)
  t.not((await films.upsert(objects(['7']), { requestKey: 'old' })).lsn, kept.lsn, 'too old')
  nowMs -= 1e6
  const again = await opened(t, copy, options)
  const films2 = again.database().collection('films')
  t.not(
    (await films2.upsert(objects(['7']), { requestKey: 'old' })).lsn,
    kept.lsn,
    'too old after a start, whatever the clock says',
  )
})

test('keys survive many checkpoints, whose files are linked and merged', async (t) => {
  const { engine, dataDir } = await filled(t, { requestKeys: { max: 500 } })
  const films = engine.database().collection('films')
  const lsns = new Map<string, number>()
  for (let round = 0; round < 30; round++) {
    for (let i = 0; i < 1 + ((round * 7) % 40); i++) {
      const requestKey = `${round}-${i}`
      lsns.set(requestKey, (await films.delete(['absent'], { requestKey })).lsn)
    }
    await engine.checkpoint()
  }
  const checkpoints = (await readdir(join(dataDir, 'checkpoints'))).sort()
  const names = (await readdir(join(dataDir, 'checkpoints', checkpoints.at(-1) as string))).filter((name) =>
    name.startsWith('request-keys'),
  )
  t.ok(names.length > 1 && names.length < 9, names.join(' '))
  const { findings } = await verifyDataDirectory({ dataDir: await killed(t, dataDir), threads: 1 })
  t.strictSame(
    findings.filter(({ severity }) => severity === 'damage'),
    [],
  )
  const again = await opened(t, await killed(t, dataDir), { requestKeys: { max: 500 } })
  t.strictSame(
    again.stats().requestKeys,
    engine.stats().requestKeys.count === 500
      ? { ...engine.stats().requestKeys, repeated: 0, bytes: again.stats().requestKeys.bytes }
      : {},
  )
  const { lsnApplied } = again.stats()
  for (const [requestKey, lsn] of [...lsns].slice(-500))
    t.equal((await again.database().collection('films').delete(['absent'], { requestKey })).lsn, lsn)
  t.equal(again.stats().lsnApplied, lsnApplied)
})

test('damaged keys are taken from an older checkpoint and the log, and reported if there is none', async (t) => {
  const { engine, dataDir } = await filled(t)
  const films = engine.database().collection('films')
  const lsns = new Map<string, number>()
  // The second checkpoint merges the file of the first one, so it has no file in common with it.
  for (const requestKey of ['a', 'b', 'c']) {
    lsns.set(requestKey, (await films.upsert(objects(['1'], lsns.size), { requestKey })).lsn)
    if (requestKey !== 'c') await engine.checkpoint()
  }
  const damage = async (dir: string, which: (index: number) => boolean) => {
    for (const [i, folder] of (await readdir(join(dir, 'checkpoints'))).sort().entries()) {
      if (!which(i)) continue
      for (const name of await readdir(join(dir, 'checkpoints', folder))) {
        if (!name.startsWith('request-keys')) continue
        const path = join(dir, 'checkpoints', folder, name)
        const bytes = await readFile(path)
        bytes[90]! ^= 1
        await rm(path)
        await writeFile(path, bytes)
      }
    }
  }
  const [newest, both] = [await killed(t, dataDir), await killed(t, dataDir)]
  await damage(newest, (i) => i === 1)
  await damage(both, () => true)
  const { findings } = await verifyDataDirectory({ dataDir: newest, threads: 1 })
  t.match(
    findings.filter(({ severity }) => severity === 'damage'),
    [{ file: /request-keys/ }],
  )
  const healed = await opened(t, newest)
  t.match(healed.health().reasons.join(), /request keys in checkpoint/)
  for (const [i, [requestKey, lsn]] of [...lsns].entries())
    t.equal(
      (
        await healed
          .database()
          .collection('films')
          .upsert(objects(['1'], i), { requestKey })
      ).lsn,
      lsn,
      requestKey,
    )
  await healed.checkpoint()
  const again = await opened(t, await killed(t, newest))
  t.strictSame(again.health().reasons, [])
  t.equal(again.stats().requestKeys.count, 3)

  const lost = await opened(t, both)
  t.match(lost.health().reasons.join(), /no checkpoint has intact request keys/)
  t.equal(lost.stats().requestKeys.count, 1, 'the log has the newest')
})

test('a directory as of a moment has the keys of that moment; a restored collection brings none', async (t) => {
  const archive = { maxBytes: 1e9, maxAgeMs: 1e9 }
  const { engine, dataDir } = await filled(t, { archive })
  const films = engine.database().collection('films')
  const early = await films.upsert(objects(['1'], 5), { requestKey: 'early' })
  await engine.checkpoint()
  const late = await films.upsert(objects(['2'], 5), { requestKey: 'late' })
  await engine.checkpoint()
  await engine.database().backups.restorePast('films', 'earlier', { lsn: early.lsn })
  const earlier = engine.database().collection('earlier')
  t.equal(earlier.count([{ x: { $eq: 5 } }]).count, 1)
  const to = join(await temporary(t), 'to')
  await restoreDataDirectory({ from: dataDir, to, lsn: early.lsn })
  const restored = await opened(t, to)
  const there = restored.database().collection('films')
  t.strictSame(await there.upsert(objects(['1'], 5), { requestKey: 'early' }), early)
  t.equal(restored.stats().requestKeys.count, 1)
  t.equal((await there.upsert(objects(['9'], 5), { requestKey: 'late' })).upserted, 1, 'late has not happened there')
  t.ok(late.lsn > early.lsn)
})

test('facts that are too long are refused before the append', async (t) => {
  const { engine } = await filled(t)
  const before = engine.stats().lsnApplied
  const films = engine.database().collection('films')
  const request = { database: 'default', key: 'k', digest: () => Buffer.alloc(32) }
  await t.rejects(
    engine.requestKeys.once(request, (requestKey) => {
      requestKey.addFacts({ text: 'x'.repeat(20_000) })
      return films.upsert(objects(['1']), { requestKey })
    }),
    { code: 'limit_exceeded', details: { limit: 16_384 } },
  )
  t.equal(engine.stats().lsnApplied, before)
  t.equal((await films.upsert(objects(['1']))).upserted, 1, 'the space that was reserved is free')
})

test('one claim is for one write', async (t) => {
  const { engine } = await filled(t)
  const films = engine.database().collection('films')
  const request = { database: 'default', key: 'k', digest: () => Buffer.alloc(32) }
  await t.rejects(
    engine.requestKeys.once(request, async (requestKey) => {
      await films.upsert(objects(['1']), { requestKey })
      return films.upsert(objects(['2']), { requestKey })
    }),
    { code: 'invalid_argument', details: { field: 'requestKey' } },
  )
})
