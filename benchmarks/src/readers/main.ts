// CPU time of a search in a reader's thread and of the same search by `collection.search`, by turns in one process: CPU time of the thread
// that searches, which other processes do not change.
//
//   npm run bench:readers -- --data DIR [--rows 60000] [--ef 24] [--rounds 9] [--searches 2000]
//
// DIR has base.u8, queries.u8, and meta.json with the dimension `d`.
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import { openEngine } from '@annal/engine'
import { readOptions } from '../options.ts'

const values = readOptions({ data: String, rows: 60_000, ef: 24, rounds: 9, searches: 2000 })
const { data = '' } = values
const { rows, ef, rounds, searches } = values
const { d: dimension } = JSON.parse(readFileSync(join(data, 'meta.json'), 'utf8')) as { d: number }
const base = readFileSync(join(data, 'base.u8'))
const queries = Float32Array.from(readFileSync(join(data, 'queries.u8')).subarray(0, searches * dimension))
const dir = mkdtempSync(join(tmpdir(), 'annal-readers-'))
const engine = await openEngine({ dataDir: join(dir, 'data'), fsync: 'none', readers: 1 })
const params = { dimension, spaceType: 'l2', precision: 'int8' } as const
const images = await engine
  .database()
  .createCollection({ name: 'images', fields: [{ name: 'v', type: 'vector', params }] })
for (let from = 0; from < rows; from += 1000)
  await images.upsert(
    Array.from({ length: Math.min(1000, rows - from) }, (_, i) => ({
      id: `image-${from + i}`,
      filter: { tenth: (from + i) % 10 },
      fields: { v: Float32Array.from(base.subarray((from + i) * dimension, (from + i + 1) * dimension)) },
    })),
  )

const reader = engine.readerHandle()
const shared = { queries: new Float32Array(new SharedArrayBuffer(queries.byteLength)), dimension, ef }
shared.queries.set(queries)
const program = new URL('./searches.ts', import.meta.url)
const worker = new Worker(program, { workerData: { reader, ...shared }, transferList: [reader.port] })
await once(worker, 'message')

async function inReader(filtered: boolean): Promise<number> {
  worker.postMessage(filtered)
  const [micros] = await once(worker, 'message')
  return micros
}

async function inOwner(filtered: boolean): Promise<number> {
  const filter = filtered ? { filter: [{ tenth: { $eq: 3 } }] } : {}
  const before = process.threadCpuUsage()
  for (let i = 0; i < searches; i++) {
    const query = queries.subarray(i * dimension, (i + 1) * dimension)
    await images.search({ fields: { v: { query, limit: 10, ef } }, ...filter })
  }
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / searches
}

console.log(
  `${rows} x ${dimension} int8, ef ${ef}, k 10; ${cpus()[0]?.model}, ${availableParallelism()} cores, load ${loadavg()[0]?.toFixed(1)}`,
)
for (const filtered of [false, true]) {
  const ratios: number[] = []
  const least = { owner: Number.POSITIVE_INFINITY, reader: Number.POSITIVE_INFINITY }
  // The first round warms both up.
  for (let round = 0; round <= rounds; round++) {
    const [owner, here] = [await inOwner(filtered), await inReader(filtered)]
    if (round === 0) continue
    ratios.push(here / owner)
    least.owner = Math.min(least.owner, owner)
    least.reader = Math.min(least.reader, here)
  }
  ratios.sort((a, b) => a - b)
  const median = ratios[Math.floor(ratios.length / 2)] as number
  const name = filtered ? '10 % match' : 'no filter'
  console.log(
    `${name}: collection.search ${least.owner.toFixed(1)} us, searchHere ${least.reader.toFixed(1)} us, median ratio ${median.toFixed(2)}`,
  )
}
await worker.terminate()
await engine.close()
rmSync(dir, { recursive: true })
