// The size of replies: meta that inflates, filters, strings, vectors, members. A separate server replies or refuses with a code, and
// neither its memory nor health suffers.
import { once } from 'node:events'
import { readFile } from 'node:fs/promises'
import { Worker } from 'node:worker_threads'
import { deflateSync } from 'node:zlib'
import tap, { type Test, test } from 'tap'
import { pageBytesMax, replyBytesMax } from '../src/limits.ts'
import { type Answer, send, temporaryDirectory } from './running-app.ts'
import { startWatchedProcess, type WatchedProcess } from './watched-process.ts'

tap.setTimeout(300_000)

const mebibyte = 1_048_576
const accept = 'application/json'
/** Maximum growth of the process; inflating the zip bombs of one search would take 3 GiB. */
const growthBytesMax = 500 * mebibyte
/** Processor time, which other programs hardly change: far above what a turn takes, and far below the minute that inflating everything took. */
const turnCpuMsMax = 3_000

interface Serving {
  readonly url: string
  readonly pid: number
  readonly process: WatchedProcess
  readonly post: (route: string, json: unknown) => Promise<Answer>
  readonly pack: (route: string, msgpack: unknown) => Promise<Answer>
}

async function serving(t: Test): Promise<Serving> {
  const running = startWatchedProcess({ NDD_DATA_DIR: await temporaryDirectory(t) })
  t.teardown(() => void running.child.kill('SIGKILL'))
  const url = await running.serving
  return {
    url,
    pid: running.child.pid as number,
    process: running,
    post: (route, json) => send(url, 'POST', `/api${route}`, { json, accept }),
    pack: (route, msgpack) => send(url, 'POST', `/api${route}`, { msgpack, accept }),
  }
}

/** Requests health continuously in a separate thread, because reading a large reply blocks this one. */
const watcher = `
const { parentPort, workerData } = require('node:worker_threads')
let going = true
const statuses = new Set()
parentPort.once('message', () => { going = false })
async function watch() {
  while (going) {
    const { status } = await fetch(workerData + '/api/v1/health')
    statuses.add(status)
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  parentPort.postMessage([...statuses])
}
watch()`

/** Returns the statuses of health meanwhile, the processor time of the longest turn of the event loop, and the peak memory of the process. */
async function measureWhile(
  { url, pid, process }: Serving,
  act: () => Promise<void>,
): Promise<{ healths: readonly number[]; turnCpuMs: number; peak: number }> {
  await process.longestTurn()
  const worker = new Worker(watcher, { eval: true, workerData: url })
  await act()
  worker.postMessage('end')
  const [healths] = (await once(worker, 'message')) as [number[]]
  await worker.terminate()
  const { cpuMs: turnCpuMs } = await process.longestTurn()
  return { healths, turnCpuMs, peak: await peakOf(pid) }
}

async function peakOf(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1]) * 1_024
}

const bomb = deflateSync(JSON.stringify({ text: 'x'.repeat(6_500_000) }))
const large = deflateSync(
  JSON.stringify({ text: Array.from({ length: 90_000 }, (_, i) => (i * 7919) % 1_000).join(' ') }),
)

interface Replied {
  readonly id: string
  readonly meta?: { readonly text: string }
  readonly meta_base64?: string
  readonly meta_limit?: string
}

test('meta that would inflate beyond the limits is returned as base64 with a flag, on every route', async (t) => {
  const server = await serving(t)
  const { post, pack } = server
  await post('/v1/index/create', { index_name: 'bombs', dim: 2, space_type: 'l2', precision: 'float32' })
  const count = 500
  const bombs = Array.from({ length: count }, (_, i) => [
    `b${i}`,
    i === 0 ? deflateSync('{"n":1}') : bomb,
    '{}',
    1,
    [i, 0],
  ])
  t.equal((await pack('/v1/index/bombs/vector/insert', bombs)).status, 200, 'the bytes are accepted')
  const ids = bombs.map(([id]) => id)
  const fields = { dense: { query: [0, 0], limit: count } }
  const before = await peakOf(server.pid)
  const routes: readonly [string, unknown, (reply: Record<string, never>) => readonly Replied[]][] = [
    ['/v1/index/bombs/search', { k: count, vector: [0, 0] }, (reply) => reply.results as never],
    ['/v1/index/bombs/vector/get', { id: 'b1' }, (reply) => [reply as never]],
    ['/v2/collection/bombs/search', { fields }, (reply) => (reply.results as unknown as { dense: never }).dense],
    [
      '/v2/collection/bombs/search',
      { fields, fusion: { method: 'rrf', limit: count } },
      (reply) => reply.fused as never,
    ],
    [
      '/v2/collection/bombs/search/batch',
      { searches: Array.from({ length: 4 }, () => ({ fields })) },
      (reply) =>
        (reply.searches as unknown as { results: { dense: never[] } }[]).flatMap(({ results }) => results.dense),
    ],
    ['/v2/collection/bombs/objects/query', { ids }, (reply) => reply.objects as never],
    ['/v2/collection/bombs/objects/scroll', { limit: count }, (reply) => reply.objects as never],
    [
      '/v2/collection/bombs/objects/scroll',
      { limit: count, include_vectors: false },
      (reply) => reply.objects as never,
    ],
  ]
  const { healths, turnCpuMs, peak } = await measureWhile(server, async () => {
    for (const [route, body, objectsOf] of routes) {
      const answer = await post(route, body)
      t.equal(answer.status, 200, route)
      const [first, ...others] = objectsOf(answer.json() as Record<string, never>)
      const rest = first?.id === 'b0' ? others : [first as Replied]
      if (first?.id === 'b0') t.strictSame(first.meta, { n: 1 }, `${route}: short meta is inflated`)
      const kept = rest.filter(({ id, meta_base64: text }) => id === 'b0' || text === bomb.toString('base64'))
      t.equal(kept.length, rest.length, `${route}: the others are the bytes that were stored`)
      t.ok(
        rest.every(({ id, meta_limit }) => id === 'b0' || meta_limit === 'object' || meta_limit === 'reply'),
        route,
      )
    }
  })
  t.ok(peak - before < growthBytesMax, `memory grew by ${(peak - before) / mebibyte} MiB`)
  t.strictSame(healths, [200], 'health replied meanwhile')
  t.ok(turnCpuMs < turnCpuMsMax, `a turn took ${turnCpuMs} ms of processor time at most`)

  t.comment('meta of half a megabyte is inflated until the reply has enough of it')
  await post('/v1/index/create', { index_name: 'large', dim: 2, space_type: 'l2', precision: 'float32' })
  const notes = Array.from({ length: 200 }, (_, i) => [`n${i}`, large, '{}', 1, [i, 0]])
  t.ok(large.length < 65_536)
  for (let start = 0; start < notes.length; start += 50) {
    t.equal((await pack('/v1/index/large/vector/insert', notes.slice(start, start + 50))).status, 200)
  }
  const reply = (await post('/v1/index/large/search', { k: 200, vector: [0, 0] })).json()
  const hits = reply.results as Replied[]
  const plain = hits.findIndex(({ meta }) => meta === undefined)
  t.ok(plain > 50 && plain < 150, `${plain} of them are inflated`)
  t.ok(hits.slice(plain).every(({ meta_base64: text, meta_limit: limit }) => limit === 'reply' && text !== undefined))
})

test('storing, restoring, and reading such meta works', async (t) => {
  const server = await serving(t)
  const { url, post, pack } = server
  await post('/v1/index/create', { index_name: 'bombs', dim: 2, space_type: 'l2', precision: 'float32' })
  await pack('/v1/index/bombs/vector/insert', [['a', bomb, '{}', 1, [1, 0]]])
  t.equal((await post('/v2/collection/bombs/clone', { target_collection_name: 'clone' })).status, 201)
  t.equal((await post('/v2/collection/bombs/backup', { name: 'kept' })).status, 202)
  while ((await send(url, 'GET', '/api/v2/status/backup')).json().status === 'running');
  const restored = await post('/v2/backup/kept/restore', { target_collection_name: 'restored' })
  t.ok(restored.status < 300, restored.text)
  t.equal((await post('/v2/collection/bombs/shrink', {})).status, 200)
  for (const name of ['bombs', 'clone', 'restored']) {
    const { objects } = (await post(`/v2/collection/${name}/objects/query`, { ids: ['a'] })).json() as {
      objects: Replied[]
    }
    t.match(objects, [{ id: 'a', meta_base64: bomb.toString('base64'), meta_limit: 'object' }], name)
    const packed = await send(url, 'POST', `/api/v1/index/${name}/vector/get`, { json: { id: 'a' } })
    t.strictSame(Buffer.from((packed.msgpack() as [string, Uint8Array])[1]), bomb, `${name}: bytes stay bytes`)
  }
})

test('a reply is refused with a code, or a page ends, before it becomes too large', async (t) => {
  const server = await serving(t)
  const { post, pack } = server
  const params = { dimension: 2, space_type: 'l2', precision: 'float32' }
  await post('/v2/collection', {
    name: 'large',
    fields: [
      { name: 'dense', type: 'vector', params },
      { name: 'multi', type: 'multi_vector', params: { ...params, dimension: 500 } },
    ],
  })
  const count = 450
  const filter = JSON.stringify({ tag: 't', text: Array.from({ length: 60 }, () => 'y'.repeat(1_000)) })
  const members = Array.from({ length: 20 }, () => new Array<number>(500).fill(0.5))
  const objects = Array.from({ length: count }, (_, i) => [
    `o${i}`,
    Buffer.alloc(60_000, 0xf0),
    filter,
    { dense: [i, 0] },
    {},
    { multi: members },
  ])
  for (let start = 0; start < count; start += 50) {
    const answer = await pack('/v2/collection/large/objects', [objects.slice(start, start + 50)])
    t.equal(answer.status, 200, answer.text)
  }
  const ids = objects.map(([id]) => id)
  const dense = { dense: { query: [0, 0], limit: count } }
  const both = { ...dense, multi: { query: members[0], limit: count } }
  const before = await peakOf(server.pid)
  const { healths, turnCpuMs, peak } = await measureWhile(server, async () => {
    const answered = await post('/v2/collection/large/search', { fields: dense })
    t.equal(answered.status, 200, 'what fits is answered')
    t.equal((answered.json().results as { dense: unknown[] }).dense.length, count)
    const refused: readonly [string, unknown][] = [
      ['/v2/collection/large/search', { fields: both, include_vectors: true }],
      ['/v2/collection/large/search/batch', { searches: Array.from({ length: 100 }, () => ({ fields: dense })) }],
      ['/v2/collection/large/objects/query', { ids }],
    ]
    for (const [route, body] of refused) {
      for (const form of [accept, '*/*']) {
        const answer = await send(server.url, 'POST', `/api${route}`, { json: body, accept: form })
        const { code, limit, error } = answer.json() as Record<string, string>
        t.match([answer.status, code, limit], [400, 'reply_too_large', replyBytesMax], `${route} as ${form}`)
        t.match(error, /request fewer/, 'the refusal says what to do')
      }
    }
    // The fused list of a JSON reply repeats the objects; that of MessagePack refers to them.
    const fused = { fields: dense, fusion: { method: 'rrf', limit: count } }
    t.match((await post('/v2/collection/large/search', fused)).json(), {
      code: 'reply_too_large',
      limit: replyBytesMax,
    })
    const batch = await post('/v2/collection/large/search/batch', { searches: [fused] })
    t.match(batch.json(), { code: 'reply_too_large' })
    const packed = await send(server.url, 'POST', '/api/v2/collection/large/search', { json: fused, accept: '*/*' })
    t.equal(packed.status, 200)
    t.equal((await post('/v2/collection/large/objects/query', { ids: ids.slice(0, 100) })).status, 200)

    const seen: string[] = []
    let pages = 0
    let cursor: unknown
    do {
      const page = (await post('/v2/collection/large/objects/scroll', { limit: 1_000, cursor })).json()
      seen.push(...(page.objects as Replied[]).map(({ id }) => id))
      pages += 1
      cursor = page.cursor
    } while (cursor !== null)
    t.strictSame(seen, ids, 'every object comes once')
    t.ok(pages >= (count * 160_000) / pageBytesMax, `${pages} pages`)
  })
  t.ok(peak - before < growthBytesMax, `memory grew by ${(peak - before) / mebibyte} MiB`)
  t.strictSame(healths, [200], 'health replied meanwhile')
  t.ok(turnCpuMs < turnCpuMsMax, `a turn took ${turnCpuMs} ms of processor time at most`)
})
