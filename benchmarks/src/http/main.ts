// The cost of serving over HTTP: CPU time of the server for loading Fashion-MNIST and for each search at recall@10 of 0.99, as
// published clients send it over 8 keep-alive connections; the share of the kernel; latencies at 70 % load. Linux only.
//
//   npm run bench:http -- --data DIR [--dir DIR, kept and used again] [--profile DIR] [--searches 8000] [--rounds 5]
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, tmpdir } from 'node:os'
import path from 'node:path'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { parseArgs } from 'node:util'
import { decode } from '@msgpack/msgpack'
import { recallAtTen } from '../ann/contender.ts'
import { readDataset } from '../ann/dataset.ts'
import { type LoadOptions, load } from './connections.ts'
import { kernelMs } from './kernel-share.ts'
import { createRequest, infoRequest, insertRequest, pythonSearchRequest, searchRequest } from './requests.ts'
import { type BenchedServer, startServer } from './server-process.ts'

const { values } = parseArgs({
  options: {
    data: { type: 'string' },
    dir: { type: 'string' },
    profile: { type: 'string' },
    kernel: { type: 'boolean', default: false },
    searches: { type: 'string', default: '8000' },
    rounds: { type: 'string', default: '5' },
    json: { type: 'string' },
  },
})
if (values.data === undefined) throw new Error('--data DIR must name the folder that contains fashion-mnist')
const connections = 8
const searches = Number(values.searches)
const rounds = Number(values.rounds)
const batch = 1_000
const latenciesMin = 10_000
const recallWanted = 0.99
const efs = [24, 32, 40, 48, 64, 96, 128]

const set = await readDataset(values.data, 'fashion-mnist')
const { dimension, base, truth } = set
const queries = Array.from({ length: 1_000 }, (_, i) => set.queries.subarray(i * dimension, (i + 1) * dimension))
console.log(`Fashion-MNIST, 60,000 x ${dimension}, l2, int8, k 10; ${connections} connections`)
console.log(`${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.version}`)
const dir = values.dir ?? (await mkdtemp(path.join(tmpdir(), 'annal-http-')))
const figures: { name: string; value: number; unit: string; more: 'worse' }[] = []
const server = await startServer(dir, values.profile)
try {
  if (await isEmpty(server)) await fill(server)
  const ef = await efForRecall(server)
  await measure(server, 'a route that does nothing', () => infoRequest)
  const requests = queries.map((query) => searchRequest(query, ef))
  const ms = await measure(server, 'search as JavaScript sends it', (i) => requests[i % requests.length]!)
  const python = queries.map((query) => pythonSearchRequest(query, ef))
  await measure(server, 'search as Python sends it', (i) => python[i % python.length]!)
  await latencies(server, (i) => requests[i % requests.length]!)
  if (values.kernel) {
    const kernel = await kernelMs({ ...set, queries: set.queries.subarray(0, 1_000 * dimension) }, ef, rounds)
    console.log(`the same searches by the kernel alone: ${us(kernel)}; outside the kernel ${us(ms - kernel)}`)
  }
} finally {
  await server.stop()
  if (values.dir === undefined) await rm(dir, { recursive: true, force: true })
}
if (values.json !== undefined) await writeFile(values.json, `${JSON.stringify({ figures })}\n`)

async function isEmpty({ url }: BenchedServer): Promise<boolean> {
  return (await fetch(`${url}/api/v1/index/a/info`)).status === 404
}

async function fill(server: BenchedServer): Promise<void> {
  await load({ port: server.port, count: 1, connections: 1, request: () => createRequest(dimension) })
  const requests = Array.from({ length: base.length / dimension / batch }, (_, i) =>
    insertRequest(base.subarray(i * batch * dimension, (i + 1) * batch * dimension), dimension, i * batch),
  )
  const before = await server.cpu()
  const begun = performance.now()
  await load({ port: server.port, count: requests.length, connections: 1, request: (i) => requests[i]! })
  const cpuTimes = await server.cpu()
  figures.push({ name: 'load', value: (cpuTimes.all - before.all) / 1_000, unit: 's of server CPU', more: 'worse' })
  const seconds = [cpuTimes.all - before.all, cpuTimes.main - before.main, performance.now() - begun].map((ms) =>
    (ms / 1_000).toFixed(2),
  )
  console.log(`load: ${seconds[0]} s of CPU, of which the main thread ${seconds[1]} s; ${seconds[2]} s by the clock`)
}

/** The smallest ef that reaches the recall, over all queries, as a client sees it. */
async function efForRecall({ port }: BenchedServer): Promise<number> {
  for (const ef of efs) {
    const answers = new Uint32Array(queries.length * 10)
    const onReply: LoadOptions['onReply'] = (i, body) => {
      for (const [j, hit] of (decode(body) as [number, string][]).entries()) answers[i * 10 + j] = Number(hit[1])
    }
    const request = (i: number) => searchRequest(queries[i]!, ef)
    await load({ port, count: queries.length, connections, request, onReply })
    const recall = recallAtTen(answers, truth, queries.length)
    if (recall < recallWanted) continue
    console.log(`recall@10 ${recall.toFixed(4)} at ef ${ef}`)
    return ef
  }
  throw new Error(`none of ef ${efs.join(', ')} reaches recall@10 of ${recallWanted}`)
}

/** Milliseconds of CPU time for each request, median over rounds. */
async function measure(server: BenchedServer, name: string, request: (i: number) => Buffer): Promise<number> {
  const { port } = server
  const times: { all: number; main: number }[] = []
  await load({ port, count: 2_000, connections, request })
  for (let round = 0; round < rounds; round++) {
    const before = await server.cpu()
    await load({ port, count: searches, connections, request })
    const after = await server.cpu()
    times.push({ all: (after.all - before.all) / searches, main: (after.main - before.main) / searches })
  }
  times.sort((a, b) => a.all - b.all)
  const [least, quarter, half] = [0, 0.25, 0.5].map((share) => times[Math.floor(times.length * share)]!)
  const { all } = half!
  figures.push({ name, value: all * 1_000, unit: 'us of server CPU', more: 'worse' })
  console.log(
    `${name} (${request(0).length} bytes): ${us(all)} of CPU, main thread ${us(half!.main)}; a quarter of the rounds below ${us(quarter!.all)}, least ${us(least!.all)}`,
  )
  return all
}

/** Latencies at 70 % of the maximum rate of the server. */
async function latencies({ port }: BenchedServer, request: (i: number) => Buffer): Promise<void> {
  const begun = performance.now()
  await load({ port, count: searches, connections, request })
  const perSecond = (0.7 * searches * 1_000) / (performance.now() - begun)
  const pauses = monitorEventLoopDelay({ resolution: 1 })
  pauses.enable()
  // Enough requests that one pause does not affect the 99th percentile.
  const count = Math.max(searches, latenciesMin)
  const sorted = await load({ port, count, connections: 4 * connections, request, perSecond })
  pauses.disable()
  const [p50 = 0, p99 = 0] = [0.5, 0.99].map((share) => sorted[Math.floor(sorted.length * share)])
  console.log(
    `at ${perSecond.toFixed(0)} a second, 70 % of the most: p50 ${p50.toFixed(2)} ms, p99 ${p99.toFixed(2)} ms, ${(p99 / p50).toFixed(1)} times p50; ${count} of them; the longest pause of the client itself ${(pauses.max / 1e6).toFixed(1)} ms`,
  )
}

function us(ms: number): string {
  return `${(ms * 1_000).toFixed(0)} us`
}
