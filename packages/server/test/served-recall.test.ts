// Searches that state a recall, and reads that name a write, on serving threads: the bytes of the replies are those of the main thread, and the
// counts are exact.
import { type Test, test } from 'tap'
import { comparable, exchange } from './raw-exchange.ts'
import { runningApp } from './running-app.ts'

const dimension = 8
const vectorOf = (i: number) => Array.from({ length: dimension }, (_, j) => Math.sin((i + 1) * (j + 2)))
/** Nearest to itself by far. */
const farOf = (i: number) => vectorOf(i).map((x) => x + 10 * (i + 1))
const docs = '/api/v2/collection/docs'

interface Post {
  readonly path: string
  readonly json: object
  readonly accept?: string
}

/** A serving thread forwards a body whose type is in capitals. */
function bytesOf({ path, json, accept = '*/*' }: Post, type: 'json' | 'JSON'): Buffer {
  const body = JSON.stringify(json)
  const head = [
    `POST ${path} HTTP/1.1`,
    'Host: 127.0.0.1',
    `Accept: ${accept}`,
    `Content-Type: application/${type}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}

async function serve(t: Test) {
  const running = await runningApp(t, { serverThreads: 2 })
  const { send } = running
  const create = async (path: string, json: object) => {
    const reply = await send('POST', path, { json })
    t.equal(reply.status, 200, reply.text)
    return reply
  }
  const params = { dimension, space_type: 'l2', recall: 0.9 }
  const fields = [
    { name: 'dense', type: 'vector', params },
    { name: 'bits', type: 'vector', params: { dimension, precision: 'binary' } },
  ]
  await create('/api/v2/collection', { name: 'docs', fields })
  const objects = Array.from({ length: 400 }, (_, i) => ({
    id: `o${i}`,
    filter: { half: i % 2 },
    fields: { dense: vectorOf(i), bits: vectorOf(i) },
  }))
  await create(`${docs}/objects`, { objects })
  const post = async (request: Post, type: 'json' | 'JSON') => {
    const sent = { pieces: [bytesOf(request, type)], methods: ['POST'] }
    // A thread with more connections than others closes new ones after their first reply.
    return comparable(await exchange(running.url, sent), sent).replace(/^(Connection|Keep-Alive): .*\r\n/gm, '')
  }
  /** Of all threads. */
  const metric = async (name: string) => {
    const { text } = await send('GET', '/metrics')
    return Number(new RegExp(`^${name} (\\d+)$`, 'm').exec(text)?.[1])
  }
  /** Searches that serving threads answered. */
  const hot = async () => {
    const { text } = await send('GET', '/metrics')
    const counts = text.matchAll(/^annal_thread_searches_total\{thread="\d+"\} (\d+)$/gm)
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
  }
  return { ...running, create, post, metric, hot }
}

test('replies with a chosen ef are those of the main thread, byte for byte, and counted once', async (t) => {
  const { create, post, metric, hot } = await serve(t)
  await create(`${docs}/calibrate`, { field: 'dense', limit: 10, sample: 20 })
  await create(`${docs}/calibrate`, { field: 'bits', limit: 10, rescore: false, sample: 20 })
  const query = vectorOf(1.5)
  const filter = [{ half: { $eq: 1 } }]
  const searches: readonly object[] = [
    { fields: { dense: { query } } },
    { fields: { dense: { query, recall: 0.99 } }, filter },
    { fields: { dense: { query: { id: 'o7' }, recall: 0.99 } } },
    { fields: { bits: { query, recall: 0.999 } }, rescore: false, filter },
    { fields: { dense: { query }, bits: { query, ef: 20 } }, fusion: { method: 'rrf' } },
  ]
  // Files of original vectors are opened by the first searches.
  for (let i = 0; i < 8; i++) for (const json of searches) await post({ path: `${docs}/search`, json }, 'json')
  const [before, searchesBefore] = [await hot(), await metric('annal_recall_searches_total')]
  let [sent, unreachable] = [0, 0]
  for (const accept of ['application/json', 'application/msgpack']) {
    for (const json of searches) {
      const request = { path: `${docs}/search`, json, accept }
      const reply = await post(request, 'json')
      t.match(reply, /x-annal-recall: \{.*"calibrated":true/)
      t.equal(reply, await post(request, 'JSON'), JSON.stringify(json))
      sent += 1
      if (reply.includes('"reachable":false')) unreachable += 1
    }
  }
  t.ok(unreachable >= 2)
  t.ok((await hot()) - before > sent / 2, `${(await hot()) - before} of ${sent} were answered on serving threads`)
  t.equal((await metric('annal_recall_searches_total')) - searchesBefore, 2 * sent)
  const batch = { path: `${docs}/search/batch`, json: { searches } }
  t.equal(await post(batch, 'json'), await post(batch, 'JSON'))
})

test('reads that name a write are answered on serving threads after it', async (t) => {
  const { create, post, hot, send } = await serve(t)
  const before = await hot()
  const rounds = 10
  for (let i = 0; i < rounds; i++) {
    const written = await create(`${docs}/objects`, { objects: [{ id: `n${i}`, fields: { dense: farOf(i) } }] })
    const { lsn } = written.json() as { lsn: number }
    const fields = { dense: { query: farOf(i), limit: 1, ef: 32 } }
    const search = { path: `${docs}/search`, json: { fields, min_lsn: lsn }, accept: 'application/json' }
    const reply = await post(search, 'json')
    t.match(reply, `"id":"n${i}"`)
    t.equal(reply, await post(search, 'JSON'))
    const read = { path: `${docs}/objects/query`, json: { ids: [`n${i}`], min_lsn: lsn }, accept: 'application/json' }
    t.match(await post(read, 'json'), `"id":"n${i}"`)
    t.equal(await post(read, 'json'), await post(read, 'JSON'))
    // It waits for the next write.
    const next = send('POST', `${docs}/search`, { json: { fields, min_lsn: lsn + 1 }, accept: 'application/json' })
    await create(`${docs}/filters`, { updates: [{ id: `n${i}`, filter: { i } }] })
    t.match((await next).json(), { results: { dense: [{ id: `n${i}`, filter: { i } }] } })
  }
  const answered = (await hot()) - before
  t.ok(answered > rounds / 2, `${answered} searches were answered on serving threads`)
})
