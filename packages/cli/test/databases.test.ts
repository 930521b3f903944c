// Imports from other databases: pgvector in a real PostgreSQL, which runs as WebAssembly in this process behind a socket; Qdrant and
// Chroma as replayed traffic, written from their published interfaces.
import { existsSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { connect, type StoredObject } from '@annal/client'
import { PGlite } from '@electric-sql/pglite'
import { vector } from '@electric-sql/pglite-pgvector'
import { PGLiteSocketServer } from '@electric-sql/pglite-socket'
import tap, { type Test, test } from 'tap'
import { freshDir, serve } from './command.ts'
import { importing, silent } from './importing.ts'
import { replay } from './replayed-traffic.ts'

// Starting PostgreSQL takes seconds on a busy machine.
tap.setTimeout(300_000)

async function stored(server: string, name: string) {
  await using client = connect({ url: server })
  const collection = client.collection(name)
  const objects: StoredObject[] = []
  for await (const object of collection.objects()) objects.push(object)
  const { fields } = await collection.describe()
  return { objects, fields, objectWithId: (id: string) => objects.find((object) => object.id === id) }
}

test('over one server', async (t) => {
  const { address: server } = await serve(t, path.join(freshDir(t), 'data'))
  await t.test(
    'a Qdrant collection comes over with named, sparse and multiple vectors, payload and ids of 64 bits',
    (t) => fromQdrant(t, server),
  )
  await t.test('an import from Qdrant that fails goes on where it ended, and asks for nothing twice', (t) =>
    resumed(t, server),
  )
  await t.test('unnamed vectors of Qdrant get the name of --field, and its errors are reported', (t) =>
    unnamed(t, server),
  )
  await t.test('a Chroma collection comes over with documents and metadata', (t) => fromChroma(t, server))
  await t.test('from PostgreSQL', (t) => fromPostgres(t, server))
})

async function fromQdrant(t: Test, server: string): Promise<void> {
  const qdrant = await replay(t, 'qdrant')
  await importing('qdrant', `qdrant://${qdrant.host}/films`, {
    server,
    create: true,
    sourceToken: 'secret',
    precision: 'float32',
  })
  t.equal(qdrant.requests[0]?.headers['api-key'], 'secret')
  const { objects, fields, objectWithId } = await stored(server, 'qdrant')
  t.same(objects.map(({ id }) => id).sort(), [
    '1',
    '18446744073709551615',
    '2',
    '5c56c793-69f3-4fbf-87e6-c4bf54c28c26',
    'f3a1e0f2-7d3d-4ad0-9f6a-0f4f3a2b1c0d',
  ])
  t.match(objectWithId('1'), {
    meta: { title: 'Alien', crew: { director: 'Scott' } },
    filter: { title: 'Alien', year: 1979, tags: ['space', 'fear'] },
    sparse: { words: { indices: [7, 4_294_967_295], values: [2, 0.5] } },
    multi: {
      pages: [{ vector: [1, 2] }, { vector: [3, 4] }],
    },
  })
  t.notOk('crew' in (objectWithId('1')?.filter ?? {}), 'what no filter can ask for is meta alone')
  t.match(
    fields.map(({ name, type }) => [name, type]),
    [
      ['plot', 'vector'],
      ['pages', 'multi_vector'],
      ['words', 'sparse'],
    ],
  )
  t.match(
    fields.map((field) => 'spaceType' in field.params && field.params.spaceType),
    ['cosine', 'ip', false],
  )
}

async function resumed(t: Test, server: string): Promise<void> {
  const dir = freshDir(t)
  const qdrant = await replay(t, 'qdrant')
  const resume = path.join(dir, 'progress')
  const run = (said = silent()) =>
    importing('resumed', `qdrant://${qdrant.host}/films`, { server, create: true, resume, batch: 2 }, said.terminal)
  const said = silent()
  qdrant.refuse('"offset":null')
  await t.rejects(run(), { exitCode: 76, message: /Forbidden/ })
  t.match(JSON.parse(readFileSync(resume, 'utf8')), { stored: 0, next: null }, 'the collection is there, and empty')
  qdrant.refuse('f3a1e0f2')
  await t.rejects(run(said), { exitCode: 76, message: /points\/scroll responded with status 403: .*Forbidden/ })
  t.match(
    said.said.join('\n'),
    `4 objects are stored; run the same command with --resume ${resume} to continue after them`,
  )
  t.match(JSON.parse(readFileSync(resume, 'utf8')), {
    stored: 4,
    next: 'f3a1e0f2-7d3d-4ad0-9f6a-0f4f3a2b1c0d',
    collection: 'resumed',
  })
  await t.rejects(importing('other', `qdrant://${qdrant.host}/films`, { server, resume }), {
    message: /belongs to an import of .* into resumed/,
  })
  qdrant.refuse(undefined)
  const before = qdrant.requests.length
  t.equal(await run(), 0)
  t.same(
    qdrant.requests.slice(before).map(({ body }) => body.includes('f3a1e0f2')),
    [false, true],
    'the description, and the last page',
  )
  t.equal((await stored(server, 'resumed')).objects.length, 5)
  t.notOk(existsSync(resume))
}

async function unnamed(t: Test, server: string): Promise<void> {
  const qdrant = await replay(t, 'qdrant')
  await importing('one', `qdrant://${qdrant.host}/one`, { server, create: true, field: 'v' })
  const { objects, fields } = await stored(server, 'one')
  t.match(objects, [{ id: '0', dense: { v: { norm: 5 } } }])
  t.match(fields, [{ name: 'v', params: { spaceType: 'l2', dimension: 2 } }])
  await t.rejects(importing('x', `qdrant://${qdrant.host}/none`, { server }), {
    exitCode: 76,
    message: /404: .*doesn't exist/,
  })
  await t.rejects(importing('x', `qdrant://${qdrant.host}/`, { server }), {
    exitCode: 64,
    message: /the collection is missing/,
  })
}

async function fromChroma(t: Test, server: string): Promise<void> {
  const chroma = await replay(t, 'chroma')
  await importing('chroma', `chroma://${chroma.host}/films`, {
    server,
    create: true,
    field: 'text',
    filterKeys: 'year',
    sourceToken: 'secret',
  })
  t.equal(chroma.requests[0]?.headers['x-chroma-token'], 'secret')
  const { objects, fields, objectWithId } = await stored(server, 'chroma')
  t.equal(objects.length, 3)
  t.same(objectWithId('alien')?.meta, {
    year: 1979,
    document: 'poster',
    'chroma:document': 'In space no one can hear you scream.',
  })
  t.same(objectWithId('solaris')?.meta, { uri: 's3://films/solaris' })
  t.same(objectWithId('stalker')?.filter, { year: 1979 })
  t.match(fields, [{ name: 'text', params: { dimension: 3, spaceType: 'cosine' } }])
  await t.rejects(importing('x', `chroma://${chroma.host}/none`, { server }), { message: /does not exist/ })
}

interface Databases {
  /** The Annal server. */
  readonly server: string
  readonly db: PGlite
  /** The port of PostgreSQL. */
  readonly address: string
}

/** PostgreSQL with pgvector, on its own port. */
async function postgres(t: Test): Promise<{ readonly db: PGlite; readonly address: string }> {
  const db = await PGlite.create({ extensions: { vector } })
  const server = new PGLiteSocketServer({ db, port: 0, host: '127.0.0.1', maxConnections: 8 })
  await server.start()
  t.teardown(async () => {
    await server.stop()
    await db.close()
  })
  await db.exec('CREATE EXTENSION vector')
  return { db, address: `postgres://postgres:postgres@${server.getServerConn()}/postgres?sslmode=disable` }
}

async function fromPostgres(t: Test, server: string): Promise<void> {
  const { db, address } = await postgres(t)
  await t.test('a pgvector table comes over, every kind of vector and column', (t) =>
    everyColumn(t, { server, db, address }),
  )
  await t.test('an import that was cut short goes on after the last key', (t) => cutShort(t, { server, db, address }))
  await t.test('what cannot be read in order, or is not there, is refused', (t) => refused(t, { server, db, address }))
}

async function everyColumn(t: Test, { server, db, address }: Databases): Promise<void> {
  await db.exec(`
    CREATE TABLE "Films" (
      number bigint PRIMARY KEY, title text, made date, length interval, score numeric, extra jsonb, seen boolean,
      plot vector(3), half halfvec(2), words sparsevec(10)
    );
    CREATE INDEX ON "Films" USING hnsw (plot vector_ip_ops);
    INSERT INTO "Films" SELECT 9007199254740000 + i, 'film ' || i, '1979-05-25', '117 minutes', 7.50, '{"tags":["a",null]}', i % 2 = 0,
      ('[' || i || ',0.5,-1]')::vector, '[1,2]', '{1:0.5,10:2}/10' FROM generate_series(1, 1200) i;
  `)
  const from = `${address}&table="Films"`
  const options = { server, create: true, column: ['title=filter.title', 'seen='], precision: 'float32' }
  t.equal(await importing('table', from, options), 0)
  const { objects, fields, objectWithId } = await stored(server, 'table')
  t.equal(objects.length, 1_200)
  t.match(objectWithId('9007199254740993'), {
    meta: { made: '1979-05-25', score: '7.50', extra: { tags: ['a', null] } },
    filter: { title: 'film 993' },
    sparse: { words: { indices: [0, 9], values: [0.5, 2] } },
  })
  t.same(Array.from(objectWithId('9007199254740993')?.dense.plot?.vector ?? []), [993, 0.5, -1])
  t.match(
    fields.map((field) => ('spaceType' in field.params ? [field.name, field.params.spaceType] : [field.name])),
    [['plot', 'ip'], ['half', 'cosine'], ['words']],
  )
  t.notOk('seen' in (objectWithId('9007199254740993')?.meta ?? {}))
}

async function cutShort(t: Test, { server, db, address }: Databases): Promise<void> {
  const dir = freshDir(t)
  const resume = path.join(dir, 'progress')
  await db.exec(`
    CREATE TABLE items (id text PRIMARY KEY, v vector(2));
    INSERT INTO items SELECT 'n' || i, '[1,2]' FROM generate_series(1, 1500) i;
    INSERT INTO items VALUES ('n900', '[1,2]') ON CONFLICT (id) DO UPDATE SET id = 'n9' || repeat('x', 600);
  `)
  const run = () => importing('items', `${address}&table=items`, { server, create: true, resume })
  // One id is longer than the server accepts.
  await t.rejects(run(), { message: /of the source: / })
  const kept = JSON.parse(readFileSync(resume, 'utf8'))
  t.match(kept, { collection: 'items', source: /^postgres:..127.0.0.1:\d+.postgres.table=items$/ })
  await db.exec(`UPDATE items SET id = 'n900' WHERE length(id) > 500`)
  t.equal(await run(), 0)
  t.equal((await stored(server, 'items')).objects.length, 1_500)
}

async function refused(t: Test, { server, db, address }: Databases): Promise<void> {
  await db.exec('CREATE TABLE keyless (a text, b vector(2))')
  const wrong: readonly [string, number, RegExp][] = [
    ['&table=keyless', 64, /no primary key of one column; choose a unique column/],
    ['&table=none', 64, /no such table: none/],
    ['', 64, /the table is missing/],
  ]
  for (const [more, exitCode, message] of wrong) {
    await t.rejects(importing('x', `${address}${more}`, { server }), { exitCode, message })
  }
}
