// Rebuild and vacuum over HTTP: accepted immediately, followed through the status, refused when they must be, with failures reported.
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from 'tap'
import { createIndex, type RunningApp, runningApp } from './running-app.ts'

type Status = Record<string, unknown>

const dim = 32
const vectorOf = (n: number) => Array.from({ length: dim }, (_, i) => Math.sin(n * 12.9898 + i * 78.233))

async function fill(running: RunningApp, count: number): Promise<void> {
  for (let from = 0; from < count; from += 1_000) {
    const json = Array.from({ length: Math.min(1_000, count - from) }, (_, i) => ({
      id: `${from + i}`,
      vector: vectorOf(from + i),
    }))
    const { status, text } = await running.send('POST', '/api/v1/index/docs/vector/insert', { json })
    if (status !== 200) throw new Error(text)
  }
}

async function ended(running: RunningApp, route: string): Promise<Status> {
  for (;;) {
    const status = (await running.send('GET', route)).json()
    if (status.status !== 'in_progress') return status
    await sleep(20)
  }
}

test('an index is rebuilt with other parameters while it answers searches', async (t) => {
  const running = await runningApp(t)
  await createIndex(running, { dim })
  await fill(running, 2_000)
  const status = '/api/v1/index/docs/rebuild/status'
  t.strictSame((await running.send('GET', status)).json(), { status: 'idle' })
  t.match((await running.send('GET', '/api/v2/status/rebuild')).json(), { status: 'idle', in_progress: false })

  const rebuild = (json: unknown) => running.send('POST', '/api/v1/index/docs/rebuild', { json })
  const [first, second] = await Promise.all([rebuild({ M: 8 }), rebuild({ M: 8 })])
  const [begun, refused] = first.status === 202 ? [first, second] : [second, first]
  t.equal(begun.status, 202)
  t.strictSame(begun.json(), {
    status: 'rebuilding',
    previous_config: { M: 16, ef_con: 128 },
    new_config: { M: 8, ef_con: 128 },
    total_vectors: 2_000,
  })
  t.match([refused.status, refused.json().code], [409, 'rebuild_running'])
  const vacuum = await running.send('POST', '/api/v2/collection/docs/shrink')
  t.match([vacuum.status, vacuum.json().code], [409, 'rebuild_running'])

  const under = (await running.send('GET', status)).json()
  t.match(under, { status: 'in_progress', vectors_processed: Number, total_vectors: 2_000, percent_complete: Number })
  t.match((await running.send('GET', '/api/v2/status/rebuild')).json(), { collection: 'docs', in_progress: true })
  const found = await running.send('POST', '/api/v1/index/docs/search', { json: { k: 1, vector: vectorOf(77) } })
  t.match(found.msgpack(), [[Number, '77']], 'searches go on')

  t.match(await ended(running, status), {
    status: 'completed',
    vectors_processed: 2_000,
    total_vectors: 2_000,
    percent_complete: 100,
    started_at: /^\d{4}-.*Z$/,
    completed_at: /^\d{4}-.*Z$/,
  })
  t.match((await running.send('GET', '/api/v1/index/docs/info')).json(), { M: 8, ef_con: 128, total_elements: 2_000 })
  t.match((await running.send('GET', '/api/v1/index/list')).json(), { indexes: [{ M: 8 }] })
  const again = await running.send('POST', '/api/v1/index/docs/search', { json: { k: 1, vector: vectorOf(77) } })
  t.match(again.msgpack(), [[Number, '77']])
})

test('a rebuild that is not possible is refused and does not change the status', async (t) => {
  const running = await runningApp(t)
  await createIndex(running, { dim })
  const rebuild = async (json: unknown, route = '/api/v1/index/docs/rebuild') => {
    const answer = await running.send('POST', route, { json })
    const { code, field } = answer.json()
    return [answer.status, code, field]
  }
  t.strictSame(await rebuild({ M: 8 }), [400, 'invalid_argument', 'name'], 'an empty index')
  await fill(running, 10)
  t.strictSame(await rebuild({}), [400, 'invalid_argument', 'M'], 'nothing to change')
  t.strictSame(await rebuild({ M: 16, ef_con: null }), [400, 'invalid_argument', 'M'], 'what is already so')
  t.strictSame(await rebuild({ M: 3 }), [400, 'limit_exceeded', 'M'])
  t.strictSame(await rebuild({ ef_con: 100_000 }), [400, 'limit_exceeded', 'ef_con'])
  t.strictSame(await rebuild({ M: '8' }), [400, 'invalid_argument', 'M'])
  t.strictSame(await rebuild({ M: 8, precision: 'int8' }), [400, 'invalid_argument', 'precision'])
  t.strictSame(await rebuild({ M: 8, space_type: 'l2' }), [400, 'invalid_argument', 'space_type'])
  t.match(await rebuild({ M: 8 }, '/api/v1/index/none/rebuild'), [404, 'collection_not_found'])

  const route = '/api/v2/collection/docs/rebuild'
  t.match(await rebuild({ fields: [] }, '/api/v2/collection/none/rebuild'), [404, 'collection_not_found'])
  t.match(await rebuild({ fields: [{ field: 'none', M: 8 }] }, route), [400, 'field_not_found'])
  t.match(await rebuild({ fields: [{ M: 8 }] }, route), [400, 'invalid_argument', 'fields[0].field'])
  t.match(await rebuild({ fields: [{ field: 'dense', M: 3 }] }, route), [400, 'limit_exceeded', 'fields[0].M'])
  const precision = { field: 'dense', precision: 'int8' }
  t.match(await rebuild({ fields: [precision] }, route), [400, 'invalid_argument', 'fields[0].precision'])
  const twice = [{ field: 'dense' }, { field: 'dense' }]
  t.match(await rebuild({ fields: twice }, route), [400, 'invalid_argument', 'fields'])
  t.strictSame((await running.send('GET', '/api/v1/index/docs/rebuild/status')).json(), { status: 'idle' })
  for (const place of ['/api/v1/index/none/rebuild/status', '/api/v2/collection/none/rebuild/status'])
    t.equal((await running.send('GET', place)).status, 404)
  t.equal((await running.send('POST', '/api/v2/collection/none/shrink')).status, 404)
})

test('a collection is rebuilt field by field, also with the same parameters, and vacuumed', async (t) => {
  const running = await runningApp(t)
  const params = { dimension: 4, space_type: 'l2', precision: 'float32' }
  const fields = [
    { name: 'a', type: 'vector', params },
    { name: 'b', type: 'vector', params },
    { name: 's', type: 'sparse', sparse_model: 'default' },
  ]
  await running.send('POST', '/api/v2/collection', { json: { name: 'c', fields } })
  const route = '/api/v2/collection/c'
  t.match((await running.send('GET', `${route}/rebuild/status`)).json(), {
    status: 'idle',
    percent_complete: 0,
    current_config: { M: 16, ef_con: 128 },
  })
  for (const name of ['vacuum', 'shrink'])
    t.match((await running.send('POST', `${route}/${name}`)).json(), { status: 'ok', reclaimed_bytes: Number }, name)
  const objects = Array.from({ length: 300 }, (_, n) => ({ id: `${n}`, fields: { a: [n, 0, 0, 0], b: [0, n, 0, 0] } }))
  await running.send('POST', `${route}/objects`, { json: { objects } })

  const changed = [{ field: 's', M: 8 }, { field: 'b', M: 8, ef_con: 64 }, { field: 'a' }]
  const begun = await running.send('POST', `${route}/rebuild`, { json: { fields: changed } })
  t.equal(begun.status, 202)
  t.strictSame(begun.json(), {
    status: 'in_progress',
    fields_total: 2,
    total_objects: 300,
    new_config: { M: 8, ef_con: 64 },
    previous_config: { M: 16, ef_con: 128 },
  })
  t.match(await ended(running, `${route}/rebuild/status`), {
    status: 'completed',
    in_progress: false,
    field: 'b',
    fields_done: 2,
    fields_total: 2,
    objects_processed: 300,
    total_objects: 300,
    percent_complete: 100,
    current_config: { M: 8, ef_con: 64 },
    new_config: { M: 8, ef_con: 64 },
    previous_config: { M: 16, ef_con: 128 },
    started_at: String,
    completed_at: String,
  })
  t.match((await running.send('GET', '/api/v2/status/rebuild')).json(), { status: 'completed', collection: 'c' })
  t.match((await running.send('GET', route)).json(), {
    fields: [{ params: { M: 16 } }, { params: { M: 8, ef_con: 64 } }, {}],
  })
  t.equal((await running.send('POST', `${route}/rebuild`, { json: { fields: [{ field: 'a' }] } })).status, 202)
  await ended(running, `${route}/rebuild/status`)
  t.equal((await running.send('POST', `${route}/shrink`, { json: {} })).status, 200)
})

test('a rebuild that fails reports it in its status, without paths, and the collection continues unchanged', async (t) => {
  const running = await runningApp(t)
  await createIndex(running, { dim, precision: 'int8' })
  await fill(running, 600)
  // The original vectors, which a rebuild reads, are damaged.
  const dir = path.join(running.dataDir, 'originals')
  for (const name of await readdir(dir)) {
    const bytes = await readFile(path.join(dir, name))
    await writeFile(path.join(dir, name), bytes.fill(0x55, 0, 4_096))
  }
  t.equal((await running.send('POST', '/api/v1/index/docs/rebuild', { json: { M: 8 } })).status, 202)
  const status = await ended(running, '/api/v1/index/docs/rebuild/status')
  t.match(status, { status: 'failed', error: /.+/, started_at: String, completed_at: String })
  t.notMatch(JSON.stringify(status), running.dataDir)
  t.match((await running.send('GET', '/api/v1/index/docs/info')).json(), { M: 16 })
  const vector = [1, ...Array.from({ length: dim - 1 }, () => 0)]
  await running.send('POST', '/api/v1/index/docs/vector/insert', { json: [{ id: 'new', vector }] })
  const search = (json: object) => running.send('POST', '/api/v1/index/docs/search', { json: { k: 1, ...json } })
  t.match((await search({ vector })).msgpack(), [[Number, 'new']])
  const rescored = await search({ vector: vectorOf(0), rescore: true })
  t.match([rescored.status, rescored.json().code], [500, 'snapshot_damaged'])
  t.notMatch(rescored.text, running.dataDir)
})
