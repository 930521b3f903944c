import { mkdtemp, readdir, readFile, readlink, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, openEngine } from '@annal/engine'
import { test } from 'tap'

const fields = [
  { name: 'v', type: 'vector', params: { dimension: 3, space_type: 'l2', precision: 'float32' } },
] as const

async function inDirectory(act: (dataDir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-recovery-'))
  try {
    await act(join(dir, 'data'))
  } finally {
    await rm(dir, { recursive: true })
  }
}

async function damage(dataDir: string, file: string): Promise<void> {
  for (const name of await readdir(join(dataDir, 'checkpoints')))
    await writeFile(join(dataDir, 'checkpoints', name, file), 'damage')
}

function objects(count: number, from = 0) {
  return Array.from({ length: count }, (_, i) => ({ id: `${from + i}`, fields: { v: [from + i, 0, 0] } }))
}

/** Two collections, each in two checkpoints, followed by a tail of records. */
async function fill(engine: Engine): Promise<{ readonly a: string; readonly b: string }> {
  const a = await engine.database().createCollection({ name: 'a', fields })
  const b = await engine.database().createCollection({ name: 'b', fields })
  for (let round = 0; round < 3; round++) {
    await a.upsert(objects(20, round * 20))
    await b.upsert(objects(20, round * 20))
    if (round < 2) await engine.checkpoint()
  }
  return { a: a.stateDigest(), b: b.stateDigest() }
}

test('a collection that is damaged in every checkpoint is rebuilt from a log that reaches back far enough', async (t) => {
  await inDirectory(async (dataDir) => {
    const first = await openEngine({ dataDir, threads: 1, keepLog: true })
    const digests = await fill(first)
    await first.close()
    await damage(dataDir, 'collection-1-part-1.snap')
    const engine = await openEngine({ dataDir, threads: 1 })
    t.equal(engine.database().collection('a').stateDigest(), digests.a)
    t.equal(engine.database().collection('b').stateDigest(), digests.b)
    t.equal(engine.health().status, 'degraded')
    await engine.close()
  })
})

test('a collection that cannot be rebuilt is quarantined, reported, kept, and can be deleted; the others are ready', async (t) => {
  await inDirectory(async (dataDir) => {
    const first = await openEngine({ dataDir, threads: 1 })
    await fill(first)
    await first.close()
    let digest = ''
    // Every start begins a segment, and the log removes those that two checkpoints made obsolete.
    for (let i = 0; i < 3; i++) {
      const engine = await openEngine({ dataDir, threads: 1 })
      for (const name of ['a', 'b'])
        await engine
          .database()
          .collection(name)
          .upsert(objects(3, i * 3))
      digest = engine.database().collection('b').stateDigest()
      await engine.close()
    }
    await damage(dataDir, 'collection-1-part-0.snap')
    for (const round of [1, 2]) {
      const engine = await openEngine({ dataDir, threads: 1 })
      const b = engine.database().collection('b')
      if (round === 1) t.equal(b.stateDigest(), digest, 'the other collection is whole')
      t.equal(engine.health().status, 'degraded')
      t.ok(
        engine.health().reasons.some((reason) => reason.includes('"a" is out of service')),
        `named in health, start ${round}`,
      )
      const a = engine.database().collection('a')
      t.equal(a.describe().condition, 'quarantined')
      await t.rejects(a.search({ fields: { v: { query: [1, 2, 3] } } }), { code: 'collection_quarantined' })
      await t.rejects(a.upsert(objects(1)), { code: 'collection_quarantined' })
      await b.upsert(objects(5, 1000))
      await engine.checkpoint()
      await engine.close()
    }
    const kept = (await readdir(join(dataDir, 'checkpoints'))).map((name) => join(dataDir, 'checkpoints', name))
    for (const path of kept)
      t.ok((await readdir(path)).includes('collection-1-part-0.snap'), 'its files are still there')
    const engine = await openEngine({ dataDir, threads: 1 })
    await engine.database().deleteCollection('a')
    const again = await engine.database().createCollection({ name: 'a', fields })
    t.equal(again.describe().objects, 0)
    await engine.close()
  })
})

test('a collection whose last record is applied is ready while another one is replayed', async (t) => {
  await inDirectory(async (dataDir) => {
    const first = await openEngine({ dataDir, threads: 1, keepLog: true })
    const small = await first.database().createCollection({ name: 'small', fields })
    await small.upsert(objects(10))
    const large = await first.database().createCollection({ name: 'large', fields })
    for (let round = 0; round < 40; round++) await large.upsert(objects(200, round * 200))
    await first.close()
    await rm(join(dataDir, 'checkpoints'), { recursive: true })
    const seen: string[] = []
    let early: Promise<unknown> = Promise.resolve()
    const engine = await openEngine({
      dataDir,
      threads: 1,
      onServing: (serving) => {
        const look = async () => {
          while (serving.health().status === 'starting') {
            await new Promise((resolve) => setImmediate(resolve))
            const conditions = serving
              .database()
              .collections()
              .map(({ name, condition }) => `${name} ${condition}`)
            if (conditions.includes('small ready') && conditions.includes('large loading')) {
              const found = serving
                .database()
                .collection('small')
                .search({ fields: { v: { query: [3, 0, 0], limit: 1 } } })
              seen.push(serving.health().status)
              // In the same turn, because the progress of the replay is unknown when the search returns.
              await Promise.all([
                t.rejects(serving.database().collection('large').getMany(['1']), { code: 'collection_loading' }),
                t.rejects(serving.database().createCollection({ name: 'new', fields }), { code: 'collection_loading' }),
              ])
              seen.push((await found).results.v?.[0]?.id ?? 'nothing')
              return
            }
          }
        }
        early = look()
      },
    })
    await early
    t.strictSame(seen, ['starting', '3'])
    t.equal(engine.database().collection('large').describe().objects, 8_000)
    await engine.close()
  })
})

test('an engine that is closed during a replay stops soon and changes nothing', async (t) => {
  await inDirectory(async (dataDir) => {
    const first = await openEngine({ dataDir, threads: 1, keepLog: true })
    const large = await first.database().createCollection({ name: 'large', fields })
    for (let round = 0; round < 20; round++) await large.upsert(objects(200, round * 200))
    const digest = large.stateDigest()
    await first.close()
    await rm(join(dataDir, 'checkpoints'), { recursive: true })
    let closing: Promise<void> | undefined
    const opening = openEngine({ dataDir, threads: 1, onServing: (engine) => (closing = engine.close()) })
    await t.rejects(opening, { code: 'closed' })
    await closing
    const engine = await openEngine({ dataDir, threads: 1 })
    t.equal(engine.database().collection('large').stateDigest(), digest)
    await engine.close()
  })
})

test('a start keeps no file of a checkpoint open, and detects damage in its last bytes', async (t) => {
  await inDirectory(async (dataDir) => {
    const first = await openEngine({ dataDir, threads: 1, keepLog: true })
    const digests = await fill(first)
    await first.close()
    const openFiles = async () => {
      const names = await readdir('/proc/self/fd')
      const targets = await Promise.all(names.map((name) => readlink(join('/proc/self/fd', name)).catch(() => '')))
      return targets.filter((target) => target.includes('checkpoints'))
    }
    const whole = await openEngine({ dataDir, threads: 1, keepLog: true })
    t.same(await openFiles(), [])
    await whole.close()
    for (const name of await readdir(join(dataDir, 'checkpoints'))) {
      const path = join(dataDir, 'checkpoints', name, 'collection-1-part-0.snap')
      const bytes = await readFile(path)
      bytes[bytes.length - 1] = (bytes.at(-1) as number) ^ 1
      await writeFile(path, bytes)
    }
    const engine = await openEngine({ dataDir, threads: 1 })
    t.equal(engine.health().status, 'degraded')
    t.equal(engine.database().collection('a').stateDigest(), digests.a)
    t.same(await openFiles(), [])
    await engine.close()
  })
})
