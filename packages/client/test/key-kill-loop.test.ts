// The server is killed at random while clients write with request keys, in TypeScript and in Python, behind a proxy that loses some replies. After
// all, every write of a client is exactly one event of the log, and the collection has what the clients wrote.
import { spawn } from 'node:child_process'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { pythonEnvironment, pythonHome, pythonWith } from '../../client-python/test/python.ts'
import { type Client, connect, denseField } from '../src/index.ts'
import { faultyProxy } from './faulty-proxy.ts'
import { mortalServer } from './mortal-server.ts'

const seed = chosenSeed()
const kills = process.env.ANNAL_LONG === '1' ? 50 : 4
const timeout = kills * 60_000
tap.setTimeout(timeout)
const python = pythonWith('requests', 'msgpack')

interface Written {
  readonly upserted: number
  readonly deleted: number
  readonly faults: readonly string[]
}

test(`each write runs once over ${kills} kills, seed ${seed}`, { timeout }, async (t) => {
  const random = seededRandom(seed)
  const server = await mortalServer(t)
  const proxy = await faultyProxy(t, server.url)
  proxy.fate = ({ method, url }) => {
    if (method === 'GET' || url.endsWith('/scroll') || !random.chance(0.05)) return 'pass'
    return random.chance(0.5) ? 'drop-reply' : 'drop-request'
  }
  const client = connect({ url: proxy.url, retriesMax: 1_000, timeoutMs: 300_000 })
  await client.createCollection({ name: 'things', fields: [denseField('v', { dimension: 2, spaceType: 'l2' })] })
  const ended = new AbortController()
  const writers = ['a', 'b'].map((name) => write(client, name, ended.signal))
  const others = python === undefined ? [] : [writeInPython(t, proxy.url, ended.signal)]
  if (python === undefined) t.comment('without Python: needs python3-requests and python3-msgpack')
  for (let kill = 0; kill < kills; kill++) {
    // Work between two kills, whatever the speed of the machine.
    const before = proxy.requests.length
    while (proxy.requests.length < before + 30 + random.below(40)) await sleep(5)
    await server.kill()
    proxy.target = await server.start()
  }
  ended.abort()
  const written = await Promise.all([...writers, ...others])
  t.strictSame(
    written.flatMap(({ faults }) => faults),
    [],
    `seed ${seed}`,
  )
  const sum = (of: (one: Written) => number) => written.reduce((total, one) => total + of(one), 0)
  const direct = connect({ url: server.url })
  const counts = new Map<string, number>()
  const ids = new Set<string>()
  let objects = 0
  for (let from: number | undefined = 0; from !== undefined; ) {
    const page = await direct.history.events({ collection: 'things', from, limit: 500 })
    for (const event of page.events) {
      counts.set(event.type, (counts.get(event.type) ?? 0) + 1)
      objects += event.objects ?? 0
      if (event.type === 'objects-upserted') for (const id of event.ids ?? []) ids.add(id)
    }
    from = page.next
  }
  const [upserted, deleted] = [sum((one) => one.upserted), sum((one) => one.deleted)]
  t.strictSame(Object.fromEntries(counts), {
    ...{ 'collection-created': 1, 'objects-upserted': upserted, 'objects-deleted': deleted },
  })
  t.equal(objects, upserted + deleted)
  t.equal(ids.size, upserted)
  t.equal(await direct.collection('things').count(), upserted - deleted)
  const keys = proxy.requests.map(({ headers }) => headers['idempotency-key']).filter((key) => key !== undefined)
  t.ok(keys.length > new Set(keys).size, 'some writes were repeated')
  t.comment(JSON.stringify({ seed, kills, upserted, deleted, repeated: keys.length - new Set(keys).size }))
})

/** Every second object is deleted by a filter: a second execution would delete nothing. */
async function write(client: Client, name: string, ended: AbortSignal): Promise<Written> {
  const things = client.collection('things')
  const faults: string[] = []
  let upserted = 0
  let deleted = 0
  while (!ended.aborted) {
    const id = `${name}-${upserted}`
    await things.upsert([{ id, filter: { of: id }, fields: { v: [1, 2] } }])
    upserted++
    if (upserted % 2 > 0) continue
    const count = await things.deleteWhere([{ of: { $eq: id } }])
    deleted++
    if (count !== 1) faults.push(`${id}: ${count} deleted`)
  }
  return { upserted, deleted, faults }
}

/** The same in the Python client. */
async function writeInPython(t: Test, url: string, ended: AbortSignal): Promise<Written> {
  const script = path.join(pythonHome, 'tests/keyed_writer.py')
  const child = spawn(python ?? '', [script, url, 'p'], { env: pythonEnvironment, stdio: ['pipe', 'pipe', 'inherit'] })
  t.teardown(() => child.kill('SIGKILL'))
  ended.addEventListener('abort', () => child.stdin.end(), { once: true })
  let out = ''
  for await (const chunk of child.stdout) out += String(chunk)
  return JSON.parse(out) as Written
}
