import { mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Collection, type Engine, openEngine, type Precision } from '@annal/engine'
import tap, { test } from 'tap'

tap.setTimeout(300_000)

const dimension = 16

async function inDirectory(act: (dataDir: string) => Promise<void>): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'annal-rebuild-'))
  try {
    await act(join(dir, 'data'))
  } finally {
    await rm(dir, { recursive: true })
  }
}

function vector(n: number): number[] {
  return Array.from({ length: dimension }, (_, i) => Math.sin(n * 12.9898 + i * 78.233))
}

function objects(from: number, to: number) {
  return Array.from({ length: to - from }, (_, i) => {
    const n = from + i
    const sparse = { indices: [n % 50, 100 + (n % 7)], values: [1, 0.5] }
    return {
      id: `${n}`,
      meta: { n },
      filter: { even: n % 2 === 0 },
      fields: n % 5 ? { v: vector(n), s: sparse } : { v: vector(n) },
    }
  })
}

async function create(engine: Engine, precision: Precision): Promise<Collection> {
  const params = { dimension, space_type: 'cosine', precision } as const
  const fields = [
    { name: 'v', type: 'vector', params },
    { name: 's', type: 'sparse' },
  ] as const
  return engine.database().createCollection({ name: 'c', fields })
}

/**
 * The state that must not change: original vectors and exact results. Quantized rows may change, because their center is computed again.
 */
async function readState(collection: Collection): Promise<unknown> {
  const got = await collection.getMany(['1', '250', '1777', '1999', '0'])
  const hits = async (n: number) => {
    const query = { v: { query: vector(n), ef: 512 }, s: { query: { indices: [n % 50], values: [1] }, limit: 5 } }
    const { results } = await collection.search({
      fields: query,
      filter: [{ even: { $eq: n % 2 === 0 } }],
      rescore: true,
    })
    return [results.v?.map(({ id }) => id), results.s?.map(({ similarity }) => similarity)]
  }
  return [got.map(({ id, meta, filter }) => [id, meta, filter]), await Promise.all([1_801, 1_950, 1_998].map(hits))]
}

const written = { int8: 20_000, float32: 20_000, int4: 4_000, int2: 4_000, binary: 4_000 } as const
for (const [precision, end] of Object.entries(written) as [keyof typeof written, number][]) {
  test(`a rebuild of ${precision} keeps the objects, frees memory, and replays to the same digest`, async (t) => {
    await inDirectory(async (dataDir) => {
      const open = () => openEngine({ dataDir, threads: 2, keepLog: true })
      let engine = await open()
      const collection = await create(engine, precision)
      for (let n = 0; n < end; n += 1_000) await collection.upsert(objects(n, n + 1_000))
      for (let n = 2_000; n < end; n += 1_000) await collection.delete(objects(n, n + 1_000).map(({ id }) => id))
      const before = await readState(collection)
      const { reclaimedBytes } = await collection.vacuum()
      t.ok(reclaimedBytes > 0, `${reclaimedBytes} bytes given back`)
      t.strictSame(await readState(collection), before)
      t.match(collection.rebuildStatus(), { status: 'completed', objectsDone: 2_000, objects: 2_000 })
      await collection.rebuild({ v: { M: 8, efConstruction: 64 } })
      t.match(collection.describe().fields[0], { params: { M: 8, efConstruction: 64 } })
      await collection.upsert(objects(30_000, 30_010))
      const digest = collection.stateDigest()
      await engine.close()
      engine = await open()
      t.equal(engine.database().collection('c').stateDigest(), digest, 'from a checkpoint')
      t.match(engine.database().collection('c').describe().fields[0], { params: { M: 8, efConstruction: 64 } })
      await engine.close()
      await rm(join(dataDir, 'checkpoints'), { recursive: true })
      engine = await open()
      t.equal(engine.database().collection('c').stateDigest(), digest, 'by replay')
      t.strictSame(await readState(engine.database().collection('c')), before)
      const files = await readdir(join(dataDir, 'originals')).catch(() => [])
      t.ok(
        new Set(files.map((name) => /generation-\d+/.exec(name)?.[0])).size <= 1,
        'files of before the rebuilds are gone',
      )
      await engine.close()
    })
  })
}

test('after a start that replays a rebuild, the directory opens again and has only the newest files', async (t) => {
  await inDirectory(async (dataDir) => {
    let engine = await openEngine({ dataDir, threads: 1, keepLog: true })
    const collection = await create(engine, 'int8')
    await collection.upsert(objects(0, 300))
    await collection.rebuild()
    for (let start = 0; start < 5; start++) {
      // Closing waits until the files that the rebuild replaced are removed.
      await engine.close()
      t.strictSame(
        (await readdir(join(dataDir, 'originals'))).filter((name) => !name.includes('generation-1-')),
        [],
      )
      await rm(join(dataDir, 'checkpoints'), { recursive: true })
      engine = await openEngine({ dataDir, threads: 1, keepLog: true })
    }
    t.equal(engine.database().collection('c').describe().objects, 300)
    await engine.close()
  })
})

test('a collection with mostly deleted objects is vacuumed automatically', async (t) => {
  await inDirectory(async (dataDir) => {
    const engine = await openEngine({ dataDir, threads: 2 })
    const collection = await create(engine, 'int8')
    for (let n = 0; n < 15_000; n += 1_000) await collection.upsert(objects(n, n + 1_000))
    for (let n = 1_000; n < 15_000; n += 1_000) await collection.delete(objects(n, n + 1_000).map(({ id }) => id))
    // The delete starts the rebuild when it is due, and the next writer waits for it.
    await collection.upsert(objects(20_000, 20_001))
    t.match(collection.rebuildStatus(), { status: 'completed' })
    const { results } = await collection.search({ fields: { v: { query: vector(7), limit: 1 } }, rescore: true })
    t.equal(results.v?.[0]?.id, '7')
    await engine.close()
  })
})

test('during a rebuild, readers continue, writers wait, and a second rebuild is rejected', async (t) => {
  await inDirectory(async (dataDir) => {
    const engine = await openEngine({ dataDir, threads: 2 })
    const collection = await create(engine, 'int8')
    for (let n = 0; n < 10_000; n += 1_000) await collection.upsert(objects(n, n + 1_000))
    const order: string[] = []
    let searches = 0
    const rebuilding = collection.rebuild().then(() => order.push('rebuilt'))
    await t.rejects(collection.rebuild(), { code: 'rebuild_running' })
    const writing = collection.upsert(objects(50_000, 50_001)).then(() => order.push('written'))
    while (collection.rebuildStatus().status === 'running') {
      const { results } = await collection.search({ fields: { v: { query: vector(77), limit: 1 } }, rescore: true })
      if (results.v?.[0]?.id !== '77') t.fail('a search during the rebuild missed')
      searches++
    }
    await Promise.all([rebuilding, writing])
    t.strictSame(order, ['rebuilt', 'written'])
    t.ok(searches > 0, `${searches} searches while it was rebuilt`)
    await t.rejects(collection.rebuild({ s: { M: 8 } }), { code: 'field_not_found' })
    await t.rejects(collection.rebuild({ v: { M: 3 } }), { code: 'limit_exceeded' })
    t.equal(collection.describe().objects, 10_001)
    await engine.close()
  })
})
