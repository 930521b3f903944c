// Cursors of scrolls and rebuilds: a rebuild gives objects new ordinals, and automatic vacuums rebuild.
import { type Collection, openEngine } from '@annal/engine'
import { seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { openDirectory } from './rig.ts'

tap.setTimeout(300_000)

const params = { dimension: 4, spaceType: 'l2', precision: 'float32' } as const
const fields = [{ name: 'v', type: 'vector', params }] as const
const object = (n: number) => ({ id: `${n}`, fields: { v: [n, n % 7, 1, 0] } })

async function openIn(t: Test, dataDir: string) {
  const engine = await openEngine({ dataDir, threads: 1, fsync: 'none' })
  t.teardown(() => engine.close())
  return engine
}

async function fill(t: Test, objects: number) {
  const dataDir = await openDirectory(t)
  const engine = await openIn(t, dataDir)
  const things = await engine.database().createCollection({ name: 'things', fields })
  await things.upsert(Array.from({ length: objects }, (_, n) => object(n)))
  return { dataDir, engine, things }
}

/** Resolves to the ids of all pages. `between` runs after each page that is not the last one. */
async function scrollAll(
  things: Collection,
  limit: number,
  between: (page: number) => Promise<unknown>,
): Promise<readonly string[]> {
  const seen: string[] = []
  for (let [cursor, page]: [string | undefined, number] = [undefined, 1]; ; page++) {
    const found = await things.scroll({ limit, includeVectors: false, ...(cursor !== undefined && { cursor }) })
    seen.push(...found.objects.map(({ id }) => id))
    cursor = found.cursor
    if (cursor === undefined) return seen
    await between(page)
  }
}

test('an object that is not written during a scroll is on one page, whatever is deleted and rebuilt', async (t) => {
  for (let seed = 1; seed <= 10; seed++) {
    const { things } = await fill(t, 300)
    const random = seededRandom(seed)
    const deleted = new Set<string>()
    const seen = await scrollAll(things, 20, async () => {
      const gone = Array.from({ length: 300 }, (_, n) => `${n}`).filter(() => random.next() < 0.05)
      for (const id of gone) deleted.add(id)
      await things.delete(gone)
      // Takes ordinals that are free.
      await things.upsert([object(1_000 + deleted.size)])
      if (random.next() < 0.5) await (random.next() < 0.5 ? things.rebuild() : things.vacuum())
    })
    t.equal(new Set(seen).size, seen.length, `seed ${seed}: no object is on two pages`)
    const missing = Array.from({ length: 300 }, (_, n) => `${n}`).filter((id) => !deleted.has(id) && !seen.includes(id))
    t.same(missing, [], `seed ${seed}: none is missing`)
  }
})

test('a cursor whose position is not known any more is refused', async (t) => {
  const { dataDir, engine, things } = await fill(t, 100)
  const { cursor } = await things.scroll({ limit: 10 })
  for (let rebuild = 0; rebuild < 4; rebuild++) await things.rebuild()
  t.equal((await things.scroll({ limit: 10, cursor })).objects[0]?.id, '10')
  await things.rebuild()
  const expired = { code: 'cursor_expired', details: { field: 'cursor' } }
  await t.rejects(things.scroll({ limit: 10, cursor }), expired)

  const { cursor: later } = await things.scroll({ limit: 10 })
  await things.rebuild()
  await engine.checkpoint()
  await engine.close()
  const again = await openIn(t, dataDir)
  const reopened = again.database().collection('things')
  await t.rejects(
    reopened.scroll({ limit: 10, cursor: later }),
    expired,
    'the checkpoint does not have the order of before',
  )
  const { cursor: newest } = await reopened.scroll({ limit: 10 })
  await again.database().deleteCollection('things')
  const other = await again.database().createCollection({ name: 'things', fields })
  await other.upsert(Array.from({ length: 100 }, (_, n) => object(n)))
  await t.rejects(other.scroll({ limit: 10, cursor: newest }), expired, 'a collection with the name of a deleted one')
})

test('a cursor of an earlier version goes on', async (t) => {
  const { things } = await fill(t, 30)
  t.equal((await things.scroll({ limit: 10, cursor: 'oa' })).objects[0]?.id, '10')
  for (const cursor of ['oa.0', 'oa.0.', 'oa.-1.0', 'o'])
    await t.rejects(things.scroll({ cursor }), {
      code: 'invalid_argument',
      details: { field: 'cursor', value: cursor },
    })
})
