// Time from SIGKILL in the middle of a load to a healthy server, and the memory of the process before and after. A million objects of 128
// dimensions (int8, ids of 8 bytes, one filter key, no meta) arrive over HTTP. The load is killed at several points, because the rest of
// the log to replay depends on when the last checkpoint was taken. Linux only. Build first (`npm run build`).
//
//   npm run bench:restart -- [--objects 1000000] [--kills 6] [--apart 17000] [--dir DIR, kept and used again] [--against CHECKOUT]
//   [--cost 0] [--parts] [--json FILE]
//
// `--against` is another built checkout of this repository: it gets the same load in its own directory, and the kills take turns. `--cost N`
// measures N more objects without kills, in turns of 50,000: rows per second and CPU time while checkpoints are taken. `--parts` waits after
// each start until the process has trimmed its heap, and lists its memory: what the system counts by kind of mapping, and what the engine
// counts by part.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { encode } from '@msgpack/msgpack'
import { type Mappings, mappingsOf } from '../load/mappings.ts'
import { readOptions } from '../options.ts'
import { dimension, groups, vectorOf } from '../start/objects.ts'

const values = readOptions({
  objects: 1_000_000,
  kills: 6,
  apart: 17_000,
  cost: 0,
  parts: false,
  dir: String,
  against: String,
  json: String,
})
const { objects, kills, apart, cost } = values
const batch = 1_000
const pollMs = 10
const costTurn = 50_000
/** A server trims its heap when it was idle for a second. */
const settleMs = 4_000

interface Contender {
  readonly name: string
  /** The server's main file. */
  readonly main: string
  readonly dataDir: string
}

interface Running {
  readonly url: string
  readonly pid: number
  /** From the start of the process until it is healthy. */
  readonly healthyMs: number
  kill(signal: 'SIGKILL' | 'SIGTERM'): Promise<void>
}

interface Restart {
  readonly contender: string
  readonly objects: number
  readonly healthyMs: number
  readonly cpuMs: number
  readonly beforeKill: Memory
  readonly afterStart: Memory
  readonly parts?: Parts
}

/** Mebibytes, of a process that has been idle. */
interface Parts {
  readonly rss: number
  readonly mappings: Mappings
  /** What the engine counts, in all and by part. */
  readonly planned: number
  readonly plan: Readonly<Record<string, number>>
}

/** Mebibytes. */
interface Memory {
  readonly rss: number
  readonly peak: number
}

const dir = values.dir ?? mkdtempSync(path.join(os.tmpdir(), 'annal-restart-'))
const root = fileURLToPath(new URL('../../..', import.meta.url))
const contenders = [
  contender('this', root),
  ...(values.against === undefined ? [] : [contender('other', values.against)]),
]
console.error(
  `${os.cpus()[0]?.model ?? 'unknown processor'}, ${os.availableParallelism()} cores, Node ${process.version}`,
)
for (const one of contenders) await fill(one)
const restarts: Restart[] = []
for (let kill = 0; kill < kills; kill++) {
  for (const one of inTurns(contenders, kill)) {
    const restart = await restartOnce(one, objects + (kill + 1) * apart)
    restarts.push(restart)
    console.error(JSON.stringify(restart))
  }
}
const costs: { readonly contender: string; readonly seconds: number; readonly cpuMs: number }[] = []
for (let turn = 0; turn * costTurn < cost; turn++) {
  for (const one of inTurns(contenders, turn)) {
    const measured = await costOnce(one, objects + kills * apart + turn * costTurn)
    costs.push(measured)
    console.error(JSON.stringify(measured))
  }
}
const report = {
  objects,
  dimension,
  load: os.loadavg().map((load) => Math.round(load * 100) / 100),
  summary: contenders.map(({ name }) => summaryOf(name)),
  restarts,
  costs,
}
const text = `${JSON.stringify(report, undefined, 2)}\n`
console.log(text)
if (values.json !== undefined) writeFileSync(values.json, text)
if (values.dir === undefined) rmSync(dir, { recursive: true })

function contender(name: string, checkout: string): Contender {
  const main = path.join(checkout, 'packages/server/dist/main.js')
  if (!existsSync(main)) throw new Error(`${main} does not exist: run npm run build in ${checkout}`)
  return { name, main, dataDir: path.join(dir, name) }
}

/** Each goes first in half of the turns. */
function inTurns<T>(all: readonly T[], turn: number): readonly T[] {
  return turn % 2 === 0 ? all : all.toReversed()
}

async function fill(one: Contender): Promise<void> {
  const server = await start(one)
  const from = performance.now()
  const cpuFrom = cpuMsOf(server.pid)
  const first = await countOf(server)
  await insert(server, first, objects)
  const seconds = Math.round(performance.now() - from) / 1_000
  const cpu = Math.round(cpuMsOf(server.pid) - cpuFrom)
  console.error(
    JSON.stringify({ contender: one.name, filled: objects - first, seconds, cpuMs: cpu, ...memoryOf(server) }),
  )
  await server.kill('SIGKILL')
}

/** Continues the load up to `until` objects, kills the server in the middle of the next request, and starts it again. */
async function restartOnce(one: Contender, until: number): Promise<Restart> {
  const running = await start(one)
  await insert(running, await countOf(running), until)
  const midway = insert(running, until, until + batch).catch(() => undefined)
  await sleep(5)
  const beforeKill = memoryOf(running)
  await running.kill('SIGKILL')
  await midway
  const again = await start(one)
  const restart = {
    contender: one.name,
    objects: await countOf(again),
    healthyMs: Math.round(again.healthyMs),
    cpuMs: Math.round(cpuMsOf(again.pid)),
    beforeKill,
    afterStart: memoryOf(again),
    ...(values.parts && { parts: await partsOf(again) }),
  }
  if (restart.objects < until) throw new Error(`${one.name} lost ${until - restart.objects} acknowledged objects`)
  await again.kill('SIGKILL')
  return restart
}

async function costOnce(one: Contender, first: number) {
  const running = await start(one)
  const from = Math.max(first, await countOf(running))
  const begun = performance.now()
  const cpuFrom = cpuMsOf(running.pid)
  await insert(running, from, from + costTurn)
  const seconds = Math.round(performance.now() - begun) / 1_000
  const cpuMs = Math.round(cpuMsOf(running.pid) - cpuFrom)
  await running.kill('SIGKILL')
  return { contender: one.name, seconds, cpuMs }
}

async function start({ main, dataDir }: Contender): Promise<Running> {
  const from = performance.now()
  const env = { ...process.env, NDD_SERVER_PORT: '0', NDD_DATA_DIR: dataDir }
  const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'inherit'] })
  const ended = once(child, 'close').then(() => [Buffer.from(`it ended with code ${child.exitCode}`)])
  const [line] = (await Promise.race([once(child.stdout, 'data'), ended])) as [Buffer]
  child.stdout.resume()
  const url = /http:\/\/\S+/.exec(line.toString())?.[0]
  if (url === undefined) throw new Error(`the server did not start: ${line.toString()}`)
  while (!(await isHealthy(url))) await sleep(pollMs)
  return {
    url,
    pid: child.pid as number,
    healthyMs: performance.now() - from,
    async kill(signal) {
      child.kill(signal)
      await once(child, 'close')
    },
  }
}

async function isHealthy(url: string): Promise<boolean> {
  return (await fetch(`${url}/api/v1/health`)).status === 200
}

async function countOf({ url }: Running): Promise<number> {
  const reply = await fetch(`${url}/api/v1/index/a/info`)
  if (reply.ok) return ((await reply.json()) as { total_elements: number }).total_elements
  const body = { index_name: 'a', dim: dimension, space_type: 'l2', M: 16, ef_con: 128, precision: 'int8' }
  await post(`${url}/api/v1/index/create`, 'application/json', JSON.stringify(body))
  return 0
}

async function insert({ url }: Running, from: number, to: number): Promise<void> {
  for (let n = from; n < to; n += batch) {
    const tuples = Array.from({ length: Math.min(batch, to - n) }, (_, i) => [
      String(n + i).padStart(8, '0'),
      new Uint8Array(0),
      JSON.stringify({ group: (n + i) % groups }),
      1,
      Array.from(vectorOf(n + i)),
    ])
    await post(`${url}/api/v1/index/a/vector/insert`, 'application/msgpack', encode(tuples, { forceFloat32: true }))
  }
}

async function post(url: string, type: string, body: Uint8Array<ArrayBuffer> | string): Promise<void> {
  const init = { method: 'POST', headers: { 'content-type': type }, body }
  // A connection that was idle while the machine was stopped may be closed. Objects are the same when they are sent again.
  const reply = await fetch(url, init).catch(() => fetch(url, init))
  const answer = await reply.text()
  if (!reply.ok) throw new Error(`${url}: ${reply.status} ${answer}`)
}

function memoryOf({ pid }: Running): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mebibytes = (name: string) => Math.round(Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1] ?? 0) / 1024)
  return { rss: mebibytes('VmRSS'), peak: mebibytes('VmHWM') }
}

async function partsOf(running: Running): Promise<Parts> {
  await sleep(settleMs)
  const mebibytes = <K extends string>(sizes: Record<K, number>) =>
    Object.fromEntries(
      Object.entries<number>(sizes).map(([part, bytes]) => [part, Math.round((bytes / 2 ** 20) * 10) / 10]),
    ) as Record<K, number>
  const { memory } = (await (await fetch(`${running.url}/api/v1/stats`)).json()) as { memory: Record<string, number> }
  const planned = Object.values(memory).reduce((sum, bytes) => sum + bytes, 0)
  return {
    rss: memoryOf(running).rss,
    mappings: mebibytes({ ...(await mappingsOf(running.pid)) }),
    planned: Math.round(planned / 2 ** 20),
    plan: mebibytes(memory),
  }
}

/** User and system time of all threads. The clock of /proc counts in hundredths of a second. */
function cpuMsOf(pid: number): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) * 10
}

function summaryOf(name: string) {
  const own = restarts.filter(({ contender: of }) => of === name)
  const spread = (numbers: number[]) => {
    const sorted = numbers.toSorted((a, b) => a - b)
    return { least: sorted[0], median: sorted[Math.floor(sorted.length / 2)], most: sorted.at(-1) }
  }
  return {
    contender: name,
    healthyMs: spread(own.map(({ healthyMs }) => healthyMs)),
    cpuMs: spread(own.map(({ cpuMs }) => cpuMs)),
    rssBeforeKill: spread(own.map(({ beforeKill }) => beforeKill.rss)),
    rssAfterStart: spread(own.map(({ afterStart }) => afterStart.rss)),
    peakAfterStart: spread(own.map(({ afterStart }) => afterStart.peak)),
  }
}
