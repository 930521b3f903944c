import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { type Collection, type Engine, openEngine } from '@annal/engine'
import { test } from 'tap'

async function withDirectory(act: (dataDir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-engine-'))
  try {
    await act(join(dir, 'data'))
  } finally {
    await rm(dir, { recursive: true })
  }
}

async function withEngine<T>(dataDir: string, act: (engine: Engine) => Promise<T>): Promise<T> {
  const engine = await openEngine({ dataDir, threads: 2, keepLog: true })
  try {
    return await act(engine)
  } finally {
    await engine.close()
  }
}

const definition = {
  name: 'things',
  fields: [{ name: 'v', type: 'vector', params: { dimension: 4, space_type: 'l2', precision: 'float32' } }],
} as const

function numbered(
  count: number,
  from = 0,
): { id: string; meta: { n: number }; filter: { parity: string; n: number }; fields: { v: number[] } }[] {
  return Array.from({ length: count }, (_, i) => {
    const n = from + i
    return {
      id: `id-${n}`,
      meta: { n },
      filter: { parity: n % 2 ? 'odd' : 'even', n },
      fields: { v: [n, n * 2, 1, 0] },
    }
  })
}

async function nearest(collection: Collection, n: number, limit = 3): Promise<string[]> {
  const { results } = await collection.search({ fields: { v: { query: [n, n * 2, 1, 0], limit } } })
  return (results.v ?? []).map((hit) => hit.id)
}

test('written objects are found and returned completely, also after a restart', async (t) => {
  await withDirectory(async (dataDir) => {
    const { digest, written } = await withEngine(dataDir, async (engine) => {
      const things = await engine.database().createCollection(definition)
      const created = engine.stats().lsnApplied
      const { lsn, durable, upserted } = await things.upsert(numbered(500))
      t.strictSame({ durable, upserted }, { durable: true, upserted: 500 })
      t.ok(lsn > created)
      t.strictSame(await nearest(things, 100, 1), ['id-100'])
      const [hit] =
        (await things.search({ fields: { v: { query: [7, 14, 1, 0] } }, includeVectors: true })).results.v ?? []
      t.match(hit?.toJSON(), {
        id: 'id-7',
        similarity: 0,
        distance: 0,
        meta: { n: 7 },
        filter: { parity: 'odd', n: 7 },
      })
      t.strictSame([...(hit?.vector ?? [])], [7, 14, 1, 0])
      return { digest: things.stateDigest(), written: lsn }
    })
    await withEngine(dataDir, async (engine) => {
      const things = engine.database().collection('things')
      t.equal(things.describe().objects, 500)
      t.equal(things.stateDigest(), digest, 'the snapshot gives back the same state')
      t.strictSame(await nearest(things, 250, 1), ['id-250'])
      t.equal(engine.stats().lsnApplied, written)
      t.equal(engine.health().status, 'ok')
    })
  })
})

test('replacing, deleting, and filtering return exactly the current objects', async (t) => {
  await withDirectory(async (dataDir) => {
    await withEngine(dataDir, async (engine) => {
      const things = await engine.database().createCollection(definition)
      await things.upsert(numbered(100))
      await things.upsert([{ id: 'id-5', fields: { v: [1000, 0, 0, 0] } }])
      t.equal(things.describe().objects, 100, 'the id was replaced, not added')
      t.notOk((await nearest(things, 5, 2)).includes('id-5'))
      t.strictSame((await things.delete(['id-6', 'nobody'])).deleted, ['id-6'])
      t.strictSame(
        (await things.getMany(['id-6', 'id-7'])).map((object) => object.id),
        ['id-7'],
      )
      const even = await things.search({
        fields: { v: { query: [6, 12, 1, 0], limit: 3 } },
        filter: [{ parity: { $eq: 'even' } }],
      })
      const ids = even.results.v?.map((hit) => hit.id) ?? []
      t.strictSame(ids.slice(0, 2).sort(), ['id-4', 'id-8'], 'the nearest even ones, without the one that was deleted')
      t.equal((await things.deleteWhere([{ n: { $range: [10, 19] } }])).deleted, 10)
      t.equal((await things.deleteWhere([])).deleted, 0, 'an empty filter deletes nothing')
      t.equal(
        (
          await things.updateFilters([
            { id: 'id-50', filter: { color: 'red' } },
            { id: 'nobody', filter: {} },
          ])
        ).updated,
        1,
      )
      t.strictSame((await things.getMany(['id-50']))[0]?.filter, { color: 'red' }, 'the whole filter is replaced')
      t.equal(things.describe().objects, 89)
    })
  })
})

test('a replay of the log gives the same digest as the original run', async (t) => {
  await withDirectory(async (dataDir) => {
    const digests = await withEngine(dataDir, async (engine) => {
      const things = await engine.database().createCollection(definition)
      await engine.database().createCollection({ ...definition, name: 'gone' })
      for (let round = 0; round < 40; round++) {
        await things.upsert(numbered(20, round * 7))
        if (round % 3 === 0) await things.delete([`id-${round}`, `id-${round * 5}`])
        if (round === 20) await engine.checkpoint()
      }
      await engine.database().deleteCollection('gone')
      await engine.database().createCollection({ ...definition, name: 'gone' })
      return [things.stateDigest(), engine.database().collection('gone').stateDigest()]
    })
    await rm(join(dataDir, 'checkpoints'), { recursive: true })
    await withEngine(dataDir, async (engine) => {
      t.strictSame(
        [engine.database().collection('things').stateDigest(), engine.database().collection('gone').stateDigest()],
        digests,
      )
      t.equal(engine.database().collection('gone').describe().objects, 0)
    })
  })
})

test('concurrent searches and writes never return half of a write', async (t) => {
  await withDirectory(async (dataDir) => {
    await withEngine(dataDir, async (engine) => {
      const things = await engine.database().createCollection(definition)
      const version = (round: number) =>
        numbered(50).map((object) => ({
          ...object,
          meta: { n: object.meta.n, round },
          fields: { v: [...object.fields.v.slice(0, 3), round] },
        }))
      await things.upsert(version(0))
      let writing = true
      let searches = 0
      const mixed: string[] = []
      const reader = async () => {
        while (writing) {
          const { results } = await things.search({
            fields: { v: { query: [25, 50, 1, 0], limit: 50 } },
            includeVectors: true,
          })
          const hits = results.v ?? []
          if (new Set(hits.map((hit) => hit.id)).size !== 50) mixed.push(`${hits.length} hits`)
          const rounds = new Set(hits.map((hit) => `${hit.meta?.round}/${hit.vector?.[3]}`))
          if (rounds.size !== 1) mixed.push([...rounds].join(' '))
          searches++
        }
      }
      const readers = [reader(), reader(), reader()]
      for (let round = 1; round <= 60; round++) await things.upsert(version(round))
      writing = false
      await Promise.all(readers)
      t.strictSame(mixed.slice(0, 5), [], `${searches} searches saw one version each`)
    })
  })
})

test('a second engine on the directory is rejected, and names and limits are checked', async (t) => {
  await withDirectory(async (dataDir) => {
    await withEngine(dataDir, async (engine) => {
      await t.rejects(openEngine({ dataDir }), { code: 'directory_locked' })
      const database = engine.database()
      await database.createCollection(definition)
      await t.rejects(database.createCollection(definition), { code: 'collection_exists' })
      const twins = await Promise.allSettled(
        [1, 2].map(() => database.createCollection({ ...definition, name: 'twin' })),
      )
      t.strictSame(twins.map((twin) => twin.status).sort(), ['fulfilled', 'rejected'], 'of two at once one wins')
      t.throws(() => database.collection('nobody'), { code: 'collection_not_found' })
      await t.rejects(database.createCollection({ ...definition, name: 'a/b' }), { code: 'invalid_argument' })
      const things = database.collection('things')
      const refusals: [unknown, string][] = [
        [[{ id: '', fields: { v: [1, 2, 3, 4] } }], 'invalid_argument'],
        [[{ id: 'a\ud800b', fields: { v: [1, 2, 3, 4] } }], 'invalid_argument'],
        [[{ id: 'a', fields: { v: [1, 2, 3] } }], 'invalid_argument'],
        [[{ id: 'a', fields: { v: [1, 2, 3, Number.NaN] } }], 'invalid_argument'],
        [[{ id: 'a', fields: { v: [1, 2, 3, 1e39] } }], 'invalid_argument'],
        [[{ id: 'a', fields: { v: [1, 2, 3, '4'] } }], 'invalid_argument'],
        [[{ id: 'a', fields: { w: [1, 2, 3, 4] } }], 'field_not_found'],
        [
          [
            { id: 'a', fields: { v: [1, 2, 3, 4] } },
            { id: 'a', fields: { v: [1, 2, 3, 4] } },
          ],
          'invalid_argument',
        ],
        [Array.from({ length: 1001 }, (_, i) => ({ id: `${i}`, fields: { v: [1, 2, 3, 4] } })), 'limit_exceeded'],
      ]
      const lsn = engine.stats().lsnApplied
      for (const [objects, code] of refusals) await t.rejects(things.upsert(objects as never), { code })
      t.equal(engine.stats().lsnApplied, lsn, 'nothing was appended')
      await t.rejects(things.search({ fields: { v: { query: [1, 2, 3, 4], limit: 513 } } }), { code: 'limit_exceeded' })
      await t.rejects(things.search({ fields: { v: { query: [1, 2, 3, 4], ef: 1025 } } }), { code: 'limit_exceeded' })
    })
  })
})

test('a damaged checkpoint is skipped in favor of the previous one, and health reports it', async (t) => {
  await withDirectory(async (dataDir) => {
    const digest = await withEngine(dataDir, async (engine) => {
      const things = await engine.database().createCollection(definition)
      await things.upsert(numbered(100))
      await engine.checkpoint()
      await things.upsert(numbered(100, 100))
      await engine.checkpoint()
      await things.upsert(numbered(100, 200))
      return things.stateDigest()
    })
    const newest = (await readdir(join(dataDir, 'checkpoints'))).sort().at(-1) as string
    await writeFile(join(dataDir, 'checkpoints', newest, 'collection-1-part-0.snap'), 'damage')
    await withEngine(dataDir, async (engine) => {
      t.equal(engine.database().collection('things').stateDigest(), digest, 'nothing is missing')
      t.equal(engine.health().status, 'degraded')
      t.match(engine.health().reasons[0], /damaged/)
    })
  })
})

test('a relative data directory stays the same when the process changes its working directory', async (t) => {
  await withDirectory(async (dataDir) => {
    const before = process.cwd()
    process.chdir(dirname(dataDir))
    try {
      await withEngine('data', async (engine) => {
        process.chdir(before)
        const things = await engine.database().createCollection(definition)
        await things.upsert(numbered(10))
        await engine.checkpoint()
      })
    } finally {
      process.chdir(before)
    }
    t.same((await readdir(dataDir)).filter((name) => name === 'checkpoints' || name === 'wal').sort(), [
      'checkpoints',
      'wal',
    ])
    t.equal((await readdir(join(dataDir, 'checkpoints'))).length, 1)
  })
})
