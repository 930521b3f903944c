// What a request costs besides the search of the kernel, for growing numbers of serving threads: the kernel is replaced by a fixed time of CPU,
// which is subtracted. With threads that share nothing, the rest is the same for any number of them. Linux only.
//
// Each thread has as many connections in every case, so that it finds as many requests when it wakes. On a machine with fewer cores than
// threads, the threads in excess wait for a core; then their switches are part of the figure, and contention for shared memory is not.
//
//   npm run bench:scaling -- [--threads 2,16] [--each 8, connections of a thread] [--rounds 20] [--seconds 0.5] [--spin 0] [--data DIR]
//     [--dir DIR] [--json FILE]
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { median } from '../ann/contender.ts'
import { readOptions } from '../options.ts'
import { startClients } from './clients.ts'
import { type Contender, fill, startContender } from './contender.ts'
import { readCorpus } from './corpus.ts'
import { measure, requestsOf } from './measure.ts'
import type { Row } from './rows.ts'

const values = readOptions({
  threads: '2,16',
  rounds: 20,
  seconds: 0.5,
  spin: 0,
  each: 8,
  data: String,
  dir: String,
  json: String,
})
const { spin: spinUs } = values
const threads = values.threads.split(',').map(Number)
const row: Row = { name: 'spin', corpus: 'images', connections: 0, form: 'json', recall: 0, isSpin: true }
const ef = 24
/** Of each thread, because each compiles its own code; over this many sets of connections, so that all threads get some. */
const warmRequests = 25_000
const warmSets = 5

const dir = values.dir ?? (await mkdtemp(path.join(tmpdir(), 'annal-scaling-')))
const corpus = await readCorpus('images', values.data)
const clients = startClients(2)
const rest = new Map<number, number[]>(threads.map((count) => [count, []]))
const switches = new Map<number, number[]>(threads.map((count) => [count, []]))
console.log(
  `${corpus.title}; ${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, load ${(loadavg()[0] ?? 0).toFixed(2)}; spin ${spinUs} us, ${values.each} connections for each thread`,
)
const contenders = new Map<number, Contender>()
try {
  for (const count of threads) contenders.set(count, await start(count))
  for (let round = 0; round < values.rounds; round++) {
    for (const count of round % 2 === 0 ? threads : threads.toReversed()) {
      const contender = contenders.get(count)!
      const requests = requestsOf(row, contender, corpus, ef)
      const options = {
        row: { ...row, connections: connectionsOf(count) },
        corpus,
        requests,
        clients,
        writer: clients,
        seconds: values.seconds,
        seed: round,
      }
      const before = await contender.server?.switches()
      const { round: measured } = await measure(contender, options)
      const after = await contender.server?.switches()
      if (measured.failures > 0) throw new Error(`${measured.failures} requests failed with ${count} threads`)
      rest.get(count)!.push((measured.cpuUs ?? Number.NaN) - spinUs)
      switches.get(count)!.push(((after ?? Number.NaN) - (before ?? 0)) / measured.replies)
    }
  }
} finally {
  for (const contender of contenders.values()) await contender.stop()
  clients.stop()
  if (values.dir === undefined) await rm(dir, { recursive: true, force: true })
}
print()
if (values.json !== undefined)
  await writeFile(values.json, `${JSON.stringify(Object.fromEntries(rest), undefined, 1)}\n`)

function connectionsOf(count: number): number {
  return count * values.each
}

/** Loads with the real kernel, then starts again with the replaced one. */
async function start(count: number): Promise<Contender> {
  const plan = { name: `${count} threads`, threads: count }
  const real = await startContender(plan, dir)
  await fill(real, corpus)
  await real.stop()
  const environment = {
    ANNAL_SPIN_US: `${spinUs}`,
    NODE_OPTIONS: `--import=${fileURLToPath(new URL('spin-kernel.ts', import.meta.url))}`,
  }
  const contender = await startContender({ ...plan, environment }, dir)
  const requests = requestsOf(row, contender, corpus, ef)
  const warm = { seconds: 60, requests: (warmRequests * count) / warmSets, sampleEvery: warmRequests * count }
  for (let set = 0; set < warmSets; set++) {
    await clients.open({ target: contender.target, connections: connectionsOf(count), requests })
    await clients.run(warm)
  }
  return contender
}

function print(): void {
  const base = median(rest.get(threads[0]!)!)
  console.log(
    '| serving threads | CPU a request minus the spin, us | least | to the first | switches of threads a request |',
  )
  console.log('|---|---|---|---|---|')
  for (const [count, measured] of rest) {
    const us = median(measured)
    const cells = [
      count,
      us.toFixed(1),
      Math.min(...measured).toFixed(1),
      (us / base).toFixed(3),
      median(switches.get(count)!).toFixed(3),
    ]
    console.log(`| ${cells.join(' | ')} |`)
  }
}
