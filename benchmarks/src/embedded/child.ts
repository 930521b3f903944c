// One database in a process of its own: fills it, then runs all queries on each request, so that databases take turns.
// Started by main.ts: child.ts DATABASE VARIANT FOLDER SET QUERIES
import path from 'node:path'
import { median } from '../ann/contender.ts'
import { bytesOnDisk } from '../bytes-on-disk.ts'
import { readDataset } from '../sets/dataset.ts'
import { truthAmong } from '../sets/truth-among.ts'
import { type Database, type OpenDatabase, parts } from './database.ts'
import { openAnnal } from './databases/annal.ts'
import { openLanceDb } from './databases/lancedb.ts'
import { openSqliteVec } from './databases/sqlite-vec.ts'
import { openZvec } from './databases/zvec.ts'
import type { Filled, Ran, Request } from './messages.ts'

const openers: Readonly<Record<string, OpenDatabase>> = {
  annal: openAnnal,
  zvec: openZvec,
  lancedb: openLanceDb,
  'sqlite-vec': openSqliteVec,
}

const [name = '', variant = '', folder = '', directory = '', queriesMax = ''] = process.argv.slice(2)
const set = await readDataset(path.dirname(directory), path.basename(directory))
const { dimension, base } = set
const queries = Array.from({ length: Math.min(Number(queriesMax), set.queries.length / dimension) }, (_, i) =>
  set.queries.subarray(i * dimension, (i + 1) * dimension),
)
const warmMs = 5_000
/** The exact neighbors of each query, by the bound of the filter. */
const truths = new Map<number, readonly ReadonlySet<number>[]>()
const open = openers[name]
if (open === undefined) throw new Error(`unknown database "${name}"; known: ${Object.keys(openers).join(', ')}`)

const residentBefore = process.memoryUsage.rss()
const database = await open(set, folder, variant)
process.on('message', (request: Request) => {
  const reply = request.kind === 'fill' ? fill(database) : run(database, request)
  reply.then(
    (result) => process.send?.(result),
    (error: unknown) => {
      console.error(error)
      process.exit(1)
    },
  )
})
process.on('disconnect', () => database.close().then(() => process.exit(0)))

async function fill(database: Database): Promise<Filled> {
  const from = performance.now()
  const before = process.cpuUsage()
  await database.fill(base)
  const { user, system } = process.cpuUsage(before)
  const seconds = (performance.now() - from) / 1_000
  const residentBytes = process.memoryUsage.rss() - residentBefore
  await warmUp(database)
  return { seconds, cpuSeconds: (user + system) / 1e6, residentBytes, diskBytes: bytesOnDisk(folder) }
}

/** Searches until what is compiled at run time is compiled. */
async function warmUp(database: Database): Promise<void> {
  const from = performance.now()
  for (let i = 0; performance.now() - from < warmMs; i++) {
    const query = queries[i % queries.length] as Float32Array
    await database.search({ query, ef: 100, bound: i % 2 === 0 ? parts : 1 })
  }
}

async function run(database: Database, { ef, bound }: Extract<Request, { kind: 'run' }>): Promise<Ran> {
  const truth = truthOf(bound)
  let hits = 0
  const times: number[] = []
  const before = process.cpuUsage()
  for (const [i, query] of queries.entries()) {
    const from = performance.now()
    const found = await database.search({ query, ef, bound })
    times.push(performance.now() - from)
    for (const id of found) if (truth[i]?.has(id)) hits++
  }
  const { user, system } = process.cpuUsage(before)
  const wanted = truth.reduce((sum, { size }) => sum + size, 0)
  return { recall: hits / wanted, medianMs: median(times), cpuMs: (user + system) / 1e3 / queries.length }
}

function truthOf(bound: number): readonly ReadonlySet<number>[] {
  const known = truths.get(bound)
  if (known) return known
  const truth = truthAmong(set, queries.length, (row) => row % parts < bound)
  truths.set(bound, truth)
  return truth
}
