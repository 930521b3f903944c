// A search of a reader holds its version while its callback runs. What the owner does meanwhile must wait for it, or be noticed by it.
import { setImmediate as nextTurn } from 'node:timers/promises'
import { type Collection, type Engine, openEngine } from '@annal/engine'
import tap, { type Test, test } from 'tap'
import { openDirectory } from '../search/rig.ts'
import { dimension, vectorOf } from './race-world.ts'
import { hold, startReader } from './reader-thread.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

const search = { field: 'v', query: vectorOf(1, 1), limit: 20, ef: 30 }
const params = { dimension, spaceType: 'l2', precision: 'float32', M: 4, efConstruction: 8 } as const
const fields = [{ name: 'v', type: 'vector', params }] as const
/** Turns of the event loop in which a write that waits for nothing completes many times. */
const turns = 300

async function open(t: Test, objects: number): Promise<{ engine: Engine; things: Collection }> {
  const engine = await openEngine({ dataDir: await openDirectory(t), threads: 1, fsync: 'none', readers: 1 })
  t.teardown(() => engine.close())
  const things = await engine.database().createCollection({ name: 'things', fields })
  await write(things, 0, objects)
  return { engine, things }
}

async function write(things: Collection, from: number, to: number, stamp = 1): Promise<void> {
  for (let first = from; first < to; first += 1000)
    await things.upsert(
      Array.from({ length: Math.min(1000, to - first) }, (_, i) => ({
        id: `${stamp}-${first + i}`,
        meta: { stamp },
        filter: { stamp },
        fields: { v: vectorOf(first + i, stamp) },
      })),
    )
}

test('objects that a reader holds stay whole while they are deleted and written again', async (t) => {
  const { engine, things } = await open(t, 20)
  const other = await engine.database().createCollection({ name: 'other', fields })
  const reader = await startReader(t, engine)
  const held = await hold(reader, 'things', search)
  await things.delete(Array.from({ length: 20 }, (_, i) => `1-${i}`))
  let written = 0
  const writing = (async () => {
    for (; written < 40; written++) await write(things, 0, 20, 2 + written)
  })()
  // Begun later, and no reader holds it.
  for (let stamp = 0; stamp < 80; stamp++) await write(other, 0, 20, stamp)
  t.ok(written > 10 && written < 40, `${written} writes before ordinals were due for reuse`)
  const { texts, calls, nested, result } = await held.release()
  t.equal(calls, 1)
  t.equal(result?.hits.length, 20)
  t.same(texts[1], texts[0])
  t.equal(nested, undefined, 'a search within a callback has no pin of its own')
  await writing
})

test('a reader that exits while it holds objects lets writes go on', async (t) => {
  const { engine, things } = await open(t, 20)
  const reader = await startReader(t, engine)
  await hold(reader, 'things', search)
  await things.delete(Array.from({ length: 20 }, (_, i) => `1-${i}`))
  await reader.worker.terminate()
  for (let stamp = 2; stamp < 40; stamp++) await write(things, 0, 20, stamp)
  t.equal(things.describe().objects, 38 * 20)
})

test('filters that are replaced under a search make it begin again', async (t) => {
  const { engine, things } = await open(t, 20)
  const reader = await startReader(t, engine)
  const held = await hold(reader, 'things', search)
  const updates = Array.from({ length: 20 }, (_, i) => ({ id: `1-${i}`, filter: { text: 'x'.repeat(100 + i) } }))
  const { lsn } = await things.updateFilters(updates)
  const { calls, result } = await held.release()
  t.equal(calls, 2)
  t.equal(result?.lsn, lsn)
  for (const { filter } of result?.hits ?? []) t.match(JSON.parse(filter).text, /^x{100,}$/)
})

test('deleted rows leave the graph after the searches that see them', async (t) => {
  const { engine, things } = await open(t, 2000)
  const reader = await startReader(t, engine)
  const held = await hold(reader, 'things', search)
  let isDone = false
  const deleting = things.delete(Array.from({ length: 1000 }, (_, i) => `1-${i}`)).then(() => {
    isDone = true
  })
  const firstHit = async (): Promise<string | undefined> => {
    const { results } = await things.search({ fields: { v: { query: [...vectorOf(1, 1)], limit: 1 } } })
    return results.v?.[0]?.id
  }
  while ((await firstHit()) === '1-1') await nextTurn()
  for (let turn = 0; turn < turns; turn++) await nextTurn()
  t.notOk(isDone, 'new searches see the deletion, and the sweep waits for the earlier one')
  t.equal((await held.release()).result?.hits.length, 20)
  await deleting
})

test('rows beyond the marks of a running walk are linked after it', async (t) => {
  const { engine, things } = await open(t, 4000)
  const other = await engine.database().createCollection({ name: 'other', fields })
  await write(other, 0, 4000)
  const reader = await startReader(t, engine)
  const held = await hold(reader, 'things', search)
  let isDone = false
  const writing = write(things, 4000, 5000).then(() => {
    isDone = true
  })
  // Begun later, and no reader holds it.
  await write(other, 4000, 5000)
  for (let turn = 0; turn < turns; turn++) await nextTurn()
  t.equal(isDone, false)
  await held.release()
  await writing
  t.equal(things.describe().objects, 5000)
})

test('a collection that is deleted or rebuilt under a search keeps its memory until the end', async (t) => {
  const { engine, things } = await open(t, 300)
  const reader = await startReader(t, engine)
  const first = await hold(reader, 'things', search)
  await things.rebuild()
  t.equal((await first.release()).result?.hits.length, 20)
  const second = await hold(reader, 'things', search)
  await engine.database().deleteCollection('things')
  t.equal((await second.release()).result?.hits.length, 20)
  t.equal(await reader.here('things', search), undefined)
})

test('a reader that is closed by its own callback ends afterwards', async (t) => {
  const { engine } = await open(t, 20)
  const reader = await startReader(t, engine)
  const held = await hold(reader, 'things', search, { closes: true })
  const { result, isOpen } = await held.release()
  t.equal(isOpen, true, 'the slot is in use while the callback runs')
  t.equal(result?.hits.length, 20)
  t.equal(await reader.here('things', search), undefined)
  await t.rejects(
    reader.do({ kind: 'search', collection: 'things', request: { fields: { v: { query: search.query } } } }),
    {
      code: 'closed',
    },
  )
})
