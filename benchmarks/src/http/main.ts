// What HTTP costs beside the engine: CPU time of the server per search with a query as published clients send it, against the
// same searches in this process, and against a route that does nothing. Linux only: CPU time is read from /proc.
//
//   node scripts/run.mjs benchmarks/src/http/main.ts [--objects 5000] [--searches 8000] [--rounds 3]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { openEngine } from '@annal/engine'
import { load } from './connections.ts'

const dimension = 784
const connections = 8
const { values } = parseArgs({
  options: {
    objects: { type: 'string', default: '5000' },
    searches: { type: 'string', default: '8000' },
    rounds: { type: 'string', default: '3' },
    seed: { type: 'string', default: '1' },
  },
})
const objects = Number(values.objects)
const searches = Number(values.searches)
const random = lehmer(Number(values.seed))
const vectors = Array.from({ length: objects }, unitVector)
const queries = Array.from({ length: 50 }, unitVector)

console.log(`seed ${values.seed}; ${objects} x ${dimension}, cosine, int8, k 10, ef 128; ${connections} connections`)
console.log(`${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.version}`)
const dir = await mkdtemp(path.join(tmpdir(), 'annal-http-'))
try {
  await overHttp(path.join(dir, 'server'))
  await inProcess(path.join(dir, 'engine'))
} finally {
  await rm(dir, { recursive: true, force: true })
}

async function overHttp(dataDir: string): Promise<void> {
  const main = fileURLToPath(import.meta.resolve('@annal/server/main'))
  const child = spawn(process.execPath, ['--conditions=annal-source', main], {
    env: { ...process.env, NDD_SERVER_PORT: '0', NDD_DATA_DIR: dataDir },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  try {
    const [line] = (await once(child.stdout, 'data')) as [Buffer]
    const url = /http:\/\/\S+/.exec(line.toString())?.[0] ?? ''
    const port = Number(new URL(url).port)
    await post(`${url}/api/v1/index/create`, { index_name: 'a', dim: dimension, space_type: 'cosine' })
    const loadBefore = await cpuMs(child.pid)
    for (let at = 0; at < objects; at += 500) {
      const batch = vectors.slice(at, at + 500).map((vector, i) => ({ id: `v${at + i}`, vector }))
      await post(`${url}/api/v1/index/a/vector/insert`, batch)
    }
    console.log(
      `load over HTTP (JSON)   ${(((await cpuMs(child.pid)) - loadBefore) / objects).toFixed(3)} ms of CPU per object`,
    )
    const info = Buffer.from('GET /api/v2/info HTTP/1.1\r\nHost: x\r\n\r\n')
    const bodies = queries.map((vector) => searchRequest(vector))
    for (const [name, request] of [
      ['a route that does nothing', () => info],
      [`search over HTTP, ${bodies[0]!.length} bytes`, (i: number) => bodies[i % bodies.length]!],
    ] as const) {
      await load({ port, count: 2_000, connections, request })
      for (let round = 0; round < Number(values.rounds); round++) {
        const before = await cpuMs(child.pid)
        const latencies = await load({ port, count: searches, connections, request })
        const us = (((await cpuMs(child.pid)) - before) * 1_000) / searches
        console.log(
          `${name.padEnd(36)} ${us.toFixed(1).padStart(7)} us of CPU, p50 ${at(latencies, 0.5)} ms, p99 ${at(latencies, 0.99)} ms`,
        )
      }
    }
  } finally {
    child.kill('SIGTERM')
    await once(child, 'close')
  }
}

async function inProcess(dataDir: string): Promise<void> {
  const engine = await openEngine({ dataDir })
  const params = { dimension, space_type: 'cosine' }
  const collection = await engine
    .database()
    .createCollection({ name: 'a', fields: [{ name: 'dense', type: 'vector', params }] })
  for (let at = 0; at < objects; at += 500) {
    await collection.upsert(
      vectors.slice(at, at + 500).map((vector, i) => ({ id: `v${at + i}`, fields: { dense: vector } })),
    )
  }
  for (let round = 0; round <= Number(values.rounds); round++) {
    const before = process.cpuUsage()
    let next = 0
    const one = async (): Promise<void> => {
      while (next < searches) {
        const query = queries[next++ % queries.length]!
        await collection.search({ fields: { dense: { query, limit: 10, ef: 128 } } })
      }
    }
    await Promise.all(Array.from({ length: connections }, one))
    const { user, system } = process.cpuUsage(before)
    if (round > 0)
      console.log(
        `${'the same searches in process'.padEnd(36)} ${((user + system) / searches).toFixed(1).padStart(7)} us of CPU`,
      )
  }
  await engine.close()
}

/** As the published JavaScript client sends it. */
function searchRequest(vector: readonly number[]): Buffer {
  const body = JSON.stringify({ k: 10, ef: 128, include_vectors: false, vector })
  const head = [
    'POST /api/v1/index/a/search HTTP/1.1',
    'Host: x',
    'Accept: application/json, text/plain, */*',
    'Content-Type: application/json',
    `Content-Length: ${body.length}`,
  ]
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body}`)
}

async function post(url: string, body: unknown): Promise<void> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  })
  const text = await response.text()
  if (response.status !== 200) throw new Error(text)
}

/** User and system time of a process since it began. */
async function cpuMs(pid: number | undefined): Promise<number> {
  const fields = (await readFile(`/proc/${pid}/stat`, 'utf8')).split(') ')[1]!.split(' ')
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function at(sorted: Float64Array, share: number): string {
  return sorted[Math.floor(sorted.length * share)]!.toFixed(2)
}

function unitVector(): number[] {
  const vector = Array.from({ length: dimension }, random)
  const length = Math.hypot(...vector)
  return vector.map((x) => x / length)
}

function lehmer(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
}
