// What expiries cost: searches, filtered searches, and writes of a collection whose objects expire, against one whose objects do not, with the
// same vectors; and the deletion of what has expired. CPU time of the process, by turns, because it says more than a clock on a machine that
// has other work.
//
//   npm run bench:expiry -- [--rows 50000] [--dimension 128] [--rounds 12] [--hidden 10]
//
// `--hidden` is the percentage of objects that have expired in the third collection: they are hidden, and still stored.
import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { type Collection, type Filter, openEngine } from '@annal/engine'
import { readOptions } from '../options.ts'
import { seededPoints } from '../sets/points.ts'

const values = readOptions({ rows: 50_000, dimension: 128, rounds: 12, hidden: 10 })
const { rows, dimension, rounds, hidden } = values
const batch = 1_000
const queriesOfRound = 300
const writesOfRound = 500
const hourMs = 3_600_000
const k = 10

const { random, point } = seededPoints(dimension)

const clock = {
  ms: Date.parse('2030-01-01T00:00:00Z'),
  steadyMs: 0,
  now: () => clock.ms,
  monotonic: () => clock.steadyMs,
}

/** Different for most objects, between one and eleven hours from now. */
const expiryOf = (n: number) => ({ expiresAt: clock.ms + hourMs + ((n * 7_919) % 10_000) * 3_600 })
const past = () => ({ expiresAt: 1 })
const none = () => ({})
type Expiry = (n: number) => { readonly expiresAt?: number }

const dataDir = mkdtempSync(path.join(os.tmpdir(), 'annal-expiry-'))
const engine = await openEngine({ dataDir, threads: 2, fsync: 'interval', clock })

async function filled(name: string, vectors: readonly number[][], expiry: Expiry): Promise<Collection> {
  const fields = [{ name: 'v', type: 'vector' as const, params: { dimension, precision: 'int8' as const } }]
  const collection = await engine.database().createCollection({ name, fields })
  const object = (n: number) => ({
    id: `object-${n}`,
    filter: { n: n % 100 },
    fields: { v: vectors[n] as number[] },
    ...expiry(n),
  })
  for (let from = 0; from < rows; from += batch)
    await collection.upsert(Array.from({ length: Math.min(batch, rows - from) }, (_, i) => object(from + i)))
  return collection as unknown as Collection
}

async function cpuMs(act: () => Promise<unknown>): Promise<number> {
  const before = process.cpuUsage()
  await act()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1_000
}

const median = (list: readonly number[]) => [...list].sort((a, b) => a - b)[list.length >> 1] as number
const shown = (list: readonly number[]) =>
  `${median(list).toFixed(2)} (${Math.min(...list).toFixed(2)} to ${Math.max(...list).toFixed(2)})`

/** The ratio of both, each measured in every round. */
async function compare(what: string, count: number, plain: () => Promise<unknown>, other: () => Promise<unknown>) {
  await plain()
  await other()
  const ratios: number[] = []
  const each: number[] = []
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0
    const first = await cpuMs(order ? plain : other)
    const second = await cpuMs(order ? other : plain)
    const [without, having] = order ? [first, second] : [second, first]
    ratios.push(having / without)
    each.push(without / count)
  }
  console.log(`${what}: ${median(each).toFixed(3)} ms of CPU each without; with ${shown(ratios)} times as much`)
}

try {
  const vectors = Array.from({ length: rows }, point)
  const plain = await filled('plain', vectors, none)
  const expiring = await filled('expiring', vectors, expiryOf)
  const share = await filled('hidden', vectors, (n) => (n % 100 < hidden ? past() : expiryOf(n)))
  const queries = Array.from({ length: queriesOfRound }, point)
  const filter: Filter = [{ n: { $range: [10, 59] } }]
  const searching =
    (collection: Collection, more: object = {}) =>
    async () => {
      for (const query of queries) await collection.search({ fields: { v: { query, limit: k } }, ...more } as never)
    }
  await compare('searches, none expired', queriesOfRound, searching(plain), searching(expiring))
  await compare(`searches, ${hidden} % expired`, queriesOfRound, searching(plain), searching(share))
  await compare(
    'filtered searches, none expired',
    queriesOfRound,
    searching(plain, { filter }),
    searching(expiring, { filter }),
  )
  await compare(
    `filtered searches, ${hidden} % expired`,
    queriesOfRound,
    searching(plain, { filter }),
    searching(share, { filter }),
  )
  const writing = (collection: Collection, expiry: Expiry) => async () => {
    for (let i = 0; i < writesOfRound; i++) {
      const n = Math.floor(random() * rows)
      await collection.upsert([{ id: `object-${n}`, fields: { v: point() }, ...expiry(n) }])
    }
  }
  await compare('writes of one object', writesOfRound, writing(plain, none), writing(expiring, expiryOf))
  const due = engine.stats().expiry.hidden
  clock.ms += 20 * hourMs
  clock.steadyMs += 20 * hourMs
  const expired = engine.stats().expiry.hidden
  const deleting = await cpuMs(async () => {
    while (engine.stats().expiry.hidden > 0) await sleep(50)
  })
  console.log(
    `deletion: ${expired} objects (${due} of them hidden before), ${((deleting / expired) * 1_000).toFixed(1)} us of CPU each`,
  )
} finally {
  await engine.close()
  rmSync(dataDir, { recursive: true, force: true })
}
