// Measures a loaded set in a new process: its memory by part, recall, and the cost of searches with originals in the page cache and with a cold
// disk, by one caller and by eight.
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type Collection, openEngine } from '@annal/engine'
import { mappingsOf } from '../load/mappings.ts'
import { collectionName, fieldName, k, type LargeOptions, queriesFile } from './options.ts'
import { Truth } from './truth.ts'

const callersMax = 8

export async function measure({ dir, dimension, ef, rows, precision }: LargeOptions): Promise<void> {
  const [known, timed, cold, coldOfAll] = [0, 1, 2, 3].map((kind) => readQueries(dir, kind)) as [
    Float32Array,
    Float32Array,
    Float32Array,
    Float32Array,
  ]
  const truth = new Truth(join(dir, 'truth.json'), k, known, dimension)
  const before = process.memoryUsage().rss
  const engine = await openEngine({ dataDir: join(dir, 'data'), fsync: 'none' })
  try {
    const collection = engine.database().collection(collectionName)
    const search = searchOf(collection, ef)
    const stages: Record<string, number> = {}
    const note = (stage: string) => {
      stages[stage] = mb(process.memoryUsage().rss)
    }
    note('opened')
    readAll(join(dir, 'data', 'originals'))
    const recall = await recallOf(search, known, truth, dimension)
    const warm = await run(search, timed, dimension, 1)
    const plain = await run(searchOf(collection, ef, false), timed, dimension, 1)
    const warmOfEight = await run(search, timed, dimension, callersMax)
    note('warm')
    dropCache(join(dir, 'data', 'originals'))
    const coldOfOne = await run(search, cold, dimension, 1)
    dropCache(join(dir, 'data', 'originals'))
    const coldOfEight = await run(search, coldOfAll, dimension, callersMax)
    note('cold')
    const peak = peakMb()
    // What an idle server does once after its start.
    collectGarbage()
    note('idle')
    const { memory } = engine.stats()
    const { heapUsed, external, arrayBuffers } = process.memoryUsage()
    const mappings = await mappingsOf(process.pid)
    const counted = Object.values(memory).reduce((sum, bytes) => sum + bytes, 0)
    const mbOfEach = (parts: object) =>
      Object.fromEntries(Object.entries(parts).map(([part, bytes]) => [part, mb(bytes)]))
    console.log(
      JSON.stringify({
        machine: cpus()[0]?.model,
        node: process.version,
        load: loadavg()[0],
        rows,
        dimension,
        precision,
        ef,
        rss_mb: { before: mb(before), ...stages, peak },
        counted_mb: mb(counted),
        bytes_per_row: Math.round(counted / rows),
        memory_mb: mbOfEach(memory),
        mappings_mb: mbOfEach(mappings),
        heap_mb: mb(heapUsed),
        external_mb: mb(external),
        array_buffers_mb: mb(arrayBuffers),
        recall,
        warm,
        plain,
        warmOfEight,
        coldOfOne,
        coldOfEight,
      }),
    )
  } finally {
    await engine.close()
  }
}

function mb(bytes: number): number {
  return Number((bytes / 1e6).toFixed(1))
}

function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (options: object) => void
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

function readQueries(dir: string, kind: number): Float32Array {
  return new Float32Array(new Uint8Array(readFileSync(queriesFile(dir, kind))).buffer)
}

type Search = (query: Float32Array) => Promise<readonly string[]>

function searchOf(collection: Collection, ef: number, rescore = true): Search {
  return async (query) => {
    const { results } = await collection.search({ fields: { [fieldName]: { query, limit: k, ef } }, rescore })
    return (results[fieldName] ?? []).map(({ id }) => id)
  }
}

async function recallOf(search: Search, queries: Float32Array, truth: Truth, dimension: number): Promise<number> {
  let found = 0
  const count = queries.length / dimension
  for (let i = 0; i < count; i++) {
    const good = new Set(truth.best(i).map(String))
    for (const id of await search(queries.subarray(i * dimension, (i + 1) * dimension))) if (good.has(id)) found++
  }
  return found / (count * k)
}

/** Milliseconds of searches and microseconds of CPU for each. */
async function run(search: Search, queries: Float32Array, dimension: number, callers: number) {
  const count = queries.length / dimension
  const times: number[] = []
  let next = 0
  const cpu = process.cpuUsage()
  const caller = async () => {
    while (next < count) {
      const i = next++
      const from = performance.now()
      await search(queries.subarray(i * dimension, (i + 1) * dimension))
      times.push(performance.now() - from)
    }
  }
  await Promise.all(Array.from({ length: callers }, caller))
  const used = process.cpuUsage(cpu)
  times.sort((a, b) => a - b)
  const at = (share: number) => Number((times[Math.floor(share * (times.length - 1))] ?? 0).toFixed(3))
  return { callers, p50_ms: at(0.5), p99_ms: at(0.99), cpu_us: Math.round((used.user + used.system) / count) }
}

// Other processes read and drop the files. Buffers of this one would count as its memory until they are collected.

/** Reads all files of a folder, so that they are in the page cache. */
function readAll(folder: string): void {
  forEachFile(folder, 'cat "$file" > /dev/null')
}

/** Removes the files of a folder from the page cache (GNU dd asks the system with posix_fadvise). */
function dropCache(folder: string): void {
  forEachFile(folder, 'dd if="$file" iflag=nocache count=0 status=none')
}

function forEachFile(folder: string, command: string): void {
  const { status } = spawnSync('sh', ['-ec', `for file in "$1"/*; do ${command}; done`, 'sh', folder], {
    stdio: 'inherit',
  })
  if (status !== 0) throw new Error(`${command} failed in ${folder}: GNU dd is required`)
}

/** The largest RSS of the process so far. */
function peakMb(): number {
  return mb(Number(/^VmHWM:\s+(\d+)/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1] ?? 0) * 1_024)
}
