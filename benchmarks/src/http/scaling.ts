// What a request costs besides the search of the kernel, for growing numbers of serving threads: the kernel is replaced by a fixed time of CPU,
// which is subtracted. With threads that share nothing, the rest is the same for any number of them. Linux only.
//
//   npm run bench:scaling -- [--threads 2,16] [--rounds 20] [--seconds 0.5] [--spin 60] [--data DIR] [--dir DIR] [--json FILE]
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { median } from '../ann/contender.ts'
import { startClients } from './clients.ts'
import { type Contender, fill, startContender } from './contender.ts'
import { readCorpus } from './corpus.ts'
import { measure, requestsOf } from './measure.ts'
import type { Row } from './rows.ts'

const { values } = parseArgs({
  options: {
    threads: { type: 'string', default: '2,16' },
    rounds: { type: 'string', default: '20' },
    seconds: { type: 'string', default: '0.5' },
    spin: { type: 'string', default: '60' },
    data: { type: 'string' },
    dir: { type: 'string' },
    json: { type: 'string' },
  },
})
const spinUs = Number(values.spin)
const threads = values.threads.split(',').map(Number)
const row: Row = { name: 'spin', corpus: 'images', connections: 64, form: 'json', recall: 0, isSpin: true }
const ef = 24
const warmRequests = 4_000

const dir = values.dir ?? (await mkdtemp(path.join(tmpdir(), 'annal-scaling-')))
const corpus = await readCorpus('images', values.data)
const clients = startClients(2)
const rest = new Map<number, number[]>(threads.map((count) => [count, []]))
console.log(
  `${corpus.title}; ${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, load ${(loadavg()[0] ?? 0).toFixed(2)}; spin ${spinUs} us, ${row.connections} connections`,
)
const contenders = new Map<number, Contender>()
try {
  for (const count of threads) contenders.set(count, await start(count))
  for (let round = 0; round < Number(values.rounds); round++) {
    for (const count of round % 2 === 0 ? threads : threads.toReversed()) {
      const contender = contenders.get(count)!
      const requests = requestsOf(row, contender, corpus, ef)
      const options = { row, corpus, requests, clients, writer: clients, seconds: Number(values.seconds), seed: round }
      const { round: measured } = await measure(contender, options)
      if (measured.failures > 0) throw new Error(`${measured.failures} requests failed with ${count} threads`)
      rest.get(count)!.push((measured.cpuUs ?? Number.NaN) - spinUs)
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
  await clients.open({ target: contender.target, connections: 64, requests: requestsOf(row, contender, corpus, ef) })
  await clients.run({ seconds: 60, requests: warmRequests, sampleEvery: warmRequests })
  return contender
}

function print(): void {
  const base = median(rest.get(threads[0]!)!)
  console.log('| serving threads | CPU a request minus the spin, us | least | to the first |')
  console.log('|---|---|---|---|')
  for (const [count, measured] of rest) {
    const us = median(measured)
    const cells = [count, us.toFixed(1), Math.min(...measured).toFixed(1), (us / base).toFixed(3)]
    console.log(`| ${cells.join(' | ')} |`)
  }
}
