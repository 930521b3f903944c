// Replies do not depend on the thread that serves a connection: the same requests, valid and malformed, to a server that listens itself
// and to one with three serving threads.
import { encode } from '@msgpack/msgpack'
import t from 'tap'
import { comparable, type Exchange, exchange } from './raw-exchange.ts'
import { createIndex, type RunningApp, runningApp } from './running-app.ts'

const isLong = process.env.ANNAL_LONG === '1'
const rounds = Number(process.env.ANNAL_REQUESTS ?? (isLong ? 100_000 : 300))
const seed = Number(process.env.ANNAL_SEED ?? Math.floor(Math.random() * 2 ** 31))

/** Numbers below 1 that a seed determines. */
function randomFrom(start: number): () => number {
  let state = start
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
}

type Random = () => number

function pick<T>(random: Random, choices: readonly T[]): T {
  return choices[Math.floor(random() * choices.length)]!
}

const numbers = (random: Random) => Array.from({ length: 4 }, () => Math.round(random() * 100) / 100)

interface Body {
  readonly type: string
  readonly bytes: Buffer
}

function json(value: unknown): Body {
  return { type: 'application/json', bytes: Buffer.from(JSON.stringify(value)) }
}

function searchBody(random: Random): Body {
  const body = {
    vector: numbers(random),
    k: 1 + Math.floor(random() * 5),
    ...(random() < 0.2 && { ef: 32 }),
    ...(random() < 0.2 && { filter: JSON.stringify([{ color: { $eq: 'red' } }]) }),
    ...(random() < 0.1 && { include_vectors: true }),
    ...(random() < 0.1 && { surprise: 1 }),
  }
  return random() < 0.4 ? { type: 'application/msgpack', bytes: Buffer.from(encode(body)) } : json(body)
}

/** A write. */
function insertion(random: Random): { readonly method: string; readonly path: string; readonly body: Body } {
  const objects = [{ id: `n${Math.floor(random() * 5)}`, vector: numbers(random), meta: '' }]
  return { method: 'POST', path: '/api/v1/index/docs/vector/insert', body: json(objects) }
}

const targets: readonly ((random: Random) => {
  readonly method: string
  readonly path: string
  readonly body?: Body
})[] = [
  (random) => ({ method: 'POST', path: '/api/v1/index/docs/search', body: searchBody(random) }),
  (random) => ({ method: 'POST', path: '/api/v1/index/docs/search', body: searchBody(random) }),
  (random) => {
    const fields = { dense: { query: numbers(random), limit: 3 } }
    return { method: 'POST', path: '/api/v2/collection/docs/search', body: json({ fields }) }
  },
  (random) => {
    const body = json({ id: pick(random, ['0', '7', 'absent']) })
    return { method: 'POST', path: '/api/v1/index/docs/vector/get', body }
  },
  () => ({ method: 'GET', path: '/api/v1/health' }),
  () => ({ method: 'GET', path: '/api/v1/index/docs/info' }),
  () => ({ method: 'HEAD', path: '/api/v1/health' }),
  () => ({ method: 'GET', path: '/api/v1/index/absent/info' }),
  () => ({ method: 'GET', path: '/api/v2/openapi.json' }),
  () => ({ method: 'PATCH', path: '/api/v1/health' }),
  () => ({ method: 'OPTIONS', path: '/api/v1/index/list' }),
  () => ({ method: 'GET', path: '/%zz' }),
  insertion,
]

/** Targets that change nothing. */
const reads = targets.filter((target) => target !== insertion)

interface Request {
  readonly method: string
  readonly bytes: Buffer
}

/** What is done to a request that is otherwise valid. */
const forms = [
  'usual',
  'usual',
  'usual',
  'usual',
  'chunked',
  'expect',
  'close',
  'old',
  'no-host',
  'two-lengths',
  'bad-length',
  'bare-line-feeds',
  'folded',
  'space-before-colon',
  'upgrade',
  'two-accepts',
  'wrong-type',
  'broken-body',
  'large-head',
  'blank-lines',
  'lower-method',
  'encoded',
  'trailer',
] as const

/**
 * Forms whose connection stays open. What follows a request that closes it would be read or not, depending on when the reply is ready.
 */
const openForms = [
  'usual',
  'usual',
  'chunked',
  'two-accepts',
  'wrong-type',
  'broken-body',
  'encoded',
  'trailer',
] as const

function requestFrom(random: Random, form: (typeof forms)[number], among: typeof targets): Request {
  const { method, path, body } = pick(random, among)(random)
  const bytes = form === 'broken-body' && body !== undefined ? body.bytes.subarray(1) : body?.bytes
  const headers: string[] = []
  if (form !== 'no-host') headers.push('Host: 127.0.0.1')
  if (random() < 0.5) headers.push('Accept: application/json')
  if (body !== undefined) headers.push(`Content-Type: ${form === 'wrong-type' ? 'text/css' : body.type}`)
  const isChunked = (form === 'chunked' || form === 'trailer') && bytes !== undefined
  if (isChunked) headers.push('Transfer-Encoding: chunked')
  else if (bytes !== undefined) headers.push(`Content-Length: ${form === 'bad-length' ? '1e3' : bytes.length}`)
  if (form === 'two-lengths') headers.push('Content-Length: 5')
  if (form === 'expect') headers.push('Expect: 100-continue')
  if (form === 'close') headers.push('Connection: close')
  if (form === 'upgrade') headers.push('Connection: Upgrade', 'Upgrade: h2c')
  if (form === 'two-accepts') headers.push('Accept: text/html')
  if (form === 'folded') headers.push('X-Folded: one\r\n two')
  if (form === 'space-before-colon') headers.push('X-Space : one')
  if (form === 'large-head') headers.push(`X-Large: ${'x'.repeat(pick(random, [7_000, 9_000, 15_000, 17_000]))}`)
  if (form === 'encoded') headers.push('Content-Encoding: gzip')
  const version = form === 'old' ? 'HTTP/1.0' : 'HTTP/1.1'
  const line = `${form === 'lower-method' ? method.toLowerCase() : method} ${path} ${version}`
  const end = form === 'bare-line-feeds' ? '\n' : '\r\n'
  const head = `${form === 'blank-lines' ? '\r\n' : ''}${[line, ...headers].join(end)}${end}${end}`
  return {
    method,
    bytes: Buffer.concat([Buffer.from(head, 'latin1'), isChunked ? chunked(bytes, form) : (bytes ?? Buffer.alloc(0))]),
  }
}

function chunked(bytes: Buffer, form: string): Buffer {
  const half = Math.ceil(bytes.length / 2)
  const parts = [bytes.subarray(0, half), bytes.subarray(half)].filter(({ length }) => length > 0)
  const framed = parts.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')])
  return Buffer.concat([...framed, Buffer.from(form === 'trailer' ? '0\r\nX-After: 1\r\n\r\n' : '0\r\n\r\n')])
}

/**
 * One to three requests on one connection, pipelined, in pieces of any size. Only the first one may write: Node runs what
 * follows a reply that ends the connection, or not, and drops the reply.
 */
function exchangeFrom(random: Random): Exchange {
  const count = random() < 0.7 ? 1 : 1 + Math.floor(random() * 3)
  const requests = Array.from({ length: count }, (_, index) =>
    requestFrom(random, pick(random, count === 1 ? forms : openForms), index === 0 ? targets : reads),
  )
  const bytes = Buffer.concat(requests.map((request) => request.bytes))
  const cuts =
    random() < 0.5 ? [] : Array.from({ length: 3 }, () => Math.floor(random() * bytes.length)).sort((a, b) => a - b)
  const pieces = [0, ...cuts].map((start, index) => bytes.subarray(start, cuts[index] ?? bytes.length))
  return { pieces: pieces.filter(({ length }) => length > 0), methods: requests.map(({ method }) => method) }
}

async function filled(running: RunningApp): Promise<RunningApp> {
  await createIndex(running)
  const objects = Array.from({ length: 40 }, (_, index) => ({
    id: String(index),
    vector: [index % 7, index % 5, index % 3, 1],
    meta: Buffer.from(`meta ${index}`).toString('base64'),
    filter: JSON.stringify({ color: index % 2 === 0 ? 'red' : 'blue' }),
  }))
  await running.send('POST', '/api/v1/index/docs/vector/insert', { json: objects })
  return running
}

t.test(`${rounds} requests have the same replies from 1 and from 3 threads, ANNAL_SEED=${seed}`, async (t) => {
  t.setTimeout(3_600_000)
  const one = await filled(await runningApp(t, { serverThreads: 1 }))
  const three = await filled(await runningApp(t, { serverThreads: 3 }))
  const random = randomFrom(seed)
  const countMoved = async () => {
    const { text } = await three.send('GET', '/metrics')
    const counts = text.matchAll(/^annal_thread_connections_moved_total\{thread="\d+"\} (\d+)$/gm)
    return [...counts].reduce((sum, [, count]) => sum + Number(count), 0)
  }
  let [differences, moved] = [0, 0]
  for (let round = 0; round < rounds && differences < 3; round++) {
    const sent = exchangeFrom(random)
    const [expected, found] = [await exchange(one.url, sent), await exchange(three.url, sent)].map((bytes) =>
      comparable(bytes, sent),
    )
    if (expected === found) continue
    // A thread with more connections than others closes new ones after their first reply.
    const movedBefore = moved
    moved = await countMoved()
    if (moved > movedBefore) continue
    differences++
    t.equal(found, expected, `round ${round}: ${JSON.stringify(Buffer.concat(sent.pieces).toString('latin1'))}`)
  }
  t.equal(differences, 0)
})
