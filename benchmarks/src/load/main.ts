// What a load over HTTP costs besides the graph, by turns: CPU time of a process that only builds the graph of Fashion-MNIST from memory, of
// one that loads it into an embedded engine, which also writes the log, the original vectors, and checkpoints, and of a server that receives
// it as MessagePack, with vectors as arrays of 32-bit floats and as binary data. Then the memory of the server after the load, and after a pause. Linux only.
//
//   npm run bench:load -- --data DIR [--rounds 3] [--pause 5, seconds] [--profile DIR]
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { sendInTurn } from '../http/connection.ts'
import { createRequest } from '../http/requests.ts'
import { cpuBetween, startServer } from '../http/server-process.ts'
import { readOptions } from '../options.ts'
import { readDataset } from '../sets/dataset.ts'
import { insertRequest, type VectorForm } from './inserts.ts'
import { type Memory, memoryOf } from './memory.ts'

const values = readOptions({ data: String, rounds: 3, pause: 5, profile: String })
if (values.data === undefined) throw new Error('--data DIR must name the folder that contains fashion-mnist')
const { data, profile } = values
const batch = 1_000

const { base, dimension } = await readDataset(data, 'fashion-mnist')
const rows = base.length / dimension
console.log(`Fashion-MNIST, ${rows} x ${dimension}, l2, int8, batches of ${batch}`)
console.log(
  `${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.version}, load ${loadavg()[0]?.toFixed(2)}`,
)
const forms = [
  { name: 'arrays of floats', form: 'floats' },
  { name: 'binary data', form: 'bytes' },
] as const
const ratios = forms.map(() => ({ graph: [] as number[], engine: [] as number[] }))
for (let round = 0; round < values.rounds; round++) {
  const graph = await secondsOf('graph-alone.ts')
  const engine = await secondsOf('engine-alone.ts')
  console.log(`graph in process ${graph.toFixed(2)} s of CPU, embedded engine ${engine.toFixed(2)} s; ${loaded()}`)
  for (const [i, { name, form }] of forms.entries()) {
    const server = await loadOverHttp(form)
    ratios[i]?.graph.push(server.all / graph)
    ratios[i]?.engine.push(server.all / engine)
    console.log(
      `HTTP, ${name}: ${server.all.toFixed(2)} s, of which the main thread ${server.main.toFixed(2)} s; ${(server.all / graph).toFixed(2)} times the graph, ${(server.all / engine).toFixed(2)} times the embedded engine; ${loaded()}`,
    )
    console.log(
      `  memory before ${printed(server.before)}; after the load ${printed(server.loaded)}; ${values.pause} s later ${printed(server.later)}`,
    )
  }
}
for (const [i, { name }] of forms.entries()) {
  const [graph, engine] = [median(ratios[i]?.graph), median(ratios[i]?.engine)]
  console.log(`${name}: median ${graph} times the graph, ${engine} times the embedded engine`)
}

function loaded(): string {
  return `load ${loadavg()[0]?.toFixed(1)}`
}

function median(numbers: readonly number[] = []): string {
  const sorted = numbers.toSorted((a, b) => a - b)
  return (sorted[Math.floor(sorted.length / 2)] ?? Number.NaN).toFixed(2)
}

/** Seconds of CPU time of a process of its own, so that no load pays for what another leaves behind. */
async function secondsOf(file: string): Promise<number> {
  const program = fileURLToPath(new URL(file, import.meta.url))
  const child = spawn(process.execPath, [...process.execArgv, program, data, String(batch)], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let printed = ''
  child.stdout.on('data', (bytes: Buffer) => {
    printed += bytes.toString()
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${file} exited with code ${code}`)
  return Number(printed)
}

async function loadOverHttp(form: VectorForm) {
  const requests = Array.from({ length: rows / batch }, (_, i) => {
    const first = i * batch
    return insertRequest(
      { rows: base.subarray(first * dimension, (first + batch) * dimension), dimension, first },
      form,
    )
  })
  const dir = await mkdtemp(path.join(tmpdir(), 'annal-load-'))
  const server = await startServer({ dataDir: dir, ...(profile !== undefined && { profileDir: profile }) })
  const target = { host: '127.0.0.1', port: server.port }
  try {
    await sendInTurn(target, [createRequest({ headers: ['Host: localhost'] }, { name: 'a', dimension, space: 'l2' })])
    const before = await memoryOf(server.pid)
    const begun = await server.cpu()
    await sendInTurn(target, requests)
    const ended = await server.cpu()
    const loaded = await memoryOf(server.pid)
    await sleep(values.pause * 1_000)
    const later = await memoryOf(server.pid)
    const main = String(server.pid)
    return {
      all: cpuBetween(begun, ended).reduce((sum, ms) => sum + ms, 0) / 1_000,
      main: ((ended.get(main) ?? 0) - (begun.get(main) ?? 0)) / 1_000,
      before,
      loaded,
      later,
    }
  } finally {
    await server.stop()
    await rm(dir, { recursive: true, force: true })
  }
}

function printed({ rss, anonymous, shared }: Memory): string {
  const [all, own, shmem] = [rss, anonymous, shared].map((bytes) => (bytes / 2 ** 20).toFixed(0))
  return `${all} MiB (anonymous ${own}, shared ${shmem})`
}
