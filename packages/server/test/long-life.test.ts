// A server that runs for a long time uses no more of the system in the end than after its first minutes. Long forms only: they need an
// hour, or 100,000 rounds, of a real process. engine/test/released-memories.test.ts tests what each kind of round leaves.
//
//   ANNAL_LONG=1 TAP_TIMEOUT=7200 node --conditions=annal-source packages/server/test/long-life.test.ts
//   ANNAL_SOAK_MINUTES=60, ANNAL_CYCLES=100000
import { statSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import path from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { chosenSeed, type Random, seededRandom, type Taken, takenByProcess } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { keepConnections } from './kept-connections.ts'
import { temporaryDirectory } from './running-app.ts'
import { startProcess } from './running-process.ts'

tap.setTimeout(7_200_000)

const skip = process.env.ANNAL_LONG === undefined ? 'takes an hour: ANNAL_LONG=1 runs it' : false
const soakMinutes = Number(process.env.ANNAL_SOAK_MINUTES ?? 60)
const cycles = Number(process.env.ANNAL_CYCLES ?? 100_000)

interface Server {
  readonly pid: number
  readonly dataDir: string
  /** Returns the body of the reply; throws if the request failed. */
  ask(method: string, route: string, body?: unknown): Promise<Record<string, unknown>>
}

async function startServer(t: Test): Promise<Server> {
  const dataDir = await temporaryDirectory(t)
  const { child, serving, ended } = startProcess({ NDD_DATA_DIR: dataDir, NDD_NUM_THREADS: '2', NDD_FSYNC: 'none' })
  t.teardown(async () => {
    child.kill('SIGTERM')
    await ended
  })
  const connections = keepConnections(await serving)
  t.teardown(() => {
    t.comment(`${connections.repeated} requests were sent again`)
    connections.close()
  })
  return {
    pid: child.pid as number,
    dataDir,
    async ask(method, route, body) {
      for (;;) {
        const { status, text, again } = await connections.send(method, `/api/v2${route}`, body)
        const reply = JSON.parse(text) as Record<string, unknown>
        if (status < 300) return reply
        if (again && done.has(reply.code)) return {}
        if (status !== 503) throw new Error(`${method} ${route}: ${status} ${text}`)
        await after(100)
      }
    },
  }
}

/** Errors of a repeated request whose first attempt was applied. */
const done: ReadonlySet<unknown> = new Set([
  'collection_exists',
  'collection_not_found',
  'backup_exists',
  'backup_not_found',
])

const dimension = 32
const denseField = {
  name: 'v',
  type: 'vector',
  params: { dimension, space_type: 'cosine', precision: 'int8', M: 8, ef_con: 32 },
}
const fields = [denseField, { name: 's', type: 'sparse', sparse_model: 'default' }]

function vectorOf(n: number): number[] {
  return Array.from({ length: dimension }, (_, i) => Math.sin((n + 1) * (i + 1)))
}

function objectOf(n: number, group: number) {
  const s = { indices: [n % 50, 50 + (n % 7)], values: [1, 0.5] }
  return { id: `o${n}`, filter: JSON.stringify({ group }), fields: { v: vectorOf(n), s } }
}

function median(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[values.length >> 1] ?? Number.NaN
}

function compare(
  t: Test,
  name: string,
  [early, late]: readonly [readonly Taken[], readonly Taken[]],
  share: number,
): void {
  for (const what of ['rssBytes', 'mappings', 'memories', 'descriptors'] as const) {
    const [before, after] = [early, late].map((looks) => median(looks.map((taken) => taken[what]))) as [number, number]
    const sentence = `${name}: ${what} ${before} early, ${after} late`
    // The number of open files and mappings varies.
    const slack = what === 'rssBytes' ? 0 : 64
    t.ok(after <= before * (1 + share) + (what === 'descriptors' ? 8 : slack), sentence)
    t.comment(sentence)
  }
}

test('collections that are created, filled with one object, and deleted, by eight clients', { skip }, async (t) => {
  const server = await startServer(t)
  const looks: Taken[] = []
  let begun = 0
  const client = async () => {
    while (begun < cycles) {
      const n = begun++
      const route = `/collection/c${n}`
      await server.ask('POST', '/collection', { name: `c${n}`, fields: [denseField] })
      await server.ask('POST', `${route}/objects`, { objects: [{ id: 'a', fields: { v: vectorOf(n) } }] })
      await server.ask('DELETE', route)
      if (n % 100 === 0) looks.push(takenByProcess(server.pid) as Taken)
      if (n % (cycles / 20) === 0) t.comment(n, JSON.stringify(looks.at(-1)))
    }
  }
  await Promise.all(Array.from({ length: 8 }, client))
  // During the first 1,000 rounds the process grows to its normal size.
  compare(t, `${cycles} rounds`, [looks.slice(10, 60), looks.slice(-50)], 0.1)
})

/** Runs one client: repeats `step` until the time is over. */
async function runClient(until: number, restMs: number, step: (n: number) => Promise<void>): Promise<number> {
  let n = 0
  for (; performance.now() < until; n++) {
    await step(n)
    await after(restMs)
  }
  return n
}

/** Bytes of files; one with several names counts once. */
async function bytesIn(dir: string): Promise<number> {
  const sizes = new Map<number, number>()
  for (const entry of await readdir(dir, { recursive: true })) {
    const facts = statSync(path.join(dir, entry), { throwIfNoEntry: false })
    if (facts?.isFile()) sizes.set(facts.ino, facts.size)
  }
  return [...sizes.values()].reduce((sum, size) => sum + size, 0)
}

test('a mixed load for an hour', { skip }, async (t) => {
  const seed = chosenSeed()
  t.comment(`seed ${seed}`)
  const server = await startServer(t)
  const until = performance.now() + soakMinutes * 60_000
  const random = (which: number): Random => seededRandom(seed + which)
  await server.ask('POST', '/collection', { name: 'main', fields })
  await server.ask('POST', '/collection/main/objects', {
    objects: Array.from({ length: 1_000 }, (_, i) => objectOf(i, i % 40)),
  })
  const looks: Taken[] = []
  const writer = random(1)
  const searcher = random(2)
  const counts = await Promise.all([
    runClient(until, 20, async (n) => {
      const from = writer.below(1_900)
      const objects = Array.from({ length: 100 }, (_, i) => objectOf(from + i, n % 40))
      await server.ask('POST', '/collection/main/objects', { objects })
      // About a hundred of 2,000 ids are deleted at any time.
      if (n % 5 === 4)
        await server.ask('DELETE', '/collection/main/objects', { filter: [{ group: { $eq: writer.below(40) } }] })
    }),
    runClient(until, 10, async () => {
      const query = vectorOf(searcher.below(5_000))
      const filter = searcher.below(2) === 0 ? [{ group: { $lt: 20 } }] : []
      await server.ask('POST', '/collection/main/search', { fields: { v: { query, limit: 10 } }, filter })
      const sparse = { query: { indices: [searcher.below(50)], values: [1] }, limit: 10 }
      await server.ask('POST', '/collection/main/search', { fields: { s: sparse } })
    }),
    runClient(until, 50, async (n) => {
      const name = `short${n}`
      await server.ask('POST', '/collection', { name, fields })
      // Every other collection is large enough to be rebuilt around its mean.
      const objects = Array.from({ length: n % 2 === 0 ? 20 : 300 }, (_, i) => objectOf(i, 0))
      await server.ask('POST', `/collection/${name}/objects`, { objects })
      await server.ask('POST', `/collection/${name}/search`, { fields: { v: { query: vectorOf(n), limit: 5 } } })
      await server.ask('DELETE', `/collection/${name}`)
    }),
    runClient(until, 5_000, async (n) => {
      await server.ask('POST', '/collection/main/clone', { target_collection_name: `clone${n}` })
      await server.ask('POST', `/collection/clone${n}/objects/count`, {})
      await server.ask('DELETE', `/collection/clone${n}`)
    }),
    runClient(until, 10_000, async (n) => {
      await server.ask('POST', '/collection/main/backup', { name: `backup${n}` })
      while ((await server.ask('GET', '/status/backup')).status === 'running') await after(50)
      await server.ask('POST', `/backups/backup${n}/restore`, { target_collection_name: `restored${n}` })
      await server.ask('DELETE', `/collection/restored${n}`)
      await server.ask('DELETE', `/backups/backup${n}`)
    }),
    runClient(until, 5_000, async (n) => {
      looks.push(takenByProcess(server.pid) as Taken)
      const minute = n % 12 === 0
      if (minute) t.comment(n / 12, JSON.stringify(looks.at(-1)), `${await bytesIn(server.dataDir)} bytes on disk`)
    }),
  ])
  t.comment(`writes, searches, short collections, clones, backups, looks: ${counts}`)
  const sixth = Math.floor(looks.length / 6)
  compare(t, `${soakMinutes} minutes`, [looks.slice(sixth, 2 * sixth), looks.slice(-sixth)], 0.2)
})
