// Two servers as an operator runs them, each with two serving threads: one writes an archive, the other follows it, and `annal takeover`
// makes the second one the writer.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import path from 'node:path'
import tap, { type Test, test } from 'tap'
import { until } from '../eventually.ts'
import { commandProgram } from '../programs.ts'
import { send } from '../running-app.ts'
import { startProcess } from '../running-process.ts'
import { newWorld } from './rig.ts'

tap.setTimeout(300_000)

const archive = 's3://annal/shop'
const accept = 'application/json'
const docs = '/api/v2/collection/docs'

async function start(t: Test, environment: Record<string, string>) {
  const running = startProcess({ NDD_NUM_SERVER_THREADS: '2', ...environment })
  t.teardown(() => running.child.kill('SIGKILL'))
  return { ...running, url: await running.serving }
}

async function stop({ child, ended }: Awaited<ReturnType<typeof start>>): Promise<number | null> {
  child.kill('SIGTERM')
  return (await ended).code
}

async function annal(...args: string[]): Promise<{ readonly code: number; readonly out: string }> {
  const child = spawn(process.execPath, [...commandProgram, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let out = ''
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (bytes: Buffer) => {
      out += bytes.toString()
    })
  const [code] = (await once(child, 'close')) as [number]
  return { code, out }
}

test('a follower answers reads, rejects writes by name, and writes after annal takeover', async (t) => {
  const { dir } = await newWorld(t)
  const [first, second] = [path.join(dir, 'first'), path.join(dir, 'second')]
  const one = await start(t, { NDD_DATA_DIR: first, NDD_ARCHIVE_S3: archive })
  const fields = [{ name: 'v', type: 'vector', params: { dimension: 2, space_type: 'l2' } }]
  t.equal((await send(one.url, 'POST', '/api/v2/collection', { json: { name: 'docs', fields } })).status, 200)
  const store = async (url: string, id: string) => {
    const json = { objects: [{ id, filter: { kind: id.slice(0, 1) }, fields: { v: [id.length, 1] } }] }
    return send(url, 'POST', `${docs}/objects`, { json, accept })
  }
  await store(one.url, 'a')
  const { lsn } = (await store(one.url, 'bb')).json() as { lsn: number }

  const two = await start(t, { NDD_DATA_DIR: second, NDD_FOLLOW_S3: archive })
  const follow = async () =>
    (await send(two.url, 'GET', '/api/v2/health')).json() as { status: string; follow: { lsn: number } }
  await until(async () => (await follow()).follow.lsn >= lsn)
  const health = await follow()
  t.match(health, { status: 'ok', follow: { from: 's3://annal/shop/', role: 'follower', lag_seconds: Number } })
  const read = async (route: string, json: object) => {
    const reply = await send(two.url, 'POST', `${docs}/${route}`, { json, accept })
    t.equal(reply.status, 200, `${route}: ${reply.text}`)
    return reply.json()
  }
  t.match(await read('search', { fields: { v: { query: [2, 1], limit: 1 } }, min_lsn: lsn }), {
    results: { v: [{ id: 'bb' }] },
  })
  t.match(await read('objects/query', { ids: ['a'] }), { objects: [{ id: 'a' }] })
  t.match(await read('objects/count', { filter: [{ kind: { $eq: 'a' } }] }), { count: 1 })
  t.match(await read('facets', { key: 'kind' }), { distinct: 2 })
  for (const refused of [
    await store(two.url, 'c'),
    await send(two.url, 'DELETE', docs),
    await send(two.url, 'POST', '/api/v2/collection', { json: { name: 'own', fields }, accept }),
  ]) {
    t.equal(refused.status, 503)
    t.match(refused.json(), { code: 'not_leader', error: /this server follows s3:\/\/annal\/shop\// })
  }
  t.match((await send(two.url, 'GET', '/metrics')).text, /^annal_follow_lag_seconds \d/m)

  const taken = await annal('takeover', second, '--json')
  t.equal(taken.code, 0, taken.out)
  t.match(JSON.parse(taken.out), { directory: second, from: 's3://annal/shop/', served: true })
  t.equal((await store(two.url, 'ccc')).status, 200)
  await until(async () => (await follow()).status === 'ok')
  t.match(await follow(), { follow: { role: 'writer' } })
  // The first server finds out with its next record, or when it looks.
  await until(async () => (await store(one.url, 'd')).status === 503)
  t.match((await store(one.url, 'd')).json(), { code: 'not_leader', error: /another server took over/ })
  t.match((await send(one.url, 'GET', '/api/v2/health')).json(), { status: 'degraded' })
  t.equal(await stop(one), 0)
  t.equal(await stop(two), 0)

  // With the same settings, a directory that has taken over is that of a writer. An empty one takes over without a server.
  const again = await start(t, { NDD_DATA_DIR: second, NDD_FOLLOW_S3: archive })
  t.equal((await store(again.url, 'dddd')).status, 200)
  t.equal(await stop(again), 0)
  const third = path.join(dir, 'third')
  const filled = await annal('takeover', third, '--from', archive)
  t.equal(filled.code, 0, filled.out)
  t.match(filled.out, /NDD_ARCHIVE_S3=s3:\/\/annal\/shop annal serve/)
  const three = await start(t, { NDD_DATA_DIR: third, NDD_ARCHIVE_S3: archive })
  t.equal((await store(three.url, 'eeeee')).status, 200)
  const stored = await send(three.url, 'POST', `${docs}/objects/query`, {
    json: { ids: ['a', 'bb', 'ccc', 'dddd'] },
    accept,
  })
  t.equal((stored.json() as { objects: unknown[] }).objects.length, 4, 'everything that the writers before it uploaded')
  t.equal(await stop(three), 0)
})
