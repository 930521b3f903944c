// A server whose providers of vectors misbehave: nothing is half stored, errors are clear, other writes go on, and the key is nowhere.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { type Test, test } from 'tap'
import { until } from '../eventually.ts'
import { freePort } from '../free-port.ts'
import { type Answer, send, temporaryDirectory } from '../running-app.ts'
import { type RunningProcess, startProcess } from '../running-process.ts'
import type { ProviderRequest } from './bad-provider.ts'

const key = 'sk-planted-0123456789abcdefghijklmnop'
const dimension = 3

interface World {
  readonly server: RunningProcess
  readonly url: string
  readonly dataDir: string
  requests(path: string): Promise<readonly ProviderRequest[]>
  release(): Promise<void>
  /** Creates a collection whose field has this provider. */
  create(name: string, provider: string): Promise<Answer>
  upsert(name: string, objects: readonly unknown[], headers?: Record<string, string>): Promise<Answer>
  search(name: string, text: string): Promise<Answer>
  count(name: string): Promise<number>
}

type Settings = Readonly<Record<string, unknown>>

async function startProvider(t: Test): Promise<string> {
  const program = fileURLToPath(new URL('./bad-provider.ts', import.meta.url))
  const child = spawn(process.execPath, [program], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.teardown(() => void child.kill())
  const [port] = (await once(child.stdout, 'data')) as [Buffer]
  return `http://127.0.0.1:${port.toString().trim()}`
}

async function startWorld(t: Test, settings: (provider: string) => Readonly<Record<string, Settings>>): Promise<World> {
  const provider = await startProvider(t)
  const dataDir = await temporaryDirectory(t)
  const file = path.join(dataDir, 'providers.json')
  const providers = Object.entries(settings(provider)).map(([name, given]) => {
    const base = { kind: 'openai', url: `${provider}/${name}`, key_env: 'PLANTED_KEY', model: 'words-1', dimension }
    return [name, { ...base, ...given }]
  })
  await writeFile(file, JSON.stringify(Object.fromEntries(providers)))
  const server = startProcess({
    NDD_DATA_DIR: path.join(dataDir, 'data'),
    NDD_PROVIDERS: file,
    NDD_LOG_LEVEL: 'trace',
    PLANTED_KEY: key,
  })
  t.teardown(async () => {
    server.child.kill('SIGKILL')
    await server.ended
  })
  const url = await server.serving
  return {
    ...{ server, url, dataDir },
    async requests(wanted) {
      const all = (await (await fetch(`${provider}/requests`)).json()) as ProviderRequest[]
      return all.filter((one) => one.path === wanted)
    },
    async release() {
      await fetch(`${provider}/release`)
    },
    create: (name, from) =>
      send(url, 'POST', '/api/v2/collection', {
        json: {
          name,
          fields: [
            { name: 'body', type: 'text' },
            {
              name: 'v',
              type: 'vector',
              params: { dimension, space_type: 'l2', embed: { provider: from, from: 'body' } },
            },
          ],
        },
      }),
    upsert: (name, objects, headers = {}) =>
      send(url, 'POST', `/api/v2/collection/${name}/objects`, { json: { objects }, headers }),
    search: (name, text) =>
      send(url, 'POST', `/api/v2/collection/${name}/search`, {
        accept: 'application/json',
        json: { fields: { v: { query: { text }, limit: 1 } } },
      }),
    async count(name) {
      const reply = await send(url, 'POST', `/api/v2/collection/${name}/objects/count`, { json: {} })
      return reply.json().count as number
    },
  }
}

const three = [
  { id: 'a', fields: { body: 'one a' } },
  { id: 'b', fields: { body: 'two ee' } },
  { id: 'c', fields: { body: 'three' } },
]

/** The key is in no reply, no output, and no file. */
async function checkNoKey(t: Test, { server, dataDir }: World, replies: readonly Answer[]): Promise<void> {
  for (const { text } of replies) t.notOk(text.includes(key), `the key is not in ${text.slice(0, 60)}`)
  t.notOk(server.stdout().includes(key) || server.stderr().includes(key), 'the key is not in the output')
  const files = await readdir(dataDir, { recursive: true, withFileTypes: true })
  t.ok(files.length > 3)
  for (const file of files.filter((one) => one.isFile())) {
    const bytes = await readFile(path.join(file.parentPath, file.name))
    t.notOk(bytes.includes(key), `the key is not in ${file.name}`)
  }
}

const quick = { timeout_ms: 300, deadline_ms: 1_200 }

/** What each fault becomes. */
const faults: {
  readonly [name: string]: {
    readonly status: number
    readonly code: string
    readonly reason: RegExp
    readonly more?: Settings
  }
} = {
  never: { status: 504, code: 'embedding_timeout', reason: /did not reply in time/, more: quick },
  limited: { status: 503, code: 'overloaded', reason: /replied 429/ },
  broken: { status: 502, code: 'embedding_failed', reason: /replied 500/, more: quick },
  dimension: { status: 502, code: 'embedding_failed', reason: /vector of 2 numbers; its configuration says 3/ },
  half: { status: 502, code: 'embedding_failed', reason: /2 vectors for 3 texts/ },
  twice: { status: 502, code: 'embedding_failed', reason: /another form/ },
  null: { status: 502, code: 'embedding_failed', reason: /not a finite number/ },
  garbage: { status: 502, code: 'embedding_failed', reason: /not JSON/ },
  'other-form': { status: 502, code: 'embedding_failed', reason: /another form/ },
  endless: { status: 502, code: 'embedding_failed', reason: /more than \d+ bytes/ },
  announced: { status: 502, code: 'embedding_failed', reason: /more than \d+ bytes/ },
  redirect: { status: 502, code: 'embedding_failed', reason: /replied 307, and redirects are not followed/ },
  reset: { status: 502, code: 'embedding_failed', reason: /cannot be reached/, more: quick },
  gone: {
    status: 502,
    code: 'embedding_failed',
    reason: /cannot be reached \(ECONNREFUSED\)/,
    more: quick,
  },
  key: { status: 502, code: 'embedding_failed', reason: /replied 401/ },
}

test('every fault of a provider is a clear error, and nothing is half stored', async (t) => {
  const closed = await freePort()
  const world = await startWorld(t, () => ({
    ...Object.fromEntries(Object.entries(faults).map(([name, { more = {} }]) => [name, more])),
    gone: { ...quick, url: `http://127.0.0.1:${closed}/` },
  }))
  const replies: Answer[] = []
  for (const [name, { status, code, reason }] of Object.entries(faults)) {
    t.equal((await world.create(name, name)).status, 200, name)
    const refused = await world.upsert(name, [...three, { id: 'given', fields: { v: [1, 2, 3] } }], {
      'idempotency-key': name,
    })
    replies.push(refused)
    t.equal(refused.status, status, `${name}: ${refused.text}`)
    const body = refused.json()
    t.match(body, { code, field: 'v', error: reason }, name)
    t.match(body.items, [
      { id: 'a', reason },
      { id: 'b', reason },
      { id: 'c', reason },
    ])
    t.equal((body.items as unknown[]).length, 3)
    t.equal(await world.count(name), 0, 'nothing is stored')
    const query = await world.search(name, 'words')
    replies.push(query)
    // A single text is the one that the provider makes twice.
    const expected = name === 'twice' ? [200] : [status, code]
    t.match([query.status, query.json().code].slice(0, expected.length), expected, `${name}: ${query.text}`)
    const given = await world.upsert(name, [{ id: 'a', fields: { body: 'text', v: [1, 2, 3] } }], {
      'idempotency-key': `${name}-2`,
    })
    t.equal(given.status, 200, 'vectors that are given need no provider')
    t.equal(await world.count(name), 1)
  }
  t.strictSame(await world.requests('/elsewhere'), [], 'no redirect is followed')
  t.equal((await world.requests('/key'))[0]?.authorization, `Bearer ${key}`)
  const metrics = await send(world.url, 'GET', '/metrics')
  replies.push(metrics)
  t.match(metrics.text, /annal_embedding_calls_total\{provider="garbage",result="failed"\} 2/)
  const configuration = await send(world.url, 'GET', '/api/v2/configuration')
  replies.push(configuration)
  await checkNoKey(t, world, replies)
})

test('a provider that recovers is called again, and one that is slow delays nobody', async (t) => {
  const world = await startWorld(t, () => ({ held: {}, 'limited-once': {}, 'broken-once': {}, picky: {} }))
  for (const name of ['held', 'limited-once', 'broken-once', 'picky']) await world.create(name, name)
  for (const name of ['limited-once', 'broken-once']) {
    const reply = await world.upsert(name, three)
    t.equal(reply.status, 200, reply.text)
    t.equal((await world.requests(`/${name}`)).length, 2)
  }

  const slow = world.upsert('held', three)
  await until(async () => (await world.requests('/held')).length === 1)
  t.equal((await world.upsert('held', [{ id: 'now', fields: { v: [1, 2, 3] } }])).status, 200)
  t.equal((await world.upsert('held', [{ id: 'if', if_absent: true, fields: { v: [1, 2, 3] } }])).status, 200)
  t.equal(await world.count('held'), 2, 'other writes do not wait')
  await world.release()
  t.equal((await slow).status, 200)
  t.equal(await world.count('held'), 5)

  const texts = ['good', 'bad one', 'fine', 'great', 'bad two', 'nice', 'well']
  const objects = texts.map((body, i) => ({ id: `o${i}`, fields: { body } }))
  const refused = await world.upsert('picky', objects)
  t.equal(refused.status, 502)
  t.strictSame(
    (refused.json().items as { id: string }[]).map(({ id }) => id),
    ['o1', 'o4'],
    'only the texts that the provider refuses are named',
  )
  t.equal(await world.count('picky'), 0)
  const each = await world.upsert(
    'picky',
    objects.map((one) => ({ ...one, if_absent: true })),
  )
  t.equal(each.status, 200, each.text)
  t.strictSame(
    (each.json().results as { status: string }[]).map(({ status }) => status),
    ['ok', 'error', 'ok', 'ok', 'error', 'ok', 'ok'],
  )
  t.equal(await world.count('picky'), 5)
  await checkNoKey(t, world, [refused, each])
})

test('requests that wait for a provider leave room for others', async (t) => {
  const world = await startWorld(t, () => ({ held: {} }))
  await world.create('c', 'held')
  const statuses: number[] = []
  const note = ({ status }: Answer) => void statuses.push(status)
  // They end with the server.
  const ended = () => undefined
  for (let i = 0; i < 140; i++) {
    world.upsert('c', [{ id: `w${i}`, fields: { body: `write ${i}` } }]).then(note, ended)
    world.search('c', `read ${i}`).then(note, ended)
  }
  await until(() => statuses.length === 24)
  t.strictSame(new Set(statuses), new Set([503]), 'what exceeds 128 writes and 128 searches')
  t.equal((await world.upsert('c', [{ id: 'given', fields: { v: [1, 2, 3] } }])).status, 200)
  t.equal(await world.count('c'), 1)
  t.equal(statuses.length, 24, 'the others wait')
})

test('bodies of writes that wait for a provider take nothing from other bodies', async (t) => {
  const slow = { timeout_ms: 60_000, deadline_ms: 60_000, batch_size: 1, concurrency: 4 }
  const world = await startWorld(t, () => ({ held: slow }))
  await world.create('c', 'held')
  // A little less than the room of all small bodies, and as many bytes again.
  const [count, bytes] = [72, 1_000_000]
  const body = (id: string, fields: object) => JSON.stringify({ objects: [{ id, fields }] }).padEnd(bytes, ' ')
  const put = (text: string) =>
    send(world.url, 'POST', '/api/v2/collection/c/objects', { body: text, type: 'application/json' })
  const ends: (Answer | undefined)[] = []
  const waiting: Promise<void>[] = []
  const textsWaiting = async () => {
    const { text } = await send(world.url, 'GET', '/metrics')
    return Number(/^annal_embedding_texts_waiting\{.*\} (\d+)$/m.exec(text)?.[1])
  }
  for (let from = 0; from < count; from += 24) {
    for (let i = from; i < from + 24; i++)
      waiting.push(
        put(body(`slow ${i}`, { body: `text ${i}` })).then(
          (answer) => void ends.push(answer),
          () => undefined,
        ),
      )
    await until(async () => (await textsWaiting()) + slow.concurrency >= from + 24 || ends.length > 0)
  }
  t.strictSame(ends, [], 'none of them was refused')
  const others = await Promise.all(Array.from({ length: 8 }, (_, i) => put(body(`now ${i}`, { v: [i, 1, 1] }))))
  t.strictSame(
    others.map(({ status }) => status),
    others.map(() => 200),
  )
  t.equal(await world.count('c'), 8)
  t.strictSame(ends, [], 'they still wait')
  world.server.child.kill('SIGKILL')
  await Promise.all(waiting)
})

test('each kind of provider gets and returns its own form, in batches, and equal texts are sent once', async (t) => {
  const world = await startWorld(t, (provider) => ({
    ok: { batch_size: 2, send_dimension: true },
    cohere: { kind: 'cohere', send_dimension: true },
    voyage: { kind: 'voyage' },
    local: { url: `${provider}/ok`, key_env: undefined },
  }))
  for (const name of ['ok', 'cohere', 'voyage', 'local']) {
    t.equal((await world.create(name, name)).status, 200)
    t.equal((await world.upsert(name, [...three, { id: 'd', fields: { body: 'one a' } }])).status, 200)
    const found = await world.search(name, 'two ee')
    t.match(found.json().results, { v: [{ id: 'b', similarity: 0 }] }, name)
  }
  const bodies = async (path: string) => (await world.requests(path)).map(({ body }) => body)
  const base = { model: 'words-1' }
  const format = { encoding_format: 'float' }
  const [cut, rest, ofLocal] = [{ ...base, ...format, dimensions: 3 }, ['three'], { ...base, ...format }]
  t.same(await bodies('/ok'), [
    { ...cut, input: ['one a', 'two ee'] },
    { ...cut, input: rest },
    { ...cut, input: ['two ee'] },
    { ...ofLocal, input: ['one a', 'two ee', 'three'] },
    { ...ofLocal, input: ['two ee'] },
  ])
  t.strictSame(
    (await world.requests('/ok')).map(({ authorization }) => authorization !== undefined),
    [true, true, true, false, false],
  )
  const types = { embedding_types: ['float'], output_dimension: 3 }
  t.same(await bodies('/cohere'), [
    { ...base, ...types, input_type: 'search_document', texts: ['one a', 'two ee', 'three'] },
    { ...base, ...types, input_type: 'search_query', texts: ['two ee'] },
  ])
  t.same(await bodies('/voyage'), [
    { ...base, input_type: 'document', input: ['one a', 'two ee', 'three'] },
    { ...base, input_type: 'query', input: ['two ee'] },
  ])
  // From the cache.
  t.equal((await world.upsert('cohere', three)).status, 200)
  t.equal((await world.search('cohere', 'two ee')).status, 200)
  t.equal((await bodies('/cohere')).length, 2)
  const metrics = await send(world.url, 'GET', '/metrics')
  t.match(metrics.text, /annal_embedding_cache_hits_total\{provider="cohere"\} 4/)
  t.match(metrics.text, /annal_embedding_call_seconds_count\{provider="cohere"\} 2/)
  const batch = await send(world.url, 'POST', '/api/v2/collection/ok/search/batch', {
    json: { searches: [{ fields: { v: { query: { text: 'three' } } } }, { fields: { body: { query: 'two' } } }] },
  })
  t.match(batch.json().searches, [{ results: { v: [{ id: 'c' }] } }, { results: { body: [{ id: 'b' }] } }], batch.text)
})

test('a restart without the provider keeps the vectors and refuses texts', async (t) => {
  const world = await startWorld(t, () => ({ ok: {} }))
  await world.create('c', 'ok')
  t.equal((await world.upsert('c', three)).status, 200)
  // A kill leaves everything to the replay of the log.
  world.server.child.kill('SIGKILL')
  await world.server.ended
  const second = startProcess({ NDD_DATA_DIR: path.join(world.dataDir, 'data') })
  t.teardown(async () => {
    second.child.kill('SIGKILL')
    await second.ended
  })
  const url = await second.serving
  const description = await send(url, 'GET', '/api/v2/collection/c')
  t.match(description.json().fields, [{}, { params: { embed: { provider: 'ok', from: 'body', model: 'words-1' } } }])
  const found = await send(url, 'POST', '/api/v2/collection/c/search', {
    accept: 'application/json',
    json: { fields: { v: { query: [6, 0, 2] } } },
  })
  t.match(found.json().results, { v: [{ id: 'b', similarity: 0 }] })
  const refused = await send(url, 'POST', '/api/v2/collection/c/objects', { json: { objects: three } })
  t.match([refused.status, refused.json()], [409, { code: 'embedding_unavailable', field: 'v', value: 'ok' }])
  t.equal((await world.requests('/ok')).length, 1, 'the replay has called nobody')
})
