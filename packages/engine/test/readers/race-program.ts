// The process of race.test.ts: writes of all kinds, one after another, while reader threads search without pause. Each sampled answer is
// compared with the state as of its LSN. Separate, because the test runner slows an engine down. Arguments: directory, seed, writes.
import { once } from 'node:events'
import { Worker } from 'node:worker_threads'
import { openEngine } from '@annal/engine'
import { createRandom } from '../vector/world.ts'
import { type SparseRecord, sparseFault, termsOf, textOf } from './race-terms.ts'
import {
  dimension,
  type GetRecord,
  limit,
  type ReaderReport,
  type Record,
  sharedWords,
  textLengthOf,
  vectorOf,
} from './race-world.ts'

const [, , dataDir = '', seedText, writesText, secondsText] = process.argv
const [seed, writes, seconds] = [Number(seedText), Number(writesText), Number(secondsText ?? 0)]
const random = createRandom(seed)
const whole = (below: number) => Math.floor(random() * below)
const readers = 2
const objectsMax = 6000
const fields = [
  { name: 'v', type: 'vector', params: { dimension, spaceType: 'l2', precision: 'float32', M: 8, efConstruction: 40 } },
  { name: 'words', type: 'sparse' },
  { name: 'texts', type: 'text', params: { language: 'none' } },
] as const
const thingFields = [...fields, { name: 'rare', type: 'sparse', params: { model: 'endee_bm25' } }] as const

/** An object from an LSN on. Stamp 0: deleted. */
interface State {
  readonly lsn: number
  readonly stamp: number
  /** Of the upsert that wrote it. */
  readonly serial: number
  readonly third: number
}

const states = new Map<number, State[]>()
const alive = new Map<number, State>()
/** Objects by third after each write. */
let counts: { readonly lsn: number; readonly thirds: readonly number[] }[] = [{ lsn: 0, thirds: [0, 0, 0] }]
const faults: string[] = []
let serials = 0
const total = {
  searches: 0,
  left: 0,
  batches: 0,
  reads: 0,
  checkedReads: 0,
  checked: 0,
  whereIs: 0,
  found: 0,
  newest: 0,
  newestFound: 0,
  copiesFound: 0,
  sparseRan: 0,
  sparseLeft: 0,
  sparseChecked: 0,
}
/** Number of writes of each kind. */
const done: { [kind: string]: number } = {}
let pending: Record[] = []
let pendingGets: GetRecord[] = []
let pendingSparse: SparseRecord[] = []

const engine = await openEngine({ dataDir, threads: 1, fsync: 'none', readers })
const database = engine.database()
const things = await database.createCollection({ name: 'things', fields: thingFields })
const shared = new Int32Array(new SharedArrayBuffer(20))
/** By reader: the least LSN of its later records. */
const floors: number[] = []

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
    total.batches += report.batches
    total.reads += report.reads
    total.sparseRan += report.sparseRan
    total.sparseLeft += report.sparseLeft
    total.newest += report.grown.searches
    total.newestFound += report.grown.found
    total.copiesFound += report.grown.copies
    floors[i] = report.floor
    faults.push(...report.faults)
    pending.push(...report.records)
    pendingGets.push(...report.gets)
    pendingSparse.push(...report.sparse)
  })
  worker.on('error', (error) => faults.push(String(error.stack)))
  return { started: once(worker, 'message'), ended: once(worker, 'exit') }
})
await Promise.all(threads.map(({ started }) => started))

const last = [100, 'copies', copyTemporary] as const
/** A draw below the number chooses the write. */
const kinds: readonly (readonly [below: number, kind: string, write: () => Promise<unknown>])[] = [
  [50, 'upserts', upsert],
  [65, 'deletions', remove],
  [85, 'filters', updateFilters],
  [88, 'vacuums', () => things.vacuum()],
  [91, 'rebuilds', () => things.rebuild({ v: { M: 6 + 2 * whole(3) } })],
  [93, 'checkpoints', () => engine.checkpoint()],
  [97, 'collections', replaceTemporary],
  last,
]

const ended = performance.now() + seconds * 1000
for (let write = 0; write < writes || performance.now() < ended; write++) {
  await act()
  check()
  if (write % 256 === 255)
    forget(
      Math.min(
        ...floors,
        ...[...pending, ...pendingSparse].map(({ lsn }) => lsn),
        ...pendingGets.map(({ from }) => from),
      ),
    )
  if (faults.length > 0) break
}
Atomics.store(shared, sharedWords.stop, 1)
await Promise.all(threads.map(({ ended: exited }) => exited))
check(true)
if (faults.length === 0 && total.found < total.whereIs * 0.95)
  faults.push(`found ${total.found} of ${total.whereIs} objects by their vectors`)
if (faults.length === 0 && total.newestFound < total.newest * 0.95)
  faults.push(`found ${total.newestFound} of ${total.newest} new objects by their vectors`)
await engine.close()
console.log(JSON.stringify({ ...total, done, faults: faults.slice(0, 5) }))

/** One write of a kind. Most are changes of objects. */
async function act(): Promise<void> {
  const draw = whole(100)
  const [, kind, write] = kinds.find(([below]) => draw < below) ?? last
  await write()
  done[kind] = (done[kind] ?? 0) + 1
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
  const serial = ++serials
  const written = someObjects(300).map((object) => ({ object, stamp: 1 + whole(3), third: whole(3) }))
  const { lsn } = await things.upsert(
    written.map(({ object, stamp, third }) => ({
      id: thingOf(object),
      meta: { object, stamp, serial, text: 'x'.repeat(whole(200)) },
      filter: { third },
      fields: {
        v: vectorOf(object, stamp),
        words: termsOf(object, stamp),
        rare: termsOf(object, stamp),
        texts: textOf(object, stamp),
      },
    })),
  )
  for (const { object, stamp, third } of written) setState(object, { lsn, stamp, serial, third })
  countAt(lsn)
}

async function remove(): Promise<void> {
  const objects = someObjects(200).filter((object) => alive.has(object))
  if (objects.length === 0) return
  const { lsn } = await things.delete(objects.map(thingOf))
  for (const object of objects) setState(object, { lsn, stamp: 0, serial: 0, third: 0 })
  countAt(lsn)
}

async function updateFilters(): Promise<void> {
  const changed = someObjects(200).flatMap((object) => {
    const state = alive.get(object)
    return state ? [{ ...state, object, third: whole(3) }] : []
  })
  if (changed.length === 0) return
  const updates = changed.map(({ object, third }) => ({
    id: thingOf(object),
    filter: { third, pad: 'y'.repeat(whole(99)) },
  }))
  const { lsn } = await things.updateFilters(updates)
  for (const { object, ...state } of changed) setState(object, { ...state, lsn })
  countAt(lsn)
}

/** Deletes the collection of this name, creates another one, and lets it grow: small memories are replaced by larger ones. */
async function replaceTemporary(): Promise<void> {
  if (database.collections().some(({ name }) => name === 'temporary')) {
    await database.deleteCollection('temporary')
    Atomics.store(shared, sharedWords.grown, 0)
    Atomics.add(shared, sharedWords.deleted, 1)
  }
  const number = Atomics.load(shared, sharedWords.deleted) + 1
  const temporary = await database.createCollection({ name: 'temporary', fields })
  const most = 1 + whole(whole(10) === 0 ? 4000 : 600)
  for (let from = 0; from < most; ) {
    const to = Math.min(most, from + 1 + whole(Math.min(1000, 1 + from)))
    await temporary.upsert(
      Array.from({ length: to - from }, (_, i) => ({
        id: `${from + i}`,
        meta: { number, object: from + i, text: 'x'.repeat(textLengthOf(from + i)) },
        fields: { v: vectorOf(from + i, 1), words: termsOf(from + i, 1), texts: textOf(from + i, 1) },
      })),
    )
    Atomics.store(shared, sharedWords.grown, to)
    from = to
  }
}

/** Loads `temporary` as the collection `copy`, from a backup or as a clone, writes to it, and deletes it. */
async function copyTemporary(): Promise<void> {
  if (!database.collections().some(({ name }) => name === 'temporary')) return
  Atomics.add(shared, sharedWords.copies, 1)
  if (whole(2) === 0) await database.backups.clone('temporary', 'copy')
  else {
    await database.backups.create('temporary', 'kept')
    await database.backups.settled()
    await database.backups.restore('kept', 'copy')
    await database.backups.remove('kept')
  }
  await database.backups.settled()
  const copied = database.collection('copy')
  const [first] = await copied.getMany(['0'])
  if (first === undefined) faults.push('a copy lacks its first object')
  await copied.delete(['0'])
  await things.vacuum()
  await database.deleteCollection('copy')
  Atomics.add(shared, sharedWords.copies, 1)
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

/** Removes states that no later record can have. */
function forget(floor: number): void {
  for (const [object, list] of states) {
    const from = list.findLastIndex(({ lsn }) => lsn <= floor)
    if (from > 0) states.set(object, list.slice(from))
  }
  counts = counts.slice(
    Math.max(
      0,
      counts.findLastIndex(({ lsn }) => lsn <= floor),
    ),
  )
}

function stateAt(object: number, lsn: number): State | undefined {
  return states.get(object)?.findLast((state) => state.lsn <= lsn)
}

/** Compares the sampled answers as of LSNs that are known. `isLast`: no write follows. */
function check(isLast = false): void {
  const newest = newestCount().lsn
  const known = pending.filter(({ lsn }) => lsn <= newest)
  pending = pending.filter(({ lsn }) => lsn > newest)
  for (const record of known) checkRecord(record)
  const sparse = pendingSparse.filter(({ lsn }) => lsn <= newest)
  pendingSparse = pendingSparse.filter(({ lsn }) => lsn > newest)
  for (const record of sparse) checkSparse(record)
  const isKnown = ({ to }: GetRecord) => to < newest || isLast
  const gets = pendingGets.filter(isKnown)
  pendingGets = pendingGets.filter((record) => !isKnown(record))
  for (const record of gets) checkGet(record)
}

/** A write may have been visible before its acknowledgement was. */
function checkGet({ from, to, object, found }: GetRecord): void {
  total.checkedReads++
  const next = counts.find(({ lsn }) => lsn > to)?.lsn ?? to
  const later = (states.get(object) ?? []).filter(({ lsn }) => lsn > from && lsn <= next)
  const possible = [stateAt(object, from), ...later].map((state) => (state?.stamp === 0 ? undefined : state))
  const isPossible = possible.some(
    (state) => state?.stamp === found?.stamp && state?.serial === found?.serial && state?.third === found?.third,
  )
  if (!isPossible)
    faults.push(
      `object ${object} was read as ${JSON.stringify(found)} between ${from} and ${next}: ${JSON.stringify(possible)}`,
    )
}

function checkSparse(record: SparseRecord): void {
  total.sparseChecked++
  const objects = [...states.keys()].flatMap((object) => {
    const state = stateAt(object, record.lsn)
    return state === undefined || state.stamp === 0 ? [] : [{ ...state, object }]
  })
  const fault = sparseFault(record, objects)
  if (fault !== undefined) faults.push(`${fault} at LSN ${record.lsn}: ${JSON.stringify(record)}`)
}

function checkRecord({ lsn, third, object, stamp, hits }: Record): void {
  total.checked++
  const what = `at LSN ${lsn}, third ${third}: ${JSON.stringify(hits)}`
  if (new Set(hits.map((hit) => hit.object)).size < hits.length) faults.push(`an object twice ${what}`)
  for (const hit of hits) {
    const state = stateAt(hit.object, lsn)
    if (
      state?.serial !== hit.serial ||
      state.stamp !== hit.stamp ||
      state.third !== hit.third ||
      (third !== undefined && hit.third !== third)
    )
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
