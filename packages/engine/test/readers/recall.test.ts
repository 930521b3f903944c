// Searches that state a recall in a reader's thread: they use the ef that the owner would choose, now and after each change of what was
// measured, and the owner learns of them.
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type Collection,
  type Engine,
  type FieldCalibration,
  openEngine,
  type SearchRequest,
  type SearchResult,
} from '@annal/engine'
import tap, { type Test, test } from 'tap'
import { openDirectory } from '../search/rig.ts'
import { clusteredRows } from '../vector/world.ts'
import { plainResults, type ReaderThread, startReader } from './reader-thread.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

const dimension = 12
const rows = 600
const vectors = clusteredRows(2 * rows, dimension, 7)
const rowOf = (i: number) => vectors.slice(i * dimension, (i + 1) * dimension)

function objects(from: number, to: number) {
  return Array.from({ length: to - from }, (_, i) => ({
    id: `o${from + i}`,
    filter: { third: (from + i) % 3, rare: (from + i) % 50 },
    fields: { dense: rowOf(from + i), bits: rowOf(from + i) },
  }))
}

async function open(t: Test): Promise<{ readonly engine: Engine; readonly things: Collection }> {
  const engine = await openEngine({ dataDir: await openDirectory(t), threads: 1, fsync: 'none', readers: 2 })
  t.teardown(() => engine.close())
  const things = await engine.database().createCollection({
    name: 'things',
    fields: [
      { name: 'dense', type: 'vector', params: { dimension, spaceType: 'l2', precision: 'float32' } },
      { name: 'bits', type: 'vector', params: { dimension, spaceType: 'cosine', precision: 'binary' } },
    ],
  })
  await things.upsert(objects(0, rows))
  return { engine, things: things as unknown as Collection }
}

const filters = [undefined, [{ third: { $eq: 1 } }], [{ rare: { $eq: 3 } }], [{ rare: { $ne: 3 } }]]

/** Searches of every form, in the reader without the owner and by the owner. */
async function compare(t: Test, reader: ReaderThread, things: Collection, comment: string): Promise<void> {
  for (const [i, filter] of filters.entries()) {
    for (const recall of [0.5, 0.95, 0.999]) {
      const requests: SearchRequest[] = [
        { fields: { dense: { query: rowOf(11), limit: 3, recall } } },
        { fields: { dense: { query: { id: 'o5' }, limit: 10, recall } } },
        { fields: { bits: { query: rowOf(8), limit: 5, recall } }, rescore: false },
        { fields: { dense: { query: rowOf(9), recall }, bits: { query: rowOf(9), ef: 20 } } },
      ].map((request) => ({ ...request, ...(filter && { filter }) }))
      const search = { field: 'dense', query: rowOf(11), limit: 3, recall, ...(filter && { filter }) }
      const { found, here, expected } = await searched(things, requests, async () => ({
        found: await searchHere(reader, requests),
        here: await reader.here('things', search),
      }))
      t.ok(
        JSON.stringify(found) === JSON.stringify(plainResults(expected)),
        `${comment}, filter ${i}, ${recall}: ${JSON.stringify(expected[0]?.recall)}`,
      )
      t.strictSame(here?.recall, expected[0]?.recall?.dense, `${comment}, filter ${i}, ${recall}, as bytes`)
      t.strictSame(
        here?.hits.map(({ id, similarity }) => [id, similarity]),
        expected[0]?.results.dense?.map(({ id, similarity }) => [id, similarity]),
      )
    }
  }
}

/** Repeats what a reader does if a measurement that runs in the background ends meanwhile. */
async function searched<T>(things: Collection, requests: readonly SearchRequest[], inReader: () => Promise<T>) {
  const recalls = (results: readonly SearchResult[]) => JSON.stringify(results.map(({ recall }) => recall))
  for (let expected = await things.searchBatch(requests as never); ; ) {
    const found = await inReader()
    const again = await things.searchBatch(requests as never)
    if (recalls(expected) === recalls(again)) return { ...found, expected }
    expected = again
  }
}

/**
 * Files are opened by the first search that needs them, which is left to the owner, as are searches after a slow read. Reads are slow whenever
 * this process waits for a processor, so there is no number of attempts that is enough; the timeout of the test ends them.
 */
async function searchHere(reader: ReaderThread, requests: readonly SearchRequest[]): Promise<unknown> {
  for (;;) {
    const found = await reader.do({ kind: 'batchHere', collection: 'things', requests })
    if (found !== undefined) return found
  }
}

/** What is measured in this file, so that nothing else is measured in the background meanwhile. */
async function calibrate(things: Collection): Promise<void> {
  for (const limit of [5, 10]) await things.calibrate({ field: 'dense', limit, sample: 30 })
  await things.calibrate({ field: 'bits', limit: 5, rescore: false, sample: 30 })
}

async function untilMeasured(things: Collection, limit: number): Promise<FieldCalibration> {
  for (;;) {
    const found = things.calibrations().find((one) => one.limit === limit && one.state === 'current')
    if (found) return found
    await sleep(10)
  }
}

test('a reader chooses the ef of the owner, whatever was measured', async (t) => {
  const { engine, things } = await open(t)
  const reader = await startReader(t, engine)
  await calibrate(things)
  await compare(t, reader, things, 'measured')
  const chosen = await reader.here('things', { field: 'dense', query: rowOf(3), limit: 5, recall: 0.9 })
  t.match(chosen?.recall, { target: 0.9, calibrated: true, reachable: true })
  const unreachable = { fields: { bits: { query: rowOf(8), limit: 5, recall: 0.999 } }, rescore: false }
  const found = await searchHere(reader, [unreachable])
  t.match(found, [{ recall: { bits: { reachable: false } } }], 'a recall that no ef reaches')

  await compare(t, await startReader(t, engine), things, 'measured before the reader attached')

  await things.upsert(objects(rows, 2 * rows))
  const stale = await reader.here('things', { field: 'dense', query: rowOf(3), limit: 5, recall: 0.9 })
  t.match(stale?.recall, { calibrated: false, expected: Number })
  await compare(t, reader, things, 'after many changes')
  await things.rebuild()
  await compare(t, reader, things, 'after a rebuild')
  await calibrate(things)
  await compare(t, reader, things, 'measured again')
})

test('the default recall of a field counts in a reader', async (t) => {
  const { engine, things } = await open(t)
  const reader = await startReader(t, engine)
  await things.updateFields({ dense: { recall: 0.9 } })
  await things.calibrate({ field: 'dense', limit: 5, sample: 30 })
  const search = { field: 'dense', query: rowOf(3), limit: 5 }
  t.match((await reader.here('things', search))?.recall, { target: 0.9, calibrated: true })
  t.match((await reader.here('things', { ...search, recall: 0.99 }))?.recall, { target: 0.99 })
  t.equal((await reader.here('things', { ...search, ef: 20 }))?.recall, undefined)
  t.equal((await reader.here('things', { ...search, exact: true }))?.recall, undefined)
  for (const wrong of [{ recall: 0 }, { recall: 1 }, { recall: Number.NaN }, { recall: 0.9, ef: 20 }])
    t.equal(await reader.here('things', { ...search, ...wrong }), undefined, 'the owner refuses it')
  t.equal(engine.stats().calibrations.searches, 2)
})

test('the owner counts the searches of readers, and measures with their queries', async (t) => {
  const { engine, things } = await open(t)
  const reader = await startReader(t, engine)
  const search = (i: number) => ({ field: 'dense', query: rowOf(i), limit: 7, recall: 0.9 })
  const first = await reader.here('things', search(0))
  t.strictSame(first?.recall, { target: 0.9, ef: 64, calibrated: false })
  t.match(await untilMeasured(things, 10), { source: 'rows' }, 'the first search started a measurement')
  const count = 2_500
  for (let i = 1; i < count; i++) await reader.here('things', search(i % rows))
  t.equal(engine.stats().calibrations.searches, count)
  // Reports are sent a few times a second.
  while (things.calibrations()[0]?.received !== count) await sleep(10)
  await things.calibrate({ field: 'dense', limit: 10, sample: 50 })
  t.match(things.calibrations(), [{ source: 'received', queries: 50, received: count }])
  const unreachable = { fields: { bits: { query: rowOf(8), limit: 5, recall: 0.999 } }, rescore: false }
  await things.calibrate({ field: 'bits', limit: 5, rescore: false, sample: 30 })
  t.ok(await searchHere(reader, [unreachable]))
  t.match(engine.stats().calibrations, { searches: count + 1, unreachable: 1 })
})

test('a reader sees the record that a search names, of any collection, or leaves the search to its owner', async (t) => {
  const { engine, things } = await open(t)
  const reader = await startReader(t, engine)
  const other = await engine.database().createCollection({
    name: 'other',
    fields: [{ name: 'dense', type: 'vector', params: { dimension, spaceType: 'l2' } }],
  })
  let { lsn } = await other.upsert([{ id: 'a', fields: { dense: rowOf(1) } }])
  const search = { field: 'dense', query: rowOf(1), limit: 1, ef: 16 }
  const request = { fields: { dense: { query: rowOf(1), limit: 1 } } }
  const read = (minLsn: number) => reader.do({ kind: 'getHere', collection: 'things', ids: ['o1'], minLsn })
  const batch = (minLsn: number) =>
    reader.do({ kind: 'batchHere', collection: 'things', requests: [request, { ...request, minLsn }] })
  for (let round = 0; round < 20; round++) {
    for (const minLsn of [0, lsn - 1, lsn]) {
      t.ok(await reader.here('things', { ...search, minLsn }), `search ${minLsn} of ${lsn}`)
      t.ok(await read(minLsn), `read ${minLsn} of ${lsn}`)
      t.ok(await batch(minLsn), `batch ${minLsn} of ${lsn}`)
      t.equal(await reader.do({ kind: 'wait', collection: 'things', lsn: minLsn, timeoutMs: 0 }), true)
    }
    t.notOk(await reader.here('things', { ...search, minLsn: lsn + 1 }))
    t.notOk(await read(lsn + 1))
    t.notOk(await batch(lsn + 1))
    const waiting = reader.do({ kind: 'wait', collection: 'things', lsn: lsn + 1, timeoutMs: 60_000 })
    const late = reader.do({ kind: 'search', collection: 'things', request: { ...request, minLsn: lsn + 1 } })
    const written = await (round % 2 === 0 ? other : things).upsert([
      { id: `n${round}`, fields: { dense: rowOf(round) } },
    ] as never)
    t.equal(written.lsn, lsn + 1)
    lsn = written.lsn
    t.equal(await waiting, true, 'a wait ends with a record of either collection')
    t.ok(await late)
  }
  t.equal(await reader.do({ kind: 'wait', collection: 'things', lsn: lsn + 1, timeoutMs: 20 }), false)
  await things.search({ fields: { dense: { query: rowOf(1) } } } as never)
  const gone = reader.do({ kind: 'wait', collection: 'things', lsn: lsn + 9, timeoutMs: 60_000 })
  // Calls begin in order, so the wait has begun when this one is answered.
  t.equal(await reader.do({ kind: 'exists', collection: 'things' }), true)
  await engine.database().deleteCollection('things')
  t.equal(await gone, false, 'a wait ends with its collection')
})
