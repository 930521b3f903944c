// What reads of the past cost: searches of recent moments against live ones and their recall, writers with and without a window, and the
// first read of a moment that is loaded. CPU time of the process, by turns, because it says more than a clock on a machine that has other work.
//
//   npm run bench:past -- [--rows 100000] [--dimension 128] [--precision float32] [--changed 500] [--rounds 12] [--only searches|writers|load]
//
// `--changed` is the number of objects that are replaced, one by one, after the moment that is searched.
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { type Collection, type Engine, openEngine, type Precision } from '@annal/engine'
import { readOptions } from '../options.ts'
import { seededPoints } from '../sets/points.ts'

const values = readOptions({
  rows: 100_000,
  dimension: 128,
  precision: 'float32',
  changed: 500,
  rounds: 12,
  only: String,
})
const { rows, dimension, changed, rounds } = values
const batch = 1_000
const queriesOfRound = 200
const upsertsOfRound = 1_000
const k = 10
const mebibyte = 2 ** 20

const { random, point } = seededPoints(dimension)
const object = (n: number) => ({ id: `object-${n}`, fields: { v: point() } })

interface Opened {
  readonly engine: Engine
  readonly collection: Collection
}

const dirs: string[] = []
async function opened(windowSeconds: number): Promise<Opened> {
  const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-past-'))
  dirs.push(dataDir)
  const engine = await openEngine({
    dataDir,
    threads: 2,
    fsync: 'interval',
    asOf: { windowSeconds, loadedBytesMax: 1e13 },
  })
  const params = { dimension, precision: values.precision as Precision }
  const fields = [{ name: 'v', type: 'vector' as const, params }]
  const collection = await engine.database().createCollection({ name: 'past', fields })
  for (let from = 0; from < rows; from += batch) {
    await collection.upsert(Array.from({ length: Math.min(batch, rows - from) }, (_, i) => object(from + i)))
    if (from % (batch * 50) === 0) console.log(`${from} rows`)
  }
  return { engine, collection }
}

async function cpuMs(act: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await act()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

async function replace(collection: Collection, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await collection.upsert([object(Math.floor(random() * rows))])
}

const median = (list: readonly number[]) => [...list].sort((a, b) => a - b)[list.length >> 1] as number

async function searches(): Promise<void> {
  const { engine, collection } = await opened(600)
  const lsn = engine.lsnApplied
  await replace(collection, changed)
  const queries = Array.from({ length: queriesOfRound }, point)
  const request = (query: number[]) => ({ fields: { v: { query, limit: k } } })
  const past = await collection.asOf({ lsn })
  const round = async (target: Pick<Collection, 'search'>) => {
    for (const query of queries) await target.search(request(query))
  }
  await round(collection)
  await round(past as unknown as Collection)
  const ratios: number[] = []
  const lives: number[] = []
  for (let i = 0; i < rounds; i++) {
    const live = await cpuMs(() => round(collection))
    const then = await cpuMs(() => round(past as unknown as Collection))
    ratios.push(then / live)
    lives.push(live / queriesOfRound)
  }
  const recall = async (target: Pick<Collection, 'search'>) => {
    let found = 0
    for (const query of queries) {
      const [some, all] = [await target.search(request(query)), await target.search({ ...request(query), exact: true })]
      const ids = new Set(all.results.v.map(({ id }: { readonly id: string }) => id))
      found += some.results.v.filter(({ id }: { readonly id: string }) => ids.has(id)).length
    }
    return (found / queriesOfRound / k).toFixed(4)
  }
  const { windowReads, windowBytes, loaded } = engine.stats().asOf
  console.log(
    `searches: live ${median(lives).toFixed(3)} ms of CPU; as of ${changed} changes ago ${median(ratios).toFixed(2)} times as much ` +
      `(${ratios.map((one) => one.toFixed(2)).join(' ')}); recall live ${await recall(collection)}, then ` +
      `${await recall(past as unknown as Collection)}; window ${(windowBytes / mebibyte).toFixed(1)} MiB, ${windowReads} reads, ${loaded} loaded`,
  )
  await engine.close()
}

async function writers(): Promise<void> {
  const [without, withWindow] = [await opened(0), await opened(600)]
  for (const { collection } of [without, withWindow]) await replace(collection, 200)
  const ratios: number[] = []
  for (let i = 0; i < rounds; i++) {
    const first = await cpuMs(() => replace(without.collection, upsertsOfRound))
    const second = await cpuMs(() => replace(withWindow.collection, upsertsOfRound))
    ratios.push(second / first)
  }
  const { windowBytes } = withWindow.engine.stats().asOf
  console.log(
    `writers: upserts with a window of 600 s take ${median(ratios).toFixed(3)} times the CPU of those without ` +
      `(${ratios.map((one) => one.toFixed(2)).join(' ')}); window ${(windowBytes / mebibyte).toFixed(1)} MiB`,
  )
  await without.engine.close()
  await withWindow.engine.close()
}

async function load(): Promise<void> {
  const { engine, collection } = await opened(0)
  await engine.checkpoint()
  await replace(collection, changed)
  const lsn = engine.lsnApplied
  await replace(collection, 1)
  globalThis.gc?.()
  const rss = process.memoryUsage().rss
  const started = performance.now()
  const cpu = await cpuMs(async () => {
    const past = await collection.asOf({ lsn })
    await past.search({ fields: { v: { query: point(), limit: k } } })
  })
  const ms = performance.now() - started
  const more = process.memoryUsage().rss - rss
  console.log(
    `load: first answer after ${(ms / 1_000).toFixed(1)} s, ${(cpu / 1_000).toFixed(1)} s of CPU; ` +
      `${(engine.stats().asOf.loadedBytes / mebibyte).toFixed(0)} MiB by part, ${(more / mebibyte).toFixed(0)} MiB of RSS`,
  )
  await engine.close()
}

const runs = { searches, writers, load }
try {
  console.log(`${rows} rows of ${dimension} dimensions, ${values.precision}`)
  for (const [name, run] of Object.entries(runs)) if (values.only === undefined || values.only === name) await run()
} finally {
  for (const dir of dirs) rmSync(dir, { recursive: true, force: true })
}
