// A start that takes a while: collections that are ready answer while others are still replayed, and health says how far it is.
import { rm } from 'node:fs/promises'
import path from 'node:path'
import { openEngine } from '@annal/engine'
import { test } from 'tap'
import { readConfig, startServer } from '../src/index.ts'
import { type Answer, send, temporaryDirectory } from './running-app.ts'

const dimension = 64
const objects = 8_000
const fields = [{ name: 'v', type: 'vector', params: { dimension, space_type: 'l2', precision: 'float32' } }]
const vectorOf = (n: number) => Array.from({ length: dimension }, (_, i) => Math.sin(n * 12.9898 + i * 78.233))

/** A directory whose log holds a small collection and then a large one, and no checkpoint. */
async function written(dataDir: string): Promise<void> {
  const engine = await openEngine({ dataDir, threads: 1, keepLog: true })
  const small = await engine.database().createCollection({ name: 'small', fields })
  await small.upsert([{ id: 'a', fields: { v: vectorOf(1) } }])
  const large = await engine.database().createCollection({ name: 'large', fields })
  for (let from = 0; from < objects; from += 1_000) {
    await large.upsert(
      Array.from({ length: 1_000 }, (_, i) => ({ id: `${from + i}`, fields: { v: vectorOf(from + i) } })),
    )
  }
  await engine.close()
  await rm(path.join(dataDir, 'checkpoints'), { recursive: true })
}

test('collections that are ready answer while others are still replayed', { timeout: 120_000 }, async (t) => {
  const dataDir = path.join(await temporaryDirectory(t), 'data')
  await written(dataDir)
  const config = { ...readConfig({}).config, dataDir, port: 0, threads: 1, logLevel: 'silent' as const }
  const server = await startServer(config)
  t.teardown(() => server.stop())
  const ask = (name: string): Promise<Answer> =>
    send(server.address, 'POST', `/api/v2/collection/${name}/search`, {
      json: { fields: { v: { query: vectorOf(1) } } },
      accept: 'application/json',
    })
  let open = false
  server.ready.then(
    () => (open = true),
    (error: Error) => t.fail(error.message),
  )
  let early: Answer | undefined
  while (early === undefined && !open) {
    const answer = await ask('small')
    if (answer.status === 200) early = answer
    else t.match([answer.status, answer.json().code], [503, /^(starting|collection_loading)$/])
  }
  t.match(early?.json(), { results: { v: [{ id: 'a' }] } })
  const [late, unknown, list, health, write, create] = await Promise.all([
    ask('large'),
    ask('unknown'),
    send(server.address, 'GET', '/api/v2/collection'),
    send(server.address, 'GET', '/api/v2/health'),
    send(server.address, 'POST', '/api/v2/collection/small/objects', {
      json: { objects: [{ id: 'b', fields: { v: vectorOf(2) } }] },
    }),
    send(server.address, 'POST', '/api/v2/collection', { json: { name: 'other', fields } }),
  ])
  t.notOk(open, 'the large collection is not there yet')
  t.match([late.status, late.json().code, late.headers.get('retry-after')], [503, 'collection_loading', '2'])
  t.match([unknown.status, unknown.json().code], [503, 'collection_loading'], 'it may be further on in the log')
  t.match([list.status, list.json().code], [503, 'starting'], 'no list that lacks some')
  t.equal(health.status, 503)
  t.match(health.json(), { status: 'starting', progress: { job: 'replay', done: Number, total: Number } })
  t.match(write.json(), { upserted: 1, durable: true }, 'it can be written too')
  t.match([create.status, create.json().code], [503, 'collection_loading'])
  await server.ready
  t.equal((await send(server.address, 'GET', '/api/v2/health')).status, 200)
  t.equal((await ask('large')).status, 200)
  t.equal((await ask('unknown')).status, 404)
  t.match((await send(server.address, 'GET', '/api/v2/collection')).json(), {
    collections: [
      { name: 'small', total_elements: 2 },
      { name: 'large', total_elements: objects },
    ],
  })
})
