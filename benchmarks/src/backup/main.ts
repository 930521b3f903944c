// `node scripts/run.mjs benchmarks/src/backup/main.ts [--objects 10000,200000] [--backups 40] [--dir DIR] [--fill] [--out FILE]`: the
// effect of backups on four writers and four searchers, by the size of the collection; then a second backup of an unchanged collection, and
// a clone. With `--dir`, a filled directory is kept and used again; `--fill` only fills it.
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Collection, type Engine, openEngine } from '@annal/engine'
import { readOptions } from '../options.ts'
import { measureTime } from '../start/load.ts'
import { definition, objectOf, vectorOf } from '../start/objects.ts'

const options = readOptions({
  objects: '10000,200000',
  backups: 40,
  quiet: 10_000,
  dir: String,
  fill: false,
  out: String,
})
const sizes = options.objects.split(',').map(Number)
const { backups, quiet: quietMs } = options
const writers = 4
const searchers = 4
const pauseMs = 5

interface Load {
  readonly writes: number[]
  readonly searches: number[]
  failed: number
}

/** Runs four writers and four searchers, each with a pause between calls, until `job` is done. */
async function loadDuring(collection: Collection, objects: number, job: () => Promise<unknown>): Promise<Load> {
  const load: Load = { writes: [], searches: [], failed: 0 }
  let going = true
  const repeat = async (times: number[], act: (turn: number) => Promise<unknown>): Promise<void> => {
    for (let turn = 0; going; turn++) {
      times.push(await measureTime(() => act(turn)))
      await sleep(pauseMs)
    }
  }
  const write = (writer: number) => (turn: number) =>
    collection.upsert([objectOf(objects + writer * 1_000_000 + (turn % 1_000))])
  const search = (searcher: number) => async (turn: number) => {
    const query = vectorOf((searcher * 7919 + turn * 31) % objects)
    const found = await collection.search({ fields: { v: { query, limit: 10 } } }).catch(() => undefined)
    if (found?.results.v?.length !== 10) load.failed++
  }
  const running = [
    ...Array.from({ length: writers }, (_, index) => repeat(load.writes, write(index))),
    ...Array.from({ length: searchers }, (_, index) => repeat(load.searches, search(index))),
  ]
  await job().finally(() => {
    going = false
  })
  await Promise.all(running)
  return load
}

async function fill(dataDir: string, objects: number): Promise<void> {
  const engine = await openEngine({ dataDir })
  const collection = await engine.database().createCollection(definition)
  const batch = 1_000
  for (let n = 0; n < objects; n += batch)
    await collection.upsert(Array.from({ length: Math.min(batch, objects - n) }, (_, i) => objectOf(n + i)))
  await engine.close()
}

async function backUp(engine: Engine, name: string): Promise<number> {
  const { backups: all } = engine.database()
  const ms = await measureTime(async () => {
    await all.create('objects', name)
    await all.settled()
  })
  const { status, error } = all.status()
  if (status !== 'completed') throw new Error(`backup ${name} is ${status}: ${error}`)
  return ms
}

async function measure(dataDir: string, objects: number) {
  const engine = await openEngine({ dataDir })
  try {
    const collection = engine.database().collection('objects')
    const quiet = await loadDuring(collection, objects, () => sleep(quietMs))
    const durations: number[] = []
    const held: number[] = []
    const first = await loadDuring(collection, objects, async () => {
      durations.push(await backUp(engine, 'first'))
    })
    const busy = await loadDuring(collection, objects, async () => {
      for (let i = 0; i < backups; i++) {
        durations.push(await backUp(engine, `b${i}`))
        held.push(engine.database().backups.status().heldMs ?? Number.NaN)
        await sleep(20)
      }
    })
    await backUp(engine, 'still')
    const before = await diskBytes(join(dataDir, 'backups'))
    const againMs = await backUp(engine, 'still-again')
    const againBytes = (await diskBytes(join(dataDir, 'backups'))) - before
    const clones = []
    for (let i = 0; i < 5; i++) clones.push(await clone(engine, i))
    return {
      objects,
      firstBackupMs: roundMs(durations[0] ?? 0),
      backupMs: quantiles(durations.slice(1)),
      writersHeldMs: quantiles(held),
      failedSearches: quiet.failed + first.failed + busy.failed,
      writes: { quiet: quantiles(quiet.writes), first: quantiles(first.writes), busy: quantiles(busy.writes) },
      searches: { quiet: quantiles(quiet.searches), first: quantiles(first.searches), busy: quantiles(busy.searches) },
      unchangedAgain: { ms: roundMs(againMs), diskBytes: againBytes },
      clones,
    }
  } finally {
    for (const { name } of engine.database().backups.list()) await engine.database().backups.remove(name)
    await engine.close()
  }
}

/** Time until the clone exists, and until it answers its first query. */
async function clone(engine: Engine, seed: number): Promise<{ readonly existsMs: number; readonly answersMs: number }> {
  const database = engine.database()
  const began = performance.now()
  await database.backups.clone('objects', 'clone')
  const existsMs = roundMs(performance.now() - began)
  const search = { fields: { v: { query: vectorOf(seed), limit: 10 } } }
  await database.collection('clone').search(search)
  const answersMs = roundMs(performance.now() - began)
  await database.deleteCollection('clone')
  return { existsMs, answersMs }
}

/** Bytes of files, each counted once regardless of its number of hard links. */
async function diskBytes(dir: string): Promise<number> {
  const files = new Map<number, number>()
  for (const entry of await readdir(dir, { withFileTypes: true, recursive: true })) {
    if (!entry.isFile()) continue
    const { ino, blocks } = await stat(join(entry.parentPath, entry.name))
    files.set(ino, blocks * 512)
  }
  return [...files.values()].reduce((sum, bytes) => sum + bytes, 0)
}

function quantiles(times: number[]) {
  times.sort((a, b) => a - b)
  const quantile = (share: number): number =>
    roundMs(times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0)
  return { count: times.length, medianMs: quantile(0.5), p99Ms: quantile(0.99), maxMs: quantile(1) }
}

function roundMs(value: number): number {
  return Math.round(value * 100) / 100
}

const base = options.dir ?? (await mkdtemp(join(tmpdir(), 'annal-backup-bench-')))
await mkdir(base, { recursive: true })
const found = []
for (const objects of sizes) {
  const dataDir = join(base, String(objects))
  if (!existsSync(dataDir)) await fill(dataDir, objects)
  if (options.fill) continue
  const result = await measure(dataDir, objects)
  console.log(JSON.stringify(result))
  found.push(result)
}
if (options.dir === undefined) await rm(base, { recursive: true })
if (options.out !== undefined) await writeFile(options.out, `${JSON.stringify(found, null, 2)}\n`)
