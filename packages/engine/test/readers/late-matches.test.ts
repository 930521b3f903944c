// The matches of a filter that a reader receives late: another replica can serve by then, and its versions begin at the same numbers.
import { setTimeout as sleep } from 'node:timers/promises'
import { type Collection, openEngine } from '@annal/engine'
import tap, { type Test, test } from 'tap'
import { openDirectory } from '../search/rig.ts'
import { dimension, vectorOf } from './race-world.ts'
import { type Late, type ReaderThread, searchLate, startReader } from './reader-thread.ts'

tap.setTimeout(300_000)

const params = { dimension, spaceType: 'l2', precision: 'float32' } as const
const objects = 20
/** The parities of all objects that match. */
const matching = new Array(objects / 2).fill(0)
const query = vectorOf(1, 1)
const search = { field: 'v', query, limit: objects, filter: [{ parity: { $eq: 0 } }] }
const requests = [{ fields: { v: { query, limit: objects } }, filter: search.filter }]

async function open(t: Test): Promise<{ things: Collection; reader: ReaderThread }> {
  const engine = await openEngine({ dataDir: await openDirectory(t), threads: 1, fsync: 'none', readers: 1 })
  t.teardown(() => engine.close())
  const fields = [{ name: 'v', type: 'vector', params }] as const
  const things = await engine.database().createCollection({ name: 'things', fields })
  await things.upsert(
    Array.from({ length: objects }, (_, i) => ({
      id: `${i}`,
      filter: { parity: i % 2 },
      fields: { v: vectorOf(i, 1) },
    })),
  )
  const reader = await startReader(t, engine)
  // Loads what runs batches.
  await reader.do({ kind: 'batchHere', collection: 'things', requests: [{ fields: { v: { query } } }] })
  return { things, reader }
}

/** Resolves when the owner has surely evaluated the filters. */
async function evaluated(): Promise<void> {
  await sleep(50)
}

async function swapParities(things: Collection): Promise<void> {
  await things.updateFilters(
    Array.from({ length: objects }, (_, i) => ({ id: `${i}`, filter: { parity: (i + 1) % 2 } })),
  )
}

function parities({ single, batch }: Late): { readonly single: unknown[]; readonly batch: unknown[] } {
  return {
    single: single?.hits.map(({ filter }) => JSON.parse(filter).parity) ?? [],
    batch: batch?.map((filterText) => JSON.parse(filterText).parity) ?? [],
  }
}

test('matches of a replica are not used for the one that follows it', async (t) => {
  const { things, reader } = await open(t)
  const late = await searchLate(reader, { collection: 'things', search, requests }, async () => {
    await evaluated()
    await swapParities(things)
    // The new replica has the version that the matches are of.
    await things.rebuild()
  })
  // The batch was parsed for the definition of the earlier replica, so the owner runs it.
  t.same(parities(late), { single: matching, batch: [] })
  t.equal(late.batch, undefined)
})

test('matches of an earlier version are fetched again', async (t) => {
  const { things, reader } = await open(t)
  const late = await searchLate(reader, { collection: 'things', search, requests }, async () => {
    await evaluated()
    await swapParities(things)
  })
  t.same(parities(late), { single: matching, batch: matching })
  t.same(new Set(late.single?.hits.map(({ id }) => Number(id) % 2)), new Set([1]))
})
