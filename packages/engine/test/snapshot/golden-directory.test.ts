// A whole data directory as an earlier Annal left it when it was killed opens, and holds what it held: checkpoints with every
// kind of field, and records after them. One golden file per format; `ANNAL_GOLDEN=write` makes the one of today's.
import { cp, mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Engine, openEngine, type Precision, verifyDataDirectory } from '@annal/engine'
import { openWorkerPool } from '@annal/engine/testing'
import tap, { test } from 'tap'
import { rulesNewest } from '../../src/model/schema.ts'
import { eagerDeltas } from './eager-deltas.ts'
import { filesOfKilled, formatsOf, type GoldenFiles, storeGolden, writeGolden } from './golden-files.ts'

tap.setTimeout(300_000)

// Threads of an engine take longer to start than a directory to open.
const pool = await openWorkerPool({ threads: 1 })
tap.teardown(() => pool.close())

/** Newest last; the last is the one that is written. */
const formats = [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14].map((number) => `data-directory-${number}`)

const dimension = 8
/** Directories before the ninth do not have the last two. */
const precisions = ['binary', 'int8', 'int16', 'float16', 'float32', 'int4', 'int2'] as const

interface Golden extends GoldenFiles {
  /** By collection. */
  readonly digests: Readonly<Record<string, string>>
  /** The best hits of a few searches, by field. */
  readonly hits: unknown
  /** Vectors of the collection `given` by id, in hexadecimal digits; of directories that have it. */
  readonly given?: Readonly<Record<string, string>>
  /** Answers of writes with request keys; of directories that have some. */
  readonly answers?: unknown
  /** LSNs of objects of the collection `keyed` by id; of directories that have them. */
  readonly lsns?: Readonly<Record<string, number>>
}

/** Objects of one vector: more than a list has room for. */
function copies(count: number, from: number) {
  const v = Array.from({ length: dimension }, (_, index) => Math.cos(index))
  return Array.from({ length: count }, (_, i) => ({ id: `copy-${from + i}`, meta: { i }, fields: { v } }))
}

function objects(count: number, from: number) {
  return Array.from({ length: count }, (_, i) => {
    const n = from + i
    const v = Array.from({ length: dimension }, (__, index) => Math.sin(n * (index + 1)))
    const s = { indices: [n % 7, 10 + (n % 5)], values: [1, 0.5] }
    return { id: `${n}`, meta: { n }, filter: { third: n % 3, even: n % 2 === 0 }, fields: { v, s } }
  })
}

/** Vectors of a cosine collection, some of unit length, some with a norm: what came is kept. */
function givenObjects(count: number, from: number) {
  return Array.from({ length: count }, (_, i) => {
    const n = from + i
    const v = Array.from({ length: dimension }, (__, at) => Math.sin((n + 1) * (at + 2)) * 10 ** ((n % 7) - 3))
    const unit = v.map((x) => x / Math.hypot(...v))
    const w = n % 3 === 0 ? { vector: unit, norm: n + 1 } : n % 3 === 1 ? { vector: v, norm: 2 } : unit
    return { id: `${n}`, fields: { v, w } }
  })
}

async function fillGiven(engine: Engine): Promise<void> {
  const params = (precision: Precision) => ({ dimension, space_type: 'cosine', precision, M: 4, ef_con: 16 }) as const
  const fields = [
    { name: 'v', type: 'vector', params: params('float32') },
    { name: 'w', type: 'vector', params: params('int8') },
    { name: 'cheap', type: 'vector', params: { ...params('int8'), keep_originals: false } },
  ] as const
  const collection = await engine.database().createCollection({ name: 'given', fields })
  await collection.upsert(givenObjects(60, 0))
  await engine.checkpoint()
  await collection.upsert(givenObjects(30, 50))
  await collection.delete(['1', '52'])
}

/** Fields with a default recall: in a checkpoint, and changed by a record after it. */
async function fillRecalls(engine: Engine): Promise<void> {
  const params = { dimension, space_type: 'l2', precision: 'int8', M: 4, ef_con: 16 } as const
  const fields = [
    { name: 'v', type: 'vector', params: { ...params, recall: 0.9 } },
    { name: 'w', type: 'vector', params },
  ] as const
  const collection = await engine.database().createCollection({ name: 'recalls', fields })
  await collection.upsert(objects(20, 0).map(({ id, fields: { v } }) => ({ id, fields: { v } })))
  await collection.updateFields({ v: { recall: 0.95 } })
  await engine.checkpoint()
  await collection.updateFields({ v: { recall: null }, w: { recall: 0.99 } })
}

/** Writes with request keys: in a checkpoint, and after it. Returns their answers. */
async function keyedWrites(engine: Engine, midway: () => Promise<unknown>): Promise<unknown> {
  const params = { dimension, space_type: 'l2', precision: 'int8', M: 4, ef_con: 16 } as const
  const database = engine.database()
  const fields = [{ name: 'v', type: 'vector', params }] as const
  const collection = await database.createCollection({ name: 'keyed', fields }, { requestKey: 'create' })
  const vectors = objects(9, 0).map(({ id, filter, fields: { v } }) => ({ id, filter, fields: { v } }))
  const answers: unknown[] = [
    await collection.upsert(vectors, { requestKey: 'upsert' }),
    await collection.delete(['1', 'absent', '2'], { requestKey: 'delete' }),
    await collection.delete(['absent'], { requestKey: 'nothing' }),
  ]
  await midway()
  answers.push(await collection.deleteWhere([{ third: { $eq: 0 } }], { requestKey: 'where' }))
  answers.push(await collection.updateFilters([{ id: '4', filter: { third: 8 } }], { requestKey: 'filters' }))
  return answers
}

/** Default recalls by field. */
function recallsOf(engine: Engine): unknown {
  const { fields } = engine.database().collection('recalls').describe()
  return fields.map(({ kind, name, params }) => [name, kind === 'dense' ? params.recall : undefined])
}

/** Objects that expire: in a checkpoint, and by records after it. */
async function fillExpiries(engine: Engine): Promise<void> {
  const params = { dimension, space_type: 'l2', precision: 'int8', M: 4, ef_con: 16 } as const
  const fields = [{ name: 'v', type: 'vector', params }] as const
  const collection = await engine.database().createCollection({ name: 'expiring', fields, ttlSeconds: 3_155_760_000 })
  const [late, early] = ['2999-01-01T00:00:00Z', '2026-01-01T00:00:00Z']
  const vectors = objects(9, 0).map(({ id, filter, fields: { v } }) => ({ id, filter, fields: { v } }))
  await collection.upsert(vectors.map((object, n) => ({ ...object, expiresAt: [late, early, null][n % 3] })))
  await engine.checkpoint()
  await collection.patch([{ id: '0', expiresAt: early }])
  await collection.updateFilters([{ id: '3', filter: { third: 9 } }])
  await collection.updateDefaults({ ttlSeconds: null })
}

/** Expiries by id of the objects that have not expired. */
async function expiriesOf(engine: Engine): Promise<Record<string, number | undefined>> {
  const { objects } = await engine.database().collection('expiring').scroll({ limit: 500 })
  return Object.fromEntries(objects.map(({ id, expiresAt }) => [id, expiresAt]))
}

async function givenOf(engine: Engine): Promise<Record<string, string>> {
  const { objects } = await engine.database().collection('given').scroll({ limit: 500 })
  const digits = (vector: Float32Array | undefined) =>
    Buffer.from(Float32Array.from(vector ?? []).buffer).toString('hex')
  return Object.fromEntries(objects.map(({ id, dense }) => [id, `${digits(dense.v?.vector)} ${digits(dense.w?.row)}`]))
}

/** Some are in a checkpoint, others only in records after it. */
async function lsnsOf(engine: Engine): Promise<Record<string, number>> {
  const { objects } = await engine.database().collection('keyed').scroll({ limit: 500 })
  return Object.fromEntries(objects.map(({ id, lsn }) => [id, lsn]))
}

async function fill(engine: Engine): Promise<void> {
  for (const [i, precision] of precisions.entries()) {
    const params = { dimension, space_type: (['l2', 'ip', 'cosine'] as const)[i % 3], precision, M: 4, ef_con: 16 }
    const fields = [
      { name: 'v', type: 'vector', params },
      { name: 's', type: 'sparse', params: { model: i % 2 === 0 ? 'default' : 'endee_bm25' } },
    ] as const
    const collection = await engine.database().createCollection({ name: precision, fields })
    await collection.upsert(objects(260, 0))
    await collection.upsert(copies(40, 0))
    await engine.checkpoint()
    await collection.delete(['3', '4', '5'])
    await collection.upsert(objects(20, 250))
    await collection.upsert(copies(20, 30))
  }
  const database = engine.database()
  await engine.checkpoint()
  for (const precision of precisions) {
    await database.collection(precision).upsert(objects(10, 265))
    await database.collection(precision).delete(['copy-0', 'copy-1', 'copy-50'])
    await database.collection(precision).upsert(copies(5, 60))
    await database.collection(precision).updateFilters([{ id: '7', filter: { third: 9 } }])
    await database.collection(precision).deleteWhere([{ third: { $eq: 1 } }])
  }
  await database.collection('int8').rebuild()
}

async function hitsOf(engine: Engine): Promise<unknown> {
  const found: Record<string, unknown> = {}
  const names = engine
    .database()
    .collections()
    .map(({ name }) => name)
  for (const precision of precisions.filter((name) => names.includes(name))) {
    const { results } = await engine
      .database()
      .collection(precision)
      .search({
        fields: {
          v: { query: Array.from({ length: dimension }, (_, index) => Math.sin(9 * (index + 1))), limit: 5 },
          s: { query: { indices: [2, 11], values: [1, 1] }, limit: 5 },
        },
        filter: [{ even: { $eq: true } }],
        // What the codes say, which are those of before.
        rescore: false,
      })
    found[precision] = Object.values(results).map((hits) => hits.map(({ id }) => id))
  }
  return found
}

function digestsOf(engine: Engine): Record<string, string> {
  const names = engine
    .database()
    .collections()
    .map(({ name }) => name)
  return Object.fromEntries(names.map((name) => [name, engine.database().collection(name).stateDigest()]))
}

async function made(dir: string): Promise<Golden> {
  const engine = await openEngine({ dataDir: join(dir, 'live') }, { pool, deltas: eagerDeltas })
  await fillGiven(engine)
  await fill(engine)
  await fillRecalls(engine)
  await fillExpiries(engine)
  const answers = await keyedWrites(engine, () => engine.checkpoint())
  const [digests, hits, given] = [digestsOf(engine), await hitsOf(engine), await givenOf(engine)]
  const lsns = await lsnsOf(engine)
  // What a kill would leave.
  await cp(join(dir, 'live'), join(dir, 'killed'), { recursive: true })
  await engine.close()
  const files = await filesOfKilled(join(dir, 'killed'))
  return { digests, hits, given, answers, lsns, files }
}

for (const format of formats) {
  test(`a directory of ${format} opens with its content`, async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'annal-golden-'))
    t.teardown(() => rm(dir, { recursive: true }))
    if (process.env.ANNAL_GOLDEN === 'write' && format === formats.at(-1)) storeGolden(format, await made(dir))
    const dataDir = join(dir, 'data')
    const golden = await writeGolden<Golden>(format, dataDir)
    const { findings, states } = await verifyDataDirectory({ dataDir, deep: true, threads: 1, scratchDir: dir })
    t.strictSame(
      findings.filter(({ severity }) => severity === 'damage'),
      [],
    )
    t.ok(states.length >= 2, `${states.length} ways to the state`)
    for (let start = 0; start < 2; start++) {
      const engine = await openEngine({ dataDir }, { pool })
      t.strictSame(engine.health().reasons, [])
      t.strictSame(digestsOf(engine), golden.digests, start === 0 ? 'after the kill' : 'and after an orderly close')
      t.strictSame(await hitsOf(engine), golden.hits)
      if ('recalls' in golden.digests)
        t.strictSame(recallsOf(engine), [
          ['v', undefined],
          ['w', 0.99],
        ])
      if ('expiring' in golden.digests) {
        const late = Date.parse('2999-01-01T00:00:00Z')
        t.strictSame(await expiriesOf(engine), { 2: undefined, 3: late, 5: undefined, 6: late, 8: undefined })
        t.equal(engine.database().collection('expiring').describe().ttlSeconds, undefined)
      }
      if (golden.answers)
        t.strictSame(await keyedWrites(engine, async () => undefined), golden.answers, 'the first answers')
      if (golden.given) t.strictSame(await givenOf(engine), golden.given)
      if (golden.lsns) t.strictSame(await lsnsOf(engine), golden.lsns)
      await engine.close()
    }
  })
}

test('an earlier version refuses a directory with int4, int2, a default recall, request keys, LSNs, or expiries, and opens one without', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-golden-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const numbers = [8, 9, 11, 12, 13, 14].map(async (number) =>
    formatsOf(await writeGolden(`data-directory-${number}`, dir)),
  )
  t.strictSame(
    (await Promise.all(numbers)).map((formats) => Math.max(...formats)),
    [6, 7, 8, 9, 10, 11],
  )
})

for (const name of ['int8', 'binary'])
  test(`${name}: rows of the first rules keep them until a rebuild, and both replay them`, async (t) => {
    const dir = await mkdtemp(join(tmpdir(), 'annal-golden-'))
    t.teardown(() => rm(dir, { recursive: true }))
    const dataDir = join(dir, 'data')
    await writeGolden('data-directory-2', dataDir)
    const rulesOf = (engine: Engine) => {
      const [field] = engine.database().collection(name).describe().fields
      return field?.kind === 'dense' ? field.params.rules : 0
    }
    let engine = await openEngine({ dataDir }, { pool })
    await engine.database().collection(name).upsert(copies(40, 0))
    t.equal(rulesOf(engine), undefined)
    await engine.database().collection(name).rebuild()
    t.equal(rulesOf(engine), rulesNewest)
    await engine.database().collection(name).upsert(copies(40, 40))
    const digests = digestsOf(engine)
    await cp(dataDir, join(dir, 'killed'), { recursive: true })
    await engine.close()
    for (const from of [dataDir, join(dir, 'killed')]) {
      engine = await openEngine({ dataDir: from }, { pool })
      t.strictSame(digestsOf(engine), digests, from === dataDir ? 'from its checkpoint' : 'by replay')
      t.equal(rulesOf(engine), rulesNewest)
      await engine.close()
    }
  })

test('binary fields of an old directory are rescored unless a search disables it, before and after a rebuild', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-golden-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const dataDir = join(dir, 'data')
  await writeGolden('data-directory-2', dataDir)
  const engine = await openEngine({ dataDir }, { pool })
  const collection = engine.database().collection('binary')
  const vectorOf = (n: number) => Array.from({ length: dimension }, (_, at) => Math.sin(n * (at + 1)))
  const query = vectorOf(9.01)
  // Squared distances of 270 points, the nearest of which must keep their order.
  const errorOf = async (rescore?: boolean) => {
    const { results } = await collection.search({
      fields: { v: { query, limit: 5 } },
      filter: [{ even: { $eq: true } }],
      ...(rescore !== undefined && { rescore }),
    })
    const errors = (results.v ?? []).map(({ id, distance }) => {
      if (id.startsWith('copy')) return 0
      const exact = vectorOf(Number(id)).reduce(
        (sum, x, i) => sum + (Math.fround(x) - Math.fround(query[i] as number)) ** 2,
        0,
      )
      return Math.abs(distance - exact)
    })
    return Math.max(...errors)
  }
  const before = await errorOf(false)
  t.ok(before > 0.01)
  t.ok((await errorOf()) < 1e-6)
  // Enough to be kept as signs.
  await collection.upsert(objects(300, 300))
  await collection.rebuild()
  const after = await errorOf(false)
  t.ok(after > 1e-5 && after < before / 2, `${after}, ${before} before`)
  t.ok((await errorOf()) < 1e-6)
  await engine.close()
})

test('a cosine field of an earlier version returns what it stored, and stores new vectors as given', async (t) => {
  const dir = await mkdtemp(join(tmpdir(), 'annal-golden-'))
  t.teardown(() => rm(dir, { recursive: true }))
  const dataDir = join(dir, 'data')
  await writeGolden('data-directory-4', dataDir)
  const before = new Map(objects(300, 0).map(({ id, fields }) => [id, Float32Array.from(fields.v)]))
  const given = objects(40, 400).map(({ id, fields }) => ({ id, fields: { v: fields.v.map((x) => x * 37) } }))
  let engine = await openEngine({ dataDir }, { pool })
  const check = async (what: string) => {
    const { objects: stored } = await engine.database().collection('int16').scroll({ limit: 1_000 })
    const wrong = stored.filter(({ id, dense }) => {
      const vector = Array.from(dense.v?.vector ?? [])
      const now = given.find((one) => one.id === id)
      if (now) return !now.fields.v.every((x, i) => Object.is(Math.fround(x), vector[i]))
      const wanted = before.get(id)
      // Row and norm were rounded, and their product is.
      return wanted !== undefined && !wanted.every((x, i) => Math.abs(x - (vector[i] ?? 0)) <= 2 ** -22 * Math.abs(x))
    })
    t.strictSame(
      wrong.map(({ id }) => id),
      [],
      what,
    )
    t.ok(stored.length > 100 && given.every(({ id }) => stored.some((one) => one.id === id)))
  }
  await engine.database().collection('int16').upsert(given)
  await check('after the upgrade')
  await engine.checkpoint()
  await engine.close()
  engine = await openEngine({ dataDir }, { pool })
  await check('from its checkpoint')
  await engine.database().collection('int16').rebuild()
  await check('after a rebuild')
  await engine.close()
})
