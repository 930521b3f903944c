// The process of race.test.ts: writes of all kinds, one after another, while reader threads search without pause. Each sampled answer is
// compared with the state as of its LSN. Separate, because the test runner slows an engine down. Arguments: directory, seed, writes.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { openEngine } from '@annal/engine'
import { createRandom } from '../vector/world.ts'
import { dimension, limit, type ReaderReport, type Record, sharedWords, vectorOf } from './race-world.ts'

const [, , dataDir = '', seedText, writesText, secondsText] = process.argv
const [seed, writes, seconds] = [Number(seedText), Number(writesText), Number(secondsText ?? 0)]
const random = createRandom(seed)
const whole = (below: number) => Math.floor(random() * below)
const readers = 2
const objectsMax = 6000
const fields = [
  { name: 'v', type: 'vector', params: { dimension, spaceType: 'l2', precision: 'float32', M: 8, efConstruction: 40 } },
] as const

/** An object from an LSN on. Stamp 0: deleted. */
interface State {
  readonly lsn: number
  readonly stamp: number
  readonly third: number
}

const states = new Map<number, State[]>()
const alive = new Map<number, State>()
/** Objects by third after each write. */
const counts: { readonly lsn: number; readonly thirds: readonly number[] }[] = [{ lsn: 0, thirds: [0, 0, 0] }]
const faults: string[] = []
const total = { searches: 0, left: 0, checked: 0, whereIs: 0, found: 0 }
let pending: Record[] = []

const engine = await openEngine({ dataDir, threads: 1, fsync: 'none', readers })
const database = engine.database()
const things = await database.createCollection({ name: 'things', fields })
const shared = new Int32Array(new SharedArrayBuffer(16))

const threads = Array.from({ length: readers }, (_, i) => {
  const reader = engine.readerHandle()
  const data = { reader, shared, seed: seed * 31 + i, objectsMax }
  const worker = new Worker(new URL('./race-reader.ts', import.meta.url), {
    workerData: data,
    transferList: [reader.port],
  })
  worker.on('message', (report: ReaderReport) => {
    total.searches += report.searches
    total.left += report.left
    faults.push(...report.faults)
    pending.push(...report.records)
  })
  worker.on('error', (error) => faults.push(String(error.stack)))
  return { started: once(worker, 'message'), ended: once(worker, 'exit') }
})
await Promise.all(threads.map(({ started }) => started))

const ended = performance.now() + seconds * 1000
for (let write = 0; write < writes || performance.now() < ended; write++) {
  await act()
  check()
  if (faults.length > 0) break
}
Atomics.store(shared, sharedWords.stop, 1)
await Promise.all(threads.map(({ ended: exited }) => exited))
check()
if (faults.length === 0 && total.found < total.whereIs * 0.95)
  faults.push(`found ${total.found} of ${total.whereIs} objects by their vectors`)
await engine.close()
console.log(JSON.stringify({ ...total, faults: faults.slice(0, 5) }))

/** One write of a kind. Most are changes of objects. */
async function act(): Promise<void> {
  const draw = whole(100)
  if (draw < 50) await upsert()
  else if (draw < 65) await remove()
  else if (draw < 85) await updateFilters()
  else if (draw < 88) await things.vacuum()
  else if (draw < 91) await things.rebuild({ v: { M: 6 + 2 * whole(3) } })
  else if (draw < 93) await engine.checkpoint()
  else if (draw < 97) await replaceTemporary()
  else await restore()
  const { lsn } = things.describe()
  // Rebuilds change no object, but the state has their LSN.
  if (lsn > newestCount().lsn) countAt(lsn)
  Atomics.store(shared, sharedWords.acknowledged, lsn)
}

function someObjects(most: number): number[] {
  return [...new Set(Array.from({ length: 1 + whole(most) }, () => whole(1 + whole(objectsMax))))]
}

function thingOf(object: number): string {
  return `thing-${object}`
}

async function upsert(): Promise<void> {
  const written = someObjects(300).map((object) => ({ object, stamp: 1 + whole(3), third: whole(3) }))
  const { lsn } = await things.upsert(
    written.map(({ object, stamp, third }) => ({
      id: thingOf(object),
      meta: { object, stamp, text: 'x'.repeat(whole(200)) },
      filter: { third },
      fields: { v: vectorOf(object, stamp) },
    })),
  )
  for (const { object, stamp, third } of written) setState(object, { lsn, stamp, third })
  countAt(lsn)
}

async function remove(): Promise<void> {
  const objects = someObjects(200).filter((object) => alive.has(object))
  if (objects.length === 0) return
  const { lsn } = await things.delete(objects.map(thingOf))
  for (const object of objects) setState(object, { lsn, stamp: 0, third: 0 })
  countAt(lsn)
}

async function updateFilters(): Promise<void> {
  const changed = someObjects(200).flatMap((object) => {
    const state = alive.get(object)
    return state ? [{ object, stamp: state.stamp, third: whole(3) }] : []
  })
  if (changed.length === 0) return
  const updates = changed.map(({ object, third }) => ({
    id: thingOf(object),
    filter: { third, pad: 'y'.repeat(whole(99)) },
  }))
  const { lsn } = await things.updateFilters(updates)
  for (const { object, stamp, third } of changed) setState(object, { lsn, stamp, third })
  countAt(lsn)
}

/** Deletes the collection of this name, and creates another one. */
async function replaceTemporary(): Promise<void> {
  const number = Atomics.load(shared, sharedWords.deleted) + 1
  if (number > 1 || database.collections().some(({ name }) => name === 'temporary')) {
    await database.deleteCollection('temporary')
    Atomics.store(shared, sharedWords.deleted, number)
  }
  const temporary = await database.createCollection({ name: 'temporary', fields })
  const objects = Array.from({ length: 1 + whole(600) }, (_, object) => ({
    id: `${object}`,
    meta: { number: Atomics.load(shared, sharedWords.deleted) + 1 },
    fields: { v: vectorOf(object, 1) },
  }))
  await temporary.upsert(objects)
}

/** Replaces `temporary` by a clone of the collection, which has its number, or by what its backup restores. */
async function restore(): Promise<void> {
  const deleted = Atomics.load(shared, sharedWords.deleted)
  if (!database.collections().some(({ name }) => name === 'temporary')) return
  await database.backups.create('temporary', 'kept')
  await database.backups.settled()
  await database.backups.restore('kept', 'copy')
  await database.backups.settled()
  await database.collection('copy').getMany(['0'])
  await database.deleteCollection('copy')
  await database.backups.remove('kept')
  // Nothing of this deletes a collection `temporary`.
  Atomics.store(shared, sharedWords.deleted, deleted)
}

function setState(object: number, state: State): void {
  states.set(object, [...(states.get(object) ?? []), state])
  if (state.stamp === 0) alive.delete(object)
  else alive.set(object, state)
}

function newestCount() {
  return counts[counts.length - 1] ?? { lsn: 0, thirds: [0, 0, 0] }
}

function countAt(lsn: number): void {
  const thirds = [0, 0, 0]
  for (const { third } of alive.values()) thirds[third] = (thirds[third] ?? 0) + 1
  counts.push({ lsn, thirds })
}

function stateAt(object: number, lsn: number): State | undefined {
  return states.get(object)?.findLast((state) => state.lsn <= lsn)
}

/** Compares the sampled answers as of LSNs that are known. */
function check(): void {
  const newest = newestCount().lsn
  const known = pending.filter(({ lsn }) => lsn <= newest)
  pending = pending.filter(({ lsn }) => lsn > newest)
  for (const record of known) checkRecord(record)
}

function checkRecord({ lsn, third, object, stamp, hits }: Record): void {
  total.checked++
  const what = `at LSN ${lsn}, third ${third}: ${JSON.stringify(hits)}`
  if (new Set(hits.map((hit) => hit.object)).size < hits.length) faults.push(`an object twice ${what}`)
  for (const hit of hits) {
    const state = stateAt(hit.object, lsn)
    if (state?.stamp !== hit.stamp || state.third !== hit.third || (third !== undefined && hit.third !== third))
      faults.push(`${JSON.stringify(hit)} is not ${JSON.stringify(state)} ${what}`)
  }
  const thirds = counts.findLast((count) => count.lsn <= lsn)?.thirds ?? []
  const matching = thirds.reduce((sum, count, i) => sum + (third === undefined || third === i ? count : 0), 0)
  if (hits.length !== Math.min(limit, matching)) faults.push(`${hits.length} hits of ${matching} ${what}`)
  const own = stateAt(object, lsn)
  if (own?.stamp !== stamp || (third !== undefined && own.third !== third)) return
  total.whereIs++
  if (hits[0]?.object === object) total.found++
}
