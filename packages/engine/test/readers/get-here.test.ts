// A reader reads objects as their owner does: the same bytes of every kind of field, as of the last acknowledged write.
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { type Collection, type Engine, openEngine } from '@annal/engine'
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import tap, { type Test, test } from 'tap'
import { openDirectory } from '../search/rig.ts'
import { plainObjects, type ReaderThread, startReader } from './reader-thread.ts'

// A loaded machine is slow.
tap.setTimeout(300_000)

const seed = chosenSeed()
const rounds = process.env.ANNAL_LONG === '1' ? 2_000 : 40
const dimension = 8
const params = { dimension, spaceType: 'cosine' } as const
const fields = [
  { name: 'whole', type: 'vector', params: { ...params, precision: 'float32' } },
  { name: 'small', type: 'vector', params: { ...params, precision: 'int8' } },
  { name: 'lost', type: 'vector', params: { ...params, precision: 'int8', keepOriginals: false } },
  { name: 'far', type: 'vector', params: { ...params, spaceType: 'l2', precision: 'float16' } },
  { name: 'words', type: 'sparse' },
  { name: 'pages', type: 'multi_vector', params: { ...params, precision: 'int8' } },
] as const

async function open(t: Test): Promise<{ engine: Engine; dataDir: string }> {
  const dataDir = await openDirectory(t)
  const engine = await openEngine({ dataDir, threads: 1, fsync: 'none', readers: 1 })
  t.teardown(() => engine.close())
  return { engine, dataDir }
}

async function compare(t: Test, reader: ReaderThread, things: Collection, ids: readonly string[]): Promise<void> {
  const expected = plainObjects(await things.getMany(ids))
  const found = await reader.do({ kind: 'getHere', collection: things.describe().name, ids })
  t.strictSame(found, expected, ids.join())
}

test(`random objects are read as the owner reads them (ANNAL_SEED=${seed})`, async (t) => {
  const { engine } = await open(t)
  const reader = await startReader(t, engine)
  const things = await engine.database().createCollection({ name: 'things', fields })
  const random = seededRandom(seed)
  const vector = (): number[] => {
    const scale = [1, 1, 3, 0][random.below(4)] as number
    const given = Array.from({ length: dimension }, () => (random.next() - 0.5) * scale)
    const length = Math.hypot(...given)
    // A third is of unit length, which a float32 field keeps in memory.
    return random.below(3) === 0 && length > 0 ? given.map((x) => x / length) : given
  }
  const idOf = () =>
    `${['a', 'ä', '\u{1f3ac}', 'an id that is longer than one block '][random.below(4)]}${random.below(400)}`
  const values: { readonly [name: string]: () => unknown } = {
    whole: () => (random.below(4) === 0 ? { vector: vector(), norm: 2 } : vector()),
    small: vector,
    lost: vector,
    far: vector,
    words: () => ({ indices: [random.below(9), 10 + random.below(9)], values: [1, random.next() - 0.5] }),
    pages: () => Array.from({ length: 1 + random.below(3) }, vector),
  }
  const someFields = () => {
    const chosen = Object.keys(values).filter(() => random.below(3) > 0)
    const names = chosen.length > 0 ? chosen : ['whole']
    return Object.fromEntries(names.map((name) => [name, values[name]?.()]))
  }
  for (let round = 0; round < rounds; round++) {
    const ids = [...new Set(Array.from({ length: 1 + random.below(60) }, idOf))]
    const kind = random.below(10)
    if (kind < 6) {
      const meta = (i: number) => (i % 3 === 0 ? {} : { meta: { round, text: 'x'.repeat(random.below(300)) } })
      const filter = (i: number) => (i % 4 === 0 ? {} : { filter: { round, text: 'y'.repeat(random.below(50)) } })
      await things.upsert(ids.map((id, i) => ({ id, ...meta(i), ...filter(i), fields: someFields() })) as never)
    } else if (kind < 8) await things.delete(ids)
    else if (kind < 9) await things.updateFilters(ids.map((id) => ({ id, filter: { updated: round } })))
    else if (round % 3 === 0) await things.rebuild({ small: { M: 4 + random.below(8) } })
    else await things.vacuum()
    await compare(t, reader, things, [...ids.slice(0, 5), idOf(), idOf(), ids[0] as string])
  }
})

test('a table of ids that grows is read whole', async (t) => {
  const { engine } = await open(t)
  const reader = await startReader(t, engine)
  const things = await engine.database().createCollection({ name: 'things', fields: [fields[4]] })
  const words = { indices: [1], values: [1] }
  // The first page grows from 64 slots to 4,096, and is split several times afterwards.
  for (let from = 0; from < 12_000; from += 1_000) {
    const step = from < 1_000 ? 50 : 1_000
    for (let first = from; first < from + 1_000; first += step)
      await things.upsert(Array.from({ length: step }, (_, i) => ({ id: `${first + i}`, fields: { words } })))
    const ids = Array.from({ length: 40 }, (_, i) => `${(i * 7919) % (from + 2_000)}`)
    await compare(t, reader, things, ids)
  }
})

test('what a reader cannot read is left to the owner', async (t) => {
  const { engine, dataDir } = await open(t)
  const reader = await startReader(t, engine)
  const things = await engine.database().createCollection({ name: 'things', fields: [fields[1]] })
  const [small] = [Array.from({ length: dimension }, (_, i) => i)]
  await things.upsert([{ id: 'a', meta: { text: 'x'.repeat(2_000) }, fields: { small } }] as never)
  const get = (ids: readonly string[], bytesMax?: number) =>
    reader.do({ kind: 'getHere', collection: 'things', ids, ...(bytesMax !== undefined && { bytesMax }) })
  t.match(await get(['a']), [{ id: 'a' }])
  t.equal(await get(['a'], 2_000), undefined, 'too large')
  for (const id of ['', 'x'.repeat(100_000), '\ud800']) t.equal(await get([id]), undefined, 'an id that is refused')
  t.strictSame(await get(['b']), [])
  // The file is open, so what was written can be read without its name.
  await rm(join(dataDir, 'originals'), { recursive: true })
  t.match(await get(['a']), [{ id: 'a' }])
  const other = await startReader(t, engine).catch(() => undefined)
  t.equal(other, undefined, 'the engine has one reader')
  await reader.worker.terminate()
})
