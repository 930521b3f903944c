// Backups over HTTP, as the published clients of both versions request them.
import { type Test, test } from 'tap'
import { createIndex, type RunningApp, runningApp } from './running-app.ts'

const fields = [{ name: 'v', type: 'vector', params: { dimension: 4, precision: 'float32' } }] as const

async function withObjects(t: Test): Promise<RunningApp> {
  const running = await runningApp(t)
  await createIndex(running)
  await running.send('POST', '/api/v1/index/docs/vector/insert', {
    json: Array.from({ length: 20 }, (_, i) => ({ id: `o${i}`, vector: [i, 1, 2, 3], meta: `{"n":${i}}` })),
  })
  return running
}

async function settled({ engine }: RunningApp): Promise<void> {
  await engine.database().backups.settled()
}

test('v1: created, listed, described, restored, and deleted', async (t) => {
  const running = await withObjects(t)
  const create = (name: string) => running.send('POST', '/api/v1/index/docs/backup', { json: { name } })
  const made = await create('nightly')
  t.equal(made.status, 202)
  t.same(made.json(), { backup_name: 'nightly', status: 'in_progress' })
  await settled(running)
  t.same((await running.send('GET', '/api/v1/backups/active')).json(), { active: false })
  const info = (await running.send('GET', '/api/v1/backups/nightly/info')).json()
  t.match(info, {
    original_index: 'docs',
    timestamp: Number,
    size_mb: 1,
    digest: running.engine.database().collection('docs').stateDigest(),
    params: { dim: 4, space_type: 'cosine', quant_level: 32, total_elements: 20, M: 16, ef_construction: 128 },
  })
  t.same((await running.send('GET', '/api/v1/backups')).json(), { nightly: info })
  t.equal((await create('nightly')).status, 400, 'the name is taken')
  t.equal((await create('../x')).status, 400)
  t.equal((await running.send('GET', '/api/v1/backups/none/info')).status, 404)

  const restore = (backup: string, target: string, more: object = {}) =>
    running.send('POST', `/api/v1/backups/${backup}/restore`, { json: { target_index_name: target, ...more } })
  t.equal((await restore('none', 'x')).status, 400)
  t.equal((await restore('nightly', 'docs')).status, 400, 'nothing is overwritten')
  t.equal((await restore('nightly', 'x', { lsn: 1, time: 1 })).status, 400)
  const restored = await restore('nightly', 'again')
  t.equal(restored.status, 201)
  t.equal(restored.text, 'Backup restored successfully')
  t.equal((await running.send('GET', '/api/v1/index/again/info')).json().total_elements, 20)
  const removed = await running.send('DELETE', '/api/v1/backups/nightly')
  t.equal(removed.status, 204)
  t.equal((await running.send('DELETE', '/api/v1/backups/nightly')).status, 400)
  t.same((await running.send('GET', '/api/v1/backups')).json(), {})
})

test('the backup routes of v1 accept collections of v2, and a request without a body', async (t) => {
  const running = await runningApp(t)
  await running.send('POST', '/api/v2/collection', { json: { name: 'notes', fields } })
  for (const options of [{}, { body: '', type: 'application/json' }, { json: {} }, { json: { name: null } }]) {
    const made = await running.send('POST', '/api/v1/index/notes/backup', options)
    t.equal(made.status, 202, made.text)
    const name = String(made.json().backup_name)
    await settled(running)
    t.match((await running.send('GET', `/api/v1/backups/${name}/info`)).json(), { original_index: 'notes' })
    const restored = await running.send('POST', `/api/v1/backups/${name}/restore`, {
      json: { target_index_name: 'again' },
    })
    t.equal(restored.status, 201, restored.text)
    await running.engine.database().deleteCollection('again')
    t.equal((await running.send('DELETE', `/api/v1/backups/${name}`)).status, 204)
  }
  t.equal((await running.send('POST', '/api/v1/index/none/backup')).status, 404)
})

test('v2: created, cloned, verified, downloaded, and uploaded in both ways', async (t) => {
  const running = await runningApp(t)
  await running.send('POST', '/api/v2/collection', { json: { name: 'notes', fields } })
  const objects = [{ id: 'a', fields: { v: [1, 2, 3, 4] } }]
  await running.send('POST', '/api/v2/collection/notes/objects', { json: { objects } })
  const digest = running.engine.database().collection('notes').stateDigest()
  t.equal((await running.send('POST', '/api/v2/collection/notes/backup', { json: { name: 'one' } })).status, 202)
  await settled(running)
  t.match((await running.send('GET', '/api/v2/status/backup')).json(), { status: 'completed', backup_name: 'one' })
  t.match((await running.send('GET', '/api/v2/backup/one/info')).json(), { original_collection: 'notes' })
  const verified = await running.send('POST', '/api/v2/backup/one/verify', { json: { deep: true } })
  t.same(verified.json(), { status: 'ok', faults: [] })

  const got = await running.send('GET', '/api/v2/backup/one/download')
  t.equal(got.status, 200)
  t.equal(got.headers.get('content-disposition'), 'attachment; filename="one.tar"')
  t.equal(Number(got.headers.get('content-length')), got.bytes.length)
  const raw = await running.send('POST', '/api/v2/backup/upload?name=two', {
    body: got.bytes,
    type: 'application/x-tar',
  })
  t.equal(raw.status, 201, raw.text)
  const form = new FormData()
  form.set('backup', new Blob([new Uint8Array(got.bytes)]), 'three.tar')
  const formed = await fetch(`${running.url}/api/v1/backups/upload`, { method: 'POST', body: form })
  t.equal(formed.status, 201, await formed.text())
  t.equal(
    (await running.send('POST', '/api/v2/backup/upload?name=two', { body: got.bytes, type: 'application/x-tar' }))
      .status,
    409,
  )
  const cut = got.bytes.subarray(0, got.bytes.length - 1)
  const short = await running.send('POST', '/api/v2/backup/upload?name=four', { body: cut, type: 'application/x-tar' })
  t.equal(short.status, 400)
  t.equal(short.json().code, 'backup_damaged')
  t.same(Object.keys((await running.send('GET', '/api/v2/backups')).json()), ['one', 'two', 'three'])
  for (const name of ['two', 'three']) {
    const answer = await running.send('POST', `/api/v2/backup/${name}/restore`, {
      json: { target_collection_name: `from-${name}` },
    })
    t.equal(answer.status, 201, answer.text)
    t.equal(running.engine.database().collection(`from-${name}`).stateDigest(), digest)
  }
  t.match((await running.send('GET', '/api/v2/status/restore')).json(), { status: 'completed', backup_name: 'three' })
  const clone = await running.send('POST', '/api/v2/collection/notes/clone', {
    json: { target_collection_name: 'copy' },
  })
  t.equal(clone.status, 201)
  const counted = await running.send('POST', '/api/v2/collection/copy/objects/count', { json: {} })
  t.match(counted.json(), { count: 1 }, 'a request waits until it is loaded')
  t.equal(running.engine.database().collection('copy').stateDigest(), digest)
  t.equal((await running.send('DELETE', '/api/v2/backup/one')).status, 200)
  for (const job of ['backup', 'restore'])
    t.same((await running.send('DELETE', `/api/v2/status/${job}`)).json(), { cancelled: false }, 'none is running')
})

test('a download link has its token in the query, and only there', async (t) => {
  const authToken = 'a-token-of-some-length'
  const running = await runningApp(t, { authToken })
  await running.engine.database().createCollection({ name: 'docs', fields })
  await running.engine.database().backups.create('docs', 'b')
  await settled(running)
  const get = (route: string) => running.send('GET', route)
  t.equal((await get('/api/v1/backups/b/download')).status, 401)
  t.equal((await get('/api/v1/backups/b/download?token=wrong')).status, 401)
  t.equal((await get(`/api/v1/backups/b/download?token=${authToken}`)).status, 200)
  t.equal((await get(`/api/v1/backups?token=${authToken}`)).status, 401)
})

test('while one backup is created another one is refused', async (t) => {
  const running = await withObjects(t)
  const { backups } = running.engine.database()
  // Started in one turn, so that the first cannot have ended.
  const [first, second] = await Promise.allSettled([backups.create('docs', 'one'), backups.create('docs', 'two')])
  t.equal(first.status, 'fulfilled')
  t.match(second, { status: 'rejected', reason: { code: 'backup_running' } })
  await settled(running)
  t.strictSame(Object.keys((await running.send('GET', '/api/v1/backups')).json()), ['one'])
  t.equal((await running.send('POST', '/api/v1/index/docs/backup', { json: { name: 'two' } })).status, 202)
  await settled(running)
})

test('a backup larger than any other body is accepted, in both ways', async (t) => {
  const running = await runningApp(t)
  const { engine } = running
  const wide = [{ name: 'v', type: 'vector', params: { dimension: 2_000, precision: 'float32' } }] as const
  const collection = await engine.database().createCollection({ name: 'wide', fields: wide })
  await collection.upsert(
    Array.from({ length: 300 }, (_, i) => ({
      id: `${i}`,
      fields: { v: Array.from({ length: 2_000 }, (_, j) => i + j) },
    })),
  )
  await engine.database().backups.create('wide', 'big')
  await settled(running)
  const { bytes } = await running.send('GET', '/api/v2/backup/big/download')
  t.ok(bytes.length > 2 * 1_048_576, `${bytes.length} bytes`)
  const raw = await running.send('POST', '/api/v2/backup/upload?name=raw', { body: bytes, type: 'application/x-tar' })
  t.equal(raw.status, 201, raw.text)
  const form = new FormData()
  form.set('backup', new Blob([new Uint8Array(bytes)]), 'formed.tar')
  const formed = await fetch(`${running.url}/api/v2/backup/upload`, { method: 'POST', body: form })
  t.equal(formed.status, 201, await formed.text())
})
