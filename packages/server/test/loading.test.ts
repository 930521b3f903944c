// A start that takes a while: collections that are ready respond while others are replayed, and health reports progress.
import { cp, rm } from 'node:fs/promises'
import path from 'node:path'
import { openEngine } from '@annal/engine'
import { test } from 'tap'
import { type RunningServer, readConfig, startServer } from '../src/index.ts'
import { freePort } from './free-port.ts'
import { type Answer, send, temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

const dimension = 64
const objects = 8_000
const fields = [{ name: 'v', type: 'vector', params: { dimension, space_type: 'l2', precision: 'float32' } }] as const
const vectorOf = (n: number) => Array.from({ length: dimension }, (_, i) => Math.sin(n * 12.9898 + i * 78.233))

/** Creates a directory whose log has a small collection, then a large one, and no checkpoint. */
async function fillDirectory(dataDir: string): Promise<void> {
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

/** The replies of a server before it had replayed everything; undefined if the replay was too fast. */
async function repliesDuringReplay(server: RunningServer): Promise<Record<string, Answer> | undefined> {
  let open = false
  const opened = server.ready.then(() => {
    open = true
  })
  let first: Answer | undefined
  while (first?.status !== 200) first = await search(server, 'small')
  const answers = {
    small: first,
    large: await search(server, 'large'),
    unknown: await search(server, 'unknown'),
    list: await send(server.address, 'GET', '/api/v2/collection'),
    health: await send(server.address, 'GET', '/api/v2/health'),
    create: await send(server.address, 'POST', '/api/v2/collection', { json: { name: 'other', fields } }),
  }
  if (open) return undefined
  const json = { objects: [{ id: 'b', fields: { v: vectorOf(2) } }] }
  const write = await send(server.address, 'POST', '/api/v2/collection/small/objects', { json })
  await opened
  return { ...answers, write }
}

function search(server: RunningServer, name: string): Promise<Answer> {
  const json = { fields: { v: { query: vectorOf(1) } } }
  return send(server.address, 'POST', `/api/v2/collection/${name}/search`, { json, accept: 'application/json' })
}

test('collections that are ready respond while others are replayed', { timeout: 120_000 }, async (t) => {
  const place = await temporaryDirectory(t)
  const origin = path.join(place, 'origin')
  await fillDirectory(origin)
  const base = { ...readConfig({}).config, port: 0, threads: 1, logLevel: 'silent' as const }
  for (let attempt = 0; attempt < 10; attempt++) {
    const dataDir = path.join(place, `${attempt}`)
    await cp(origin, dataDir, { recursive: true })
    const server = await startServer({ ...base, dataDir })
    t.teardown(() => server.stop())
    const early = await repliesDuringReplay(server)
    if (early === undefined) {
      await server.stop()
      continue
    }
    const { small, large, unknown, list, health, create, write } = early
    t.match(small?.json(), { results: { v: [{ id: 'a' }] } })
    for (const refused of [large, unknown, create])
      t.match(
        [refused?.status, refused?.json().code, refused?.headers.get('retry-after')],
        [503, 'collection_loading', '2'],
      )
    t.match([list?.status, list?.json().code], [503, 'starting'], 'no list that lacks some')
    t.equal(health?.status, 503)
    t.match(health?.json(), { status: 'starting', progress: { job: 'replay', done: Number, total: Number } })
    t.match(write?.json(), { upserted: 1, durable: true }, 'it can be written too')
    t.equal((await send(server.address, 'GET', '/api/v2/health')).status, 200)
    t.equal((await search(server, 'large')).status, 200)
    t.equal((await search(server, 'unknown')).status, 404)
    t.match((await send(server.address, 'GET', '/api/v2/collection')).json(), {
      collections: [
        { name: 'small', total_elements: 2 },
        { name: 'large', total_elements: objects },
      ],
    })
    return
  }
  t.fail('every replay was over before the requests were sent')
})

test('a signal during a replay ends the process with 0, and nothing is lost', async (t) => {
  const dataDir = path.join(await temporaryDirectory(t), 'data')
  await fillDirectory(dataDir)
  const port = await freePort()
  const running = startProcess({ NDD_DATA_DIR: dataDir, NDD_SERVER_PORT: String(port) })
  t.teardown(() => running.child.kill('SIGKILL'))
  for (;;) {
    const answer = await send(`http://127.0.0.1:${port}`, 'GET', '/api/v2/health').catch(() => undefined)
    const { status, progress } = answer?.json() ?? {}
    // The replay may be over before the signal arrives; the guarantee is the same.
    if (status === 'ok' || (progress as { job?: string } | undefined)?.job === 'replay') break
  }
  running.child.kill('SIGTERM')
  t.strictSame(await running.ended, { code: 0, signal: null }, running.stderr())
  const engine = await openEngine({ dataDir, threads: 1 })
  t.match(engine.database().collections(), [
    { name: 'small', objects: 1 },
    { name: 'large', objects },
  ])
  await engine.close()
})
