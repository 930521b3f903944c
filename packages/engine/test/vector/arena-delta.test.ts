// A snapshot of a field and the changes since it make the same field, whatever writers do while the changes are copied: a random history
// with rows that are inserted, removed, and reused, sweeps, copies of one row, and cuts that are dropped.
import { setImmediate } from 'node:timers/promises'
import { chosenSeed } from '@annal/wal/testing'
import { type Test, test } from 'tap'
import { sourceOf } from '../../src/memory/sections.ts'
import { type DenseFieldSchema, type Precision, rulesNewest } from '../../src/model/schema.ts'
import { type DenseFieldOptions, loadDenseField, openDenseField } from '../../src/vector/dense/field.ts'
import type { DenseField, FieldCut } from '../../src/vector/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import type { WorkerPool } from '../../src/vector/pool.ts'
import { createRandom } from './world.ts'

const dimension = 24
const seed = chosenSeed()
const rounds = process.env.ANNAL_LONG === '1' ? 40 : 3
const bytesMax = Number.MAX_SAFE_INTEGER
const precisions: readonly Precision[] = ['float32', 'int8', 'int16', 'float16', 'binary', 'int2', 'int4']

interface World {
  readonly definition: DenseFieldSchema
  readonly options: DenseFieldOptions
  readonly field: DenseField
  /** Applies one random event. */
  write(): Promise<void>
}

async function openWorld(pool: WorkerPool, precision: Precision, random: () => number): Promise<World> {
  const rules = random() < 0.3 ? 1 : rulesNewest
  const kinds = random() < 0.5 ? 100 : undefined
  const params = {
    dimension,
    spaceType: 'l2',
    precision,
    M: 4 + Math.floor(random() * 6),
    efConstruction: 24,
    rules,
  } as const
  const definition: DenseFieldSchema = { kind: 'dense', name: 'v', params }
  // Some get heads in the middle of the history, some as soon as they settle.
  const options: DenseFieldOptions = random() < 0.6 ? { headsFrom: 256 + Math.floor(random() * 1500) } : {}
  const field = await openDenseField(definition, pool, options)
  const [live, free] = [new Set<number>(), new Set<number>()]
  let [end, version] = [0, 0]
  const vectorOf = (kind: number) => {
    const next = createRandom(kind + 1)
    return Float32Array.from({ length: dimension }, () => next() - 0.5)
  }
  const write = async () => {
    version++
    const removed = [...live].filter(() => random() < (random() < 0.2 ? 0.2 : 0.01))
    const count = Math.floor(random() * 250)
    const ordinals = Array.from({ length: count }, () => {
      const reused = random() < 0.7 ? [...free][0] : undefined
      if (reused === undefined) return end++
      free.delete(reused)
      return reused
    })
    const vectors = new Float32Array(count * dimension)
    for (let i = 0; i < count; i++) vectors.set(vectorOf(Math.floor(random() * (kinds ?? 2 ** 30))), i * dimension)
    const rows = { ordinals: Uint32Array.from(ordinals), vectors, norms: new Float32Array(count).fill(version) }
    field.reserve(end)
    // Objects without a row in this field are removed, too.
    await field.apply(version, count > 0 ? rows : undefined, Uint32Array.of(...removed, end + 10, end + 20_000))
    await field.sweep(version)
    for (const ordinal of ordinals) live.add(ordinal)
    for (const ordinal of removed) {
      live.delete(ordinal)
      free.add(ordinal)
    }
  }
  return { definition, options, field, write }
}

/** A cut with `writes` events while it is prepared and as many while it is read. */
async function cutAmid({ field, write }: World, writes: number, earlier: string | undefined) {
  const prepared = field.prepareCut(earlier === undefined ? undefined : { id: earlier, bytesMax })
  const ahead = prepared.copyAhead(() => setImmediate())
  for (let i = 0; i < writes; i++) await write()
  await ahead
  if (prepared.isStale()) return prepared.release()
  const digest = field.digest()
  const cut = prepared.take()
  prepared.release()
  const pieces: Uint8Array[] = []
  for (const piece of cut.pieces) {
    pieces.push(piece.slice())
    if (pieces.length % 5 === 1 && pieces.length < 5 * writes) await write()
  }
  return { cut, pieces, digest }
}

async function load(
  { definition, options }: Pick<World, 'definition' | 'options'>,
  pool: WorkerPool,
  chain: readonly Uint8Array[][],
): Promise<DenseField> {
  const [first = [], ...later] = chain
  async function* deltas() {
    for (const pieces of later) yield sourceOf(pieces)
  }
  return loadDenseField(definition, pool, sourceOf(first), { ...options, deltas: deltas() })
}

async function runHistory(t: Test, pool: WorkerPool, precision: Precision, historySeed: number): Promise<number> {
  const random = createRandom(historySeed)
  const world = await openWorld(pool, precision, random)
  let chain: Uint8Array[][] = []
  let name: string | undefined
  let deltas = 0
  for (let step = 0; step < 14; step++) {
    for (let i = Math.floor(random() * 4); i >= 0; i--) await world.write()
    const made = await cutAmid(world, Math.floor(random() * 3), name)
    if (!made) continue
    const { cut, pieces, digest } = made
    // A snapshot that was not written: the next one must not depend on it.
    if (random() < 0.15) {
      cut.release()
      if (cut.isDelta) name = undefined
      continue
    }
    chain = cut.isDelta ? [...chain, pieces] : [pieces]
    if (cut.isDelta) deltas++
    name = `${historySeed} ${step}`
    cut.written(name)
    cut.release()
    const loaded = await load(world, pool, chain)
    t.equal(loaded.digest(), digest, `step ${step} of ${precision}, seed ${historySeed}, ${chain.length} files`)
    if (random() < 0.2) {
      // A start continues with what it loaded.
      loaded.loadedAs('loaded')
      t.ok((loaded.prepareCut({ id: 'loaded', bytesMax }).take() as FieldCut).isDelta)
    }
    await loaded.close()
  }
  await world.field.close()
  return deltas
}

test(`a snapshot and the changes since it make the same field, seed ${seed}`, async (t) => {
  const pool = await openWorkerPool({ threads: 2 })
  t.teardown(() => pool.close())
  let deltas = 0
  for (let round = 0; round < rounds; round++)
    for (const [i, precision] of precisions.entries())
      deltas += await runHistory(t, pool, precision, seed + 100 * round + i)
  t.ok(deltas > 20 * rounds, `${deltas} of them were changes`)
})

test('a loaded field gives its changes after the events that follow', async (t) => {
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(() => pool.close())
  const random = createRandom(5)
  const world = await openWorld(pool, 'int8', random)
  for (let i = 0; i < 8; i++) await world.write()
  const whole = await cutAmid(world, 0, undefined)
  const loaded = await load(world, pool, [whole?.pieces ?? []])
  loaded.loadedAs('start')
  const rows = {
    ordinals: Uint32Array.of(5_000),
    vectors: new Float32Array(dimension).fill(0.3),
    norms: Float32Array.of(1),
  }
  // No row has the last of them.
  await loaded.apply(1_000, rows, Uint32Array.of(3, 9_000))
  for (const [id, max, isDelta] of [
    ['other', bytesMax, false],
    ['start', 10, false],
    ['start', bytesMax, true],
  ] as const) {
    const cut = loaded.prepareCut({ id, bytesMax: max }).take()
    t.equal(cut.isDelta, isDelta, `${id} ${max}`)
    const pieces = Array.from(cut.pieces, (piece) => piece.slice())
    cut.release()
    const again = await load(world, pool, isDelta ? [whole?.pieces ?? [], pieces] : [pieces])
    t.equal(again.digest(), loaded.digest())
    await again.close()
  }
  t.notOk(loaded.prepareCut({ id: 'start', bytesMax }).take().isDelta, 'the cut before was not written')
  for (const one of [world.field, loaded]) await one.close()
})
