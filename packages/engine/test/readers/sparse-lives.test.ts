// A reader searches sparse fields in every state of their life as the owner does, and leaves none of these searches to it: without rows, with
// the first rows, after every row was removed and left the lists, with indices that come back, after a rebuild, a vacuum, and a restart.
import { type Collection, openEngine, type SearchRequest } from '@annal/engine'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { openDirectory } from '../search/rig.ts'
import { plainResults, type ReaderThread, startReader } from './reader-thread.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

const seed = chosenSeed()
const objects = 600
/** Removed rows leave the lists within as many versions. */
const versionsUntilPurged = 20

const fields = [
  { name: 'v', type: 'vector', params: { dimension: 4, spaceType: 'l2', precision: 'float32' } },
  { name: 'words', type: 'sparse' },
  { name: 'rare', type: 'sparse', params: { model: 'endee_bm25' } },
] as const

test(`sparse fields are searched in every state of their life (ANNAL_SEED=${seed})`, async (t) => {
  const dataDir = await openDirectory(t)
  const open = () => openEngine({ dataDir, threads: 1, fsync: 'none', readers: 1 })
  const random = seededRandom(seed)
  const vector = () => Array.from({ length: 4 }, () => random.next())
  const terms = (count: number) => {
    const indices = [...new Set(Array.from({ length: count }, () => random.below(1 + random.below(5_000))))]
    return { indices, values: indices.map(() => 0.1 + random.next()) }
  }
  const searches = (): SearchRequest[] => {
    const [words, rare] = [{ query: terms(8) }, { query: terms(8), limit: 7 }]
    return [
      { fields: { words } },
      { fields: { rare }, filter: [{ third: { $eq: random.below(3) } }] },
      { fields: { rare, v: { query: vector() } }, fusion: { method: 'rrf' } },
      { fields: { words, rare }, includeVectors: true },
    ]
  }
  const check = async (reader: ReaderThread, things: Collection, state: string) => {
    for (let i = 0; i < 5; i++) await compare(t, { reader, things, requests: searches(), state })
  }
  const upsert = (things: Collection, from: number, to: number, names: readonly ('words' | 'rare')[]) =>
    things.upsert(
      Array.from({ length: to - from }, (_, i) => ({
        id: `${from + i}`,
        filter: { third: i % 3 },
        fields: { v: vector(), ...Object.fromEntries(names.map((name) => [name, terms(1 + random.below(20))])) },
      })) as never,
    )

  let engine = await open()
  let reader = await startReader(t, engine)
  let things: Collection = await engine.database().createCollection({ name: 'things', fields })
  await check(reader, things, 'an empty collection')
  await upsert(things, 0, 50, [])
  await check(reader, things, 'fields without rows')
  await upsert(things, 0, 1, ['words'])
  await check(reader, things, 'one field with one row')
  await upsert(things, 10, objects, ['words', 'rare'])
  await check(reader, things, 'rows')
  await things.delete(Array.from({ length: objects }, (_, i) => `${i}`))
  await check(reader, things, 'removed rows')
  for (let i = 0; i < versionsUntilPurged; i++) await upsert(things, 0, 1, [])
  await check(reader, things, 'no rows and no terms')
  await upsert(things, 0, objects, ['words', 'rare'])
  await check(reader, things, 'indices that came back')
  await things.rebuild({ v: { M: 8 } })
  await check(reader, things, 'a rebuilt collection')
  await things.delete(Array.from({ length: objects / 2 }, (_, i) => `${i}`))
  await things.vacuum()
  await check(reader, things, 'a vacuumed collection')
  await engine.checkpoint()
  await upsert(things, 100, 200, ['rare'])
  for (const state of ['a restart with records to apply', 'a restart from a checkpoint']) {
    await engine.close()
    engine = await open()
    things = await engine.database().collection('things')
    reader = await startReader(t, engine)
    await check(reader, things, state)
    await upsert(things, 0, 30, ['words'])
    await check(reader, things, `rows after ${state}`)
    await engine.checkpoint()
  }
  await engine.close()
})

interface Comparison {
  readonly reader: ReaderThread
  readonly things: Collection
  readonly requests: readonly SearchRequest[]
  readonly state: string
}

async function compare(t: Test, { reader, things, requests, state }: Comparison): Promise<void> {
  const call = { kind: 'batchHere', collection: 'things', requests } as const
  // The first search that needs a file is left to the owner, which opens it.
  let found: unknown
  for (let attempt = 0; attempt < 60 && found === undefined; attempt++) found = await reader.do(call)
  const expected = plainResults(await things.searchBatch(requests as never))
  const isSame = JSON.stringify(found) === JSON.stringify(expected)
  if (isSame) t.pass(state)
  else t.strictSame(found, expected, `${state}: ${JSON.stringify(requests)}`)
}
