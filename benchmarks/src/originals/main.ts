// The cost of keeping original vectors: pairs of fields, one that keeps them and one with keepOriginals: false, whose reads return what is in
// memory. Inserts, searches with vectors, and pages of 1,000 objects alternate between both. Ratios are of the CPU time of the process, which
// other work on the machine changes least.
//
//   npm run bench:originals -- [--objects 10000] [--dimension 384]
import { mkdtemp, rm } from 'node:fs/promises'
import { availableParallelism, cpus, loadavg, tmpdir } from 'node:os'
import path from 'node:path'
import { type Collection, openEngine, type Precision } from '@annal/engine'
import { seededRandom } from '@annal/wal/testing'
import { bytesOnDisk } from '../bytes-on-disk.ts'
import { readOptions } from '../options.ts'

const values = readOptions({ objects: 10_000, dimension: 384 })
const { objects: count, dimension } = values
const batch = 500
const searches = 400
const pages = 30

interface Case {
  readonly name: string
  readonly precision: Precision
  /** Maximum length of a vector; 1 if all have unit length. */
  readonly lengthMax: number
}

const cases: readonly Case[] = [
  { name: 'int8, cosine, unit length', precision: 'int8', lengthMax: 1 },
  { name: 'int8, cosine, other lengths', precision: 'int8', lengthMax: 1_000 },
  { name: 'float32, cosine, unit length', precision: 'float32', lengthMax: 1 },
  { name: 'float32, cosine, other lengths', precision: 'float32', lengthMax: 1_000 },
]

const dataDir = await mkdtemp(path.join(tmpdir(), 'annal-originals-'))
const originals = path.join(dataDir, 'originals')
const engine = await openEngine({ dataDir, fsync: 'none' })
console.log(
  `${count} x ${dimension}; ${cpus()[0]?.model ?? 'unknown processor'}, ${availableParallelism()} cores, Node ${process.version}`,
)
console.log('| field | what | memory only | with originals | ratio |\n|---|---|---|---|---|')
try {
  for (const [index, one] of cases.entries()) await measure(one, index)
} finally {
  await engine.close()
  await rm(dataDir, { recursive: true, force: true })
}
console.log(`load ${loadavg()[0]?.toFixed(1)}`)

async function measure({ name, precision, lengthMax }: Case, index: number): Promise<void> {
  const random = seededRandom(7)
  const vector = () => {
    const v = Array.from({ length: dimension }, () => random.next() - 0.5)
    const length = Math.hypot(...v) / (lengthMax === 1 ? 1 : random.next() * lengthMax)
    return Float32Array.from(v, (x) => x / length)
  }
  const before = bytesOnDisk(originals)
  const make = (keepOriginals: boolean) => {
    const params = { dimension, spaceType: 'cosine', precision, keepOriginals } as const
    const fields = [{ name: 'v', type: 'vector', params }] as const
    return engine.database().createCollection({ name: `c${index}_${keepOriginals}`, fields })
  }
  const pair = [await make(false), await make(true)] as const
  const inserts: Spent[][] = [[], []]
  for (let from = 0; from < count; from += batch) {
    const objects = Array.from({ length: batch }, (_, i) => ({ id: `${from + i}`, fields: { v: vector() } }))
    await alternate(pair, inserts, from / batch, (collection) => collection.upsert(objects))
  }
  const found: Spent[][] = [[], []]
  for (let i = 0; i < searches; i++) {
    const query = vector()
    await alternate(pair, found, i, (collection) =>
      collection.search({ fields: { v: { query, limit: 10 } }, includeVectors: true }).then(touch),
    )
  }
  const scrolled: Spent[][] = [[], []]
  const delays = [0, 0]
  for (let i = 0; i < pages; i++) {
    const cursor = `o${(Math.floor(random.next() * (count - 1_000)) + 1).toString(36)}`
    await alternate(pair, scrolled, i, async (collection, which) => {
      const turns = watchTurns()
      const { objects } = await collection.scroll({ limit: 1_000, cursor })
      for (const { dense } of objects) if (dense.v?.vector.length !== dimension) throw new Error('a vector is missing')
      delays[which] = Math.max(delays[which] ?? 0, turns.end())
    })
  }
  report(name, `insert of ${batch}`, inserts)
  report(name, 'search, k = 10, with vectors', found)
  report(name, 'page of 1,000 with vectors', scrolled)
  console.log(`| ${name} | longest turn of a page | ${delays.map((ms) => `${ms.toFixed(1)} ms`).join(' | ')} | |`)
  const disk = (bytesOnDisk(originals) - before) / count
  console.log(`| ${name} | disk for each object | 0 | ${disk.toFixed(0)} bytes | |`)
}

type Pair = readonly [Collection, Collection]

interface Spent {
  readonly ms: number
  readonly cpuMs: number
}

/** Measures the longest turn of the event loop, in CPU time of this thread. */
function watchTurns(): { end(): number } {
  const now = () => {
    const { user, system } = process.threadCpuUsage()
    return (user + system) / 1_000
  }
  let [last, most, isOver] = [now(), 0, false]
  const look = () => {
    const started = now()
    most = Math.max(most, started - last)
    last = started
    if (!isOver) setImmediate(look)
  }
  setImmediate(look)
  return {
    end() {
      isOver = true
      look()
      return most
    },
  }
}

/** Runs each of the pair once; the order alternates. */
async function alternate(
  pair: Pair,
  times: Spent[][],
  round: number,
  act: (collection: Collection, which: number) => Promise<unknown>,
): Promise<void> {
  for (const which of round % 2 === 0 ? [0, 1] : [1, 0]) {
    const [from, cpuFrom] = [performance.now(), process.cpuUsage()]
    await act(pair[which] as Collection, which)
    const { user, system } = process.cpuUsage(cpuFrom)
    times[which]?.push({ ms: performance.now() - from, cpuMs: (user + system) / 1_000 })
  }
}

/** Vectors are created on access. */
function touch({ results }: Awaited<ReturnType<Collection['search']>>): void {
  for (const { vector } of results.v ?? []) if (vector?.length !== dimension) throw new Error('a vector is missing')
}

function report(name: string, what: string, [cheap = [], exact = []]: Spent[][]): void {
  const cells = [cheap, exact].map(
    (spent) => `${median(spent.map(({ ms }) => ms)).toFixed(2)} ms, CPU ${cpuOf(spent).toFixed(2)}`,
  )
  console.log(`| ${name} | ${what} | ${cells.join(' | ')} | ${(cpuOf(exact) / cpuOf(cheap)).toFixed(2)} |`)
}

/** Mean CPU time. */
function cpuOf(spent: readonly Spent[]): number {
  return spent.reduce((sum, { cpuMs }) => sum + cpuMs, 0) / spent.length
}

function median(numbers: readonly number[]): number {
  return [...numbers].sort((a, b) => a - b)[numbers.length >> 1] as number
}
