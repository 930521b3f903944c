// What a start does not load: everything that only some routes or settings need, and the graph threads.
import { test } from 'tap'
import { send, temporaryDirectory } from './running-app.ts'
import { type RunningProcess, startProcess } from './running-process.ts'

/** Packages that only some routes or settings need. */
const later = [
  'ajv',
  'ajv-formats',
  '@fastify/ajv-compiler',
  '@fastify/fast-json-stringify-compiler',
  '@fastify/http-proxy',
  '@fastify/static',
  '@fastify/swagger',
  'light-my-request',
  'prom-client',
  'yaml',
]
/** Packages that each serving thread may load. */
const inThreads = ['@fastify/forwarded', '@fastify/proxy-addr', '@msgpack/msgpack', 'ipaddr.js', 'xxhash-wasm']
const laterScopes = ['@aws-sdk', '@smithy', '@opentelemetry', '@nats-io']

const reporting = `--import=${new URL('loaded-modules.ts', import.meta.url).href}`

function loadedBy(running: RunningProcess, thread: string): string[] {
  return [...running.stderr().matchAll(new RegExp(`^loaded ${thread} (\\S+)$`, 'gm'))].map(([, url = '']) => url)
}

function packageOf(url: string): string | undefined {
  return /.*\/node_modules\/((?:@[^/]+\/)?[^/]+)\//.exec(url)?.[1]
}

const index = { index_name: 'docs', dim: 4, space_type: 'l2', precision: 'float32' }

test('a start loads no package that only some routes or settings need, and starts no thread', {
  timeout: 120_000,
}, async (t) => {
  const running = startProcess({
    NDD_DATA_DIR: await temporaryDirectory(t),
    NDD_NUM_SERVER_THREADS: '1',
    NODE_OPTIONS: reporting,
  })
  t.teardown(() => running.child.kill('SIGKILL'))
  const loaded = (thread: string) => loadedBy(running, thread)
  const packages = () => new Set(loaded('main').flatMap((url) => packageOf(url) ?? []))

  const url = await running.serving
  t.equal((await send(url, 'GET', '/api/v2/health')).status, 200)
  const atStart = packages()
  t.ok(atStart.has('fastify'), 'the hook sees packages')
  t.strictSame(
    [...atStart].filter((name) => later.includes(name) || laterScopes.includes(name.split('/')[0] ?? '')),
    [],
  )
  t.strictSame(loaded('worker'), [], 'no thread was started')

  t.equal((await send(url, 'POST', '/api/v1/index/create', { json: index })).status, 200)
  t.ok(packages().has('ajv'), 'the first body is validated')
  t.notOk(loaded('main').includes('fetch'), 'no import has loaded the implementation of fetch')
  t.strictSame(loaded('worker'), [], 'an empty collection needs no thread')
  const insert = await send(url, 'POST', '/api/v1/index/docs/vector/insert', {
    json: [{ id: 'a', vector: [1, 0, 0, 0] }],
  })
  t.equal(insert.status, 200)
  t.ok(loaded('worker').length > 0, 'a write needs a thread')
})

test('serving threads load few packages, and not the HTTP and TLS of Node.js', { timeout: 120_000 }, async (t) => {
  const running = startProcess({
    NDD_DATA_DIR: await temporaryDirectory(t),
    NDD_NUM_SERVER_THREADS: '2',
    NODE_OPTIONS: reporting,
  })
  t.teardown(() => running.child.kill('SIGKILL'))
  const url = await running.serving
  t.equal((await send(url, 'GET', '/api/v2/health')).status, 200)
  const loaded = loadedBy(running, 'worker')
  t.ok(
    loaded.some((one) => /serving[-/]thread/.test(one)),
    'threads serve',
  )
  t.strictSame(
    loaded.filter((one) => /^node:(http|https|tls)$|^fetch$/.test(one)),
    [],
  )
  const packages = new Set(loaded.flatMap((one) => packageOf(one) ?? []))
  t.strictSame(
    [...packages].filter((name) => !inThreads.includes(name)),
    [],
  )
})
