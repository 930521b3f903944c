import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { type Collection, type Engine, openEngine } from '@annal/engine'
import { engineTarget, generateTrace, openTrace, recordTrace, replayTrace, workloads } from '@annal/replay'
import { test } from 'tap'
import { inDirectory } from './rig.ts'

const size = { objects: 600, dimension: 16, batch: 50, queriesPerThousand: 100, seed: 7 }

/** Operations of every kind on two collections; returns their digests. */
async function mixed(engine: Engine, operations: number): Promise<Record<string, string>> {
  const fields = [
    { name: 'text', type: 'vector', params: { dimension: 8, precision: 'int8', M: 8, efConstruction: 32 } },
    { name: 'words', type: 'sparse' },
  ] as const
  const collections: Collection[] = []
  for (const name of ['people', 'places']) collections.push(await engine.database().createCollection({ name, fields }))
  let random = 1
  const next = (below: number) => {
    random = (random * 48_271) % 2_147_483_647
    return random % below
  }
  for (let i = 0; i < operations; i++) {
    const collection = collections[next(2)] as Collection
    const kind = next(10)
    const id = () => `Ada Lovelace ${next(500)}`
    if (kind < 7) {
      const ids = [...new Set([id(), id(), id()])]
      const vector = () => Array.from({ length: 8 }, () => next(100) - 50)
      await collection.upsert(
        ids.map((one) => ({
          id: one,
          meta: { street: `Secret Street ${next(1000)}`, born: '1815-12-10' },
          filter: { city: ['London', 'Turin', 'Paris'][next(3)] as string, age: next(90) },
          fields: { text: vector(), words: { indices: [next(50), 50 + next(50)], values: [1, 2] } },
        })),
      )
    } else if (kind === 7) await collection.delete([id(), id()])
    else if (kind === 8) await collection.updateFilters([{ id: id(), filter: { city: 'Oslo', age: next(90) } }])
    else await collection.deleteWhere([{ age: { $eq: next(90) } }])
  }
  return Object.fromEntries(collections.map((one) => [`1/${one.name}`, one.stateDigest()]))
}

test('a recorded log replays to the same digests, on one thread and on two', async (t) => {
  await inDirectory(async (dir) => {
    const engine = await openEngine({ dataDir: join(dir, 'live'), threads: 1, fsync: 'none', keepLog: true })
    const digests = await mixed(engine, process.env.ANNAL_LONG ? 100_000 : 400)
    const path = join(dir, 'all.trace')
    // The engine is still open: the log of a running server can be recorded.
    const summary = await recordTrace({ dataDir: join(dir, 'live'), out: path })
    t.ok(summary.events > 300)
    for (const threads of [1, 2]) {
      const target = await engineTarget({ dataDir: join(dir, `replay-${threads}`), threads, fsync: 'none' })
      const result = await replayTrace(await openTrace(path), target, { stretches: 4 })
      t.same(result.digests, digests)
      t.equal(result.stretches.length, 4)
      t.ok((result.recall ?? 0) > 0.9, `recall ${result.recall}`)
      await target.close()
    }
    await engine.close()
  })
})

test('a window begins with the state before it', async (t) => {
  await inDirectory(async (dir) => {
    const engine = await openEngine({ dataDir: join(dir, 'live'), threads: 1, fsync: 'none', keepLog: true })
    await mixed(engine, 300)
    const { lsnApplied } = engine.stats()
    const path = join(dir, 'window.trace')
    const summary = await recordTrace({ dataDir: join(dir, 'live'), out: path, lsnFrom: Math.floor(lsnApplied / 2) })
    t.ok(summary.events < lsnApplied)
    const target = await engineTarget({ dataDir: join(dir, 'replay'), threads: 1, fsync: 'none' })
    await replayTrace(await openTrace(path), target, { stretches: 1, compared: 1 })
    await target.close()
    const replayed = await openEngine({ dataDir: join(dir, 'replay'), threads: 1 })
    for (const name of ['people', 'places']) {
      const [a, b] = [engine, replayed].map((one) => one.database().collection(name))
      const page = await (a as Collection).scroll({ limit: 1000 })
      t.equal(b?.describe().objects, a?.describe().objects)
      const found = await (b as Collection).getMany(page.objects.map(({ id }) => id))
      const shown = (objects: typeof found) =>
        new Map(
          objects.map(({ id, metaBytes, filterText, sparse }) => [
            id,
            [String(metaBytes), filterText, JSON.stringify(sparse)],
          ]),
        )
      t.same(shown(found), shown(page.objects))
    }
    await replayed.close()
    await engine.close()
  })
})

test('archived segments of a log are recorded too', async (t) => {
  await inDirectory(async (dir) => {
    const dataDir = join(dir, 'live')
    const digests: Record<string, string> = {}
    for (let i = 0; i < 4; i++) {
      const archive = { maxBytes: 1e9, maxAgeMs: 3_600_000 }
      const engine = await openEngine({ dataDir, threads: 1, fsync: 'none', archive })
      if (i === 0) await mixed(engine, 100)
      const people = engine.database().collection('people')
      await people.upsert([{ id: `${i}`, fields: { words: { indices: [i], values: [1] } } }])
      await engine.checkpoint()
      for (const name of ['people', 'places']) digests[`1/${name}`] = engine.database().collection(name).stateDigest()
      await engine.close()
    }
    t.ok((await readdir(join(dataDir, 'archive', 'wal'))).length > 0, 'the log removed its beginning')
    const out = join(dir, 'all.trace')
    await recordTrace({ dataDir, out })
    const target = await engineTarget({ dataDir: join(dir, 'replay'), threads: 1, fsync: 'none' })
    const { digests: replayed } = await replayTrace(await openTrace(out), target, { stretches: 1, compared: 1 })
    await target.close()
    t.same(replayed, digests)
  })
})

test('a log without its beginning is refused, with advice', async (t) => {
  await inDirectory(async (dir) => {
    const dataDir = join(dir, 'live')
    for (let i = 0; i < 4; i++) {
      const engine = await openEngine({ dataDir, threads: 1 })
      if (i === 0) await mixed(engine, 100)
      await engine
        .database()
        .collection('people')
        .upsert([{ id: `${i}`, fields: { words: { indices: [i], values: [1] } } }])
      await engine.checkpoint()
      await engine.close()
    }
    const out = join(dir, 'none.trace')
    await t.rejects(recordTrace({ dataDir, out }), { code: 'window_not_held', message: /keepLog/ })
    await t.rejects(readFile(out), { code: 'ENOENT' })
    await t.rejects(readFile(`${out}.part`), { code: 'ENOENT' })
  })
})

test('an anonymized trace holds no id, name or text of the log, and searches find as well as before', async (t) => {
  await inDirectory(async (dir) => {
    const engine = await openEngine({ dataDir: join(dir, 'live'), threads: 1, fsync: 'none', keepLog: true })
    const digests = await mixed(engine, 300)
    await engine.close()
    const replayed = async (name: string, anonymize?: { rotate: boolean }) => {
      const path = join(dir, `${name}.trace`)
      await recordTrace({ dataDir: join(dir, 'live'), out: path, ...(anonymize && { anonymize }) })
      const target = await engineTarget({ dataDir: join(dir, name), threads: 1, fsync: 'none' })
      const result = await replayTrace(await openTrace(path), target, { stretches: 3 })
      await target.close()
      return { path, result }
    }
    const plain = await replayed('plain')
    for (const rotate of [false, true]) {
      const { path, result } = await replayed(`anonymous-${rotate}`, { rotate })
      const bytes = (await readFile(path)).toString('latin1')
      for (const word of [
        'Lovelace',
        'Secret',
        'London',
        'Oslo',
        'street',
        'city',
        'people',
        'places',
        'words',
        '1815-12-10',
      ])
        t.notOk(bytes.includes(word), `${word}, rotated: ${rotate}`)
      t.notSame(Object.values(result.digests).sort(), Object.values(digests).sort())
      t.equal(result.objects, plain.result.objects)
      t.ok(Math.abs((result.recall ?? 0) - (plain.result.recall ?? 0)) < 0.03)
    }
  })
})

test('a workload is the same file for the same seed, and can be replayed with other parameters', async (t) => {
  await inDirectory(async (dir) => {
    for (const workload of workloads) {
      const paths = [join(dir, `${workload}-1`), join(dir, `${workload}-2`)]
      for (const out of paths) await generateTrace({ workload, out, ...size })
      const [one, two] = await Promise.all(paths.map((path) => readFile(path)))
      t.ok(one?.equals(two as Buffer), `${workload}: the same bytes`)
      const trace = await openTrace(paths[0] as string)
      t.ok(trace.summary.queries > 0)
      const target = await engineTarget({
        dataDir: join(dir, `${workload}-data`),
        threads: 1,
        fsync: 'none',
        precision: 'float32',
      })
      const result = await replayTrace(trace, target, { stretches: 5 })
      t.ok((result.recall ?? 0) > 0.9, `${workload}: recall ${result.recall}`)
      t.equal(result.stretches.at(-1)?.events, trace.summary.events)
      await target.close()
    }
    const wrong = { workload: 'load', out: join(dir, 'x'), objects: 3 } as const
    await t.rejects(generateTrace(wrong), { code: 'invalid_argument', details: { field: 'objects', limit: 10 } })
    await t.rejects(generateTrace({ workload: 'load', out: join(dir, 'load-1') }), { code: 'file_exists' })
  })
})

test('a changed or truncated trace is refused', async (t) => {
  await inDirectory(async (dir) => {
    const path = join(dir, 'whole.trace')
    await generateTrace({
      workload: 'load',
      out: path,
      objects: 20,
      dimension: 2,
      batch: 5,
      queriesPerThousand: 100,
      seed: 1,
    })
    const whole = await readFile(path)
    const changed = join(dir, 'changed.trace')
    for (let offset = 0; offset < whole.length; offset += 29) {
      const bytes = Buffer.from(whole)
      bytes[offset] = (bytes[offset] as number) ^ 4
      await writeFile(changed, bytes)
      await t.rejects(openTrace(changed), { name: 'ReplayError' }, `byte ${offset}`)
    }
    for (let length = 0; length < whole.length; length += 131) {
      await writeFile(changed, whole.subarray(0, length))
      await t.rejects(openTrace(changed), { code: 'trace_damaged' })
    }
    await writeFile(changed, Buffer.concat([whole, Buffer.from('more')]))
    await t.rejects(openTrace(changed), { code: 'trace_damaged' })
  })
})
