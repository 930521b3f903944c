// `node scripts/run.mjs --built benchmarks/src/start/spawn.ts [--against CHECKOUT]`: what a server process costs before it has work. For each
// checkout: resident memory and CPU time of an empty server, and the time from the spawn of a process that was killed until its first right
// answer among 60,000 x 784 int8. Checkouts take turns, so that other work on the machine affects all of them; CPU time depends on it less
// than time does. The floors show what Node.js takes alone. Other checkouts must be built. `--rounds N`, `--objects N`, `--threads N`
// (serving threads; default: that of the server), `--dir DIR` (kept, and used again if it is filled: fill it with the oldest checkout, if that cannot
// open what this one writes). Linux only.
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { openEngine } from '@annal/engine'
import { seededRandom } from '@annal/wal/testing'
import { freePort } from '../free-port.ts'
import { readOptions } from '../options.ts'

const values = readOptions({
  against: [],
  rounds: 9,
  objects: 60_000,
  threads: String,
  dir: String,
})
const dimension = 784
const batch = 1_000
const { objects } = values
/** A server trims its heap when it was idle for a second. */
const settleMs = 4_000
const pollMs = 2

/** Without settings of Node.js and of the server. `annal serve` and `npm start` have settings of the C library's allocator, MALLOC_*. */
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !/^(NDD|NODE)_/.test(name)))
const own = fileURLToPath(new URL('../../..', import.meta.url))
const checkouts = [own, ...values.against]
const dir = values.dir ?? mkdtempSync(path.join(os.tmpdir(), 'annal-spawn-'))
const filled = path.join(dir, 'data')

interface Memory {
  readonly rssMb: number
  readonly privateMb: number
}

interface Start extends Memory {
  readonly ms: number
  readonly cpuMs: number
}

function vectorOf(n: number): Float32Array {
  const center = seededRandom((n % 100) + 1)
  const noise = seededRandom(n + 1_000_003)
  return Float32Array.from({ length: dimension }, () => center.next() + (noise.next() - 0.5) * 0.8)
}

async function fill(): Promise<void> {
  const engine = await openEngine({ dataDir: filled })
  const collection = await engine.database().createCollection({
    name: 'objects',
    fields: [{ name: 'v', type: 'vector', params: { dimension, spaceType: 'l2', precision: 'int8' } }],
  })
  for (let n = 0; n < objects; n += batch) {
    const size = Math.min(batch, objects - n)
    await collection.upsert(
      Array.from({ length: size }, (_, i) => ({ id: `o${n + i}`, fields: { v: vectorOf(n + i) } })),
    )
  }
  await engine.checkpoint()
  await engine.close()
}

function memoryOf(pid: number): Memory {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8')
  const mb = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1_024
  return { rssMb: mb('VmRSS'), privateMb: mb('RssAnon') }
}

/** CPU time of the threads that a process has now. */
function cpuMsOf(pid: number): number {
  const tasks = readdirSync(`/proc/${pid}/task`)
  const ns = tasks.map((task) => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0]))
  return ns.reduce((sum, one) => sum + one, 0) / 1e6
}

/** Sends a request until it succeeds. Throws unless that reply contains `wanted`. */
async function untilAnswered(child: ChildProcess, url: string, request: RequestInit, wanted: string): Promise<void> {
  while (child.exitCode === null) {
    const reply = await fetch(url, request).catch(() => undefined)
    const text = (await reply?.text()) ?? ''
    if (text.includes(wanted)) return
    if (reply?.ok === true && request.method === 'POST') throw new Error(`the first answer is wrong: ${text}`)
    await sleep(pollMs)
  }
  throw new Error(`the server exited with code ${child.exitCode}`)
}

async function measureStart(checkout: string, dataDir: string, probe?: number): Promise<Start> {
  const port = await freePort()
  const main = path.join(checkout, 'packages', 'server', 'dist', 'main.js')
  const vector = probe === undefined ? undefined : Array.from(vectorOf(probe))
  const from = performance.now()
  const child = spawn(process.execPath, ['--max-semi-space-size=8', main], {
    env: {
      ...environment,
      NDD_SERVER_PORT: `${port}`,
      NDD_DATA_DIR: dataDir,
      ...(values.threads !== undefined && { NDD_NUM_SERVER_THREADS: values.threads }),
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const pid = child.pid ?? 0
  const url = `http://127.0.0.1:${port}/api/v2`
  if (vector === undefined) await untilAnswered(child, `${url}/health`, {}, '"status":"ok"')
  else {
    const body = JSON.stringify({ fields: { v: { query: vector, limit: 1 } } })
    const headers = { 'content-type': 'application/json', accept: 'application/json' }
    const search = { method: 'POST', headers, body }
    await untilAnswered(child, `${url}/collection/objects/search`, search, `"id":"o${probe}"`)
  }
  const ms = performance.now() - from
  const cpuMs = cpuMsOf(pid)
  await sleep(settleMs)
  const memory = memoryOf(pid)
  const ended = once(child, 'close')
  child.kill('SIGKILL')
  await ended
  return { ms, cpuMs, ...memory }
}

/** Memory of Node.js that runs a program of one line. */
async function measureFloor(program: string): Promise<Memory> {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { stdio: 'ignore' })
  await sleep(settleMs / 4)
  const memory = memoryOf(child.pid ?? 0)
  child.kill('SIGKILL')
  return memory
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0
}

function row(name: string, starts: readonly Start[]): string {
  const [ms, cpuMs, rssMb, privateMb] = (['ms', 'cpuMs', 'rssMb', 'privateMb'] as const).map((key) =>
    median(starts.map((start) => start[key])).toFixed(0),
  )
  const fastest = Math.min(...starts.map((start) => start.ms)).toFixed(0)
  return `| ${name} | ${ms} (${fastest}) | ${cpuMs} | ${rssMb} | ${privateMb} |`
}

if (!existsSync(filled)) await fill()
const copies = checkouts.map((_, i) => path.join(dir, `copy-${i}`))
for (const copy of copies) cpSync(filled, copy, { recursive: true })
const loadBefore = os.loadavg().map((load) => load.toFixed(1))
const empty = checkouts.map((): Start[] => [])
const full = checkouts.map((): Start[] => [])
for (let round = 0; round < values.rounds; round++) {
  for (const [i, checkout] of checkouts.entries()) {
    const dataDir = mkdtempSync(path.join(dir, 'empty-'))
    empty[i]?.push(await measureStart(checkout, dataDir))
    rmSync(dataDir, { recursive: true })
    full[i]?.push(await measureStart(checkout, copies[i] ?? '', (round * 7_919) % objects))
  }
}
const serving = "import { createServer } from 'node:http'; createServer().listen(0)"
const threads = (count: number) =>
  `import { Worker } from 'node:worker_threads'; for (let i = 0; i < ${count}; i++) new Worker('setInterval(() => {}, 1e6)', { eval: true })`
const floors: readonly [name: string, program: string][] = [
  ['Node.js', 'setInterval(() => {}, 1e6)'],
  ['+ node:http, listening', serving],
  ['+ node:http and 1 idle thread', `${serving}; ${threads(1)}`],
  ['+ node:http and 2 idle threads', `${serving}; ${threads(2)}`],
]
const cpu = `${os.cpus()[0]?.model ?? 'unknown processor'}, ${os.availableParallelism()} cores`
console.log(`${cpu}, Node ${process.version}, load ${loadBefore.join(' ')} to ${os.loadavg()[0]?.toFixed(1)}`)
console.log('\n| start | ms, median (fastest) | CPU ms | resident MB | private MB |\n|---|---|---|---|---|')
for (const [i, checkout] of checkouts.entries()) {
  const name = i === 0 ? 'this checkout' : checkout
  console.log(row(`${name}: empty, to health`, empty[i] ?? []))
  console.log(row(`${name}: ${objects} objects, to the first right answer`, full[i] ?? []))
}
console.log('\n| floor | resident MB | private MB |\n|---|---|---|')
for (const [name, program] of floors) {
  const { rssMb, privateMb } = await measureFloor(program)
  console.log(`| ${name} | ${rssMb.toFixed(0)} | ${privateMb.toFixed(0)} |`)
}
for (const copy of copies) rmSync(copy, { recursive: true })
if (values.dir === undefined) rmSync(dir, { recursive: true })
