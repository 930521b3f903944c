// Heads in a whole field: from one number of ordinals on every row has one, the same with any number of threads; they change how many codes a
// search compares and not what it finds; and every thread that attaches the memory uses them.
import { readFileSync, writeFileSync } from 'node:fs'
import { chosenSeed } from '@annal/wal/testing'
import { test } from 'tap'
import { sourceOf } from '../../src/memory/sections.ts'
import type { DenseFieldSchema, SpaceType } from '../../src/model/schema.ts'
import { AttachedArena } from '../../src/vector/dense/attached.ts'
import { type GraphDenseField, loadDenseField, openDenseField } from '../../src/vector/dense/field.ts'
import { graphQuery } from '../../src/vector/dense/graph-query.ts'
import { header } from '../../src/vector/dense/header.ts'
import { instantiateKernel } from '../../src/vector/dense/kernel.ts'
import { Segment } from '../../src/vector/dense/segment.ts'
import { shapeOf } from '../../src/vector/dense/shape.ts'
import { VectorRows } from '../../src/vector/dense/vector-rows.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { answerIn, type WorkerPool } from '../../src/vector/pool.ts'
import { clusteredRows, createRandom, definitionOf, dumpField, normalize, rowsOf, similarity } from './world.ts'

const seed = chosenSeed()
const none = new Uint32Array(0)

function definitionWith(more: Partial<DenseFieldSchema['params']> = {}): DenseFieldSchema {
  return definitionOf({ dimension: 64, precision: 'int8', M: 8, efConstruction: 48, rules: 4, ...more })
}

/** Rows are inserted, removed, and their ordinals reused, before and after rows have heads. */
async function fill(field: GraphDenseField, vectors: Float32Array, dimension: number): Promise<void> {
  const n = vectors.length / dimension
  const step = Math.ceil(n / 8)
  let version = 0
  for (let from = 0; from < n; from += step)
    await field.apply(++version, rowsOf(vectors, dimension, from, Math.min(n, from + step)), none)
  const gone = Uint32Array.from({ length: 60 }, (_, i) => i * 7)
  await field.apply(++version, undefined, gone)
  const again = { ...rowsOf(vectors, dimension, 0, 60), ordinals: gone }
  await field.apply(++version, again, none)
}

const lastVersion = 10

test('one log gives the same heads with 1, 2, and 4 threads, and a snapshot has them', async (t) => {
  const definition = definitionWith()
  const vectors = clusteredRows(2000, 64, seed)
  const digests = new Set<bigint>()
  for (const threads of [1, 2, 4]) {
    const pool = await openWorkerPool({ threads })
    const options = { headsFrom: 900 }
    const field = await openDenseField(definition, pool, options)
    await fill(field, vectors, 64)
    t.ok(field.bytes().heads, 'rows have heads')
    digests.add(field.digest())
    const loaded = await loadDenseField(definition, pool, sourceOf([await dumpField(field)]), options)
    t.equal(loaded.digest(), field.digest())
    // Both continue alike: new rows get heads by the projection that was loaded.
    for (const one of [field, loaded]) await one.apply(lastVersion + 1, rowsOf(vectors, 64, 0, 100, 2000), none)
    t.equal(loaded.digest(), field.digest())
    await Promise.all([field.close(), loaded.close()])
    await pool.close()
  }
  t.equal(digests.size, 1)
})

test('graphs are the same with and without heads', async (t) => {
  const pool = await openWorkerPool({ threads: 2 })
  t.teardown(() => pool.close())
  const vectors = clusteredRows(1500, 64, seed + 1)
  const fields = await Promise.all(
    [undefined, 400].map((headsFrom) =>
      openDenseField(definitionWith(), pool, headsFrom === undefined ? {} : { headsFrom }),
    ),
  )
  for (const field of fields) await fill(field, vectors, 64)
  const [plain, withHeads] = fields as [GraphDenseField, GraphDenseField]
  t.notOk(plain.bytes().heads)
  for (let id = 0; id < 1500; id++) t.same(plain.links(id), withHeads.links(id))
  for (const field of fields) await field.close()
})

/** Rows of few dimensions in many, with noise: like embeddings, most of their variance has few directions. */
function embeddingLike(n: number, dimension: number, rowSeed: number): Float32Array {
  const random = createRandom(rowSeed)
  const gauss = () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random())
  const directions = Float32Array.from({ length: 48 * dimension }, gauss)
  const inner = clusteredRows(n, 48, rowSeed + 1, 60)
  const rows = new Float32Array(n * dimension)
  for (let i = 0; i < n; i++)
    for (let j = 0; j < dimension; j++) {
      let sum = 6 * gauss()
      for (let k = 0; k < 48; k++)
        sum += ((inner[i * 48 + k] as number) / (1 + k / 8)) * (directions[k * dimension + j] as number)
      rows[i * dimension + j] = sum
    }
  return rows
}

for (const spaceType of ['l2', 'ip', 'cosine'] satisfies SpaceType[])
  test(`${spaceType}: searches compare fewer codes with heads and find as much, filtered ones too`, async (t) => {
    const [dimension, n, queries] = [160, 3000, 40]
    const vectors = embeddingLike(n + queries, dimension, 7)
    if (spaceType !== 'l2') normalize(vectors, dimension)
    const pool = await openWorkerPool({ threads: 2 })
    t.teardown(() => pool.close())
    const definition = definitionWith({ dimension, spaceType, M: 16, efConstruction: 64 })
    const found: { hits: number; distances: number }[] = []
    for (const options of [{}, { headsFrom: 1500 }]) {
      const field = await openDenseField(definition, pool, options)
      for (let i = 0; i < 3; i++) await field.apply(i + 1, rowsOf(vectors, dimension, i * 1000, (i + 1) * 1000), none)
      for (const share of [1, 4]) {
        const words = new Uint32Array(new SharedArrayBuffer(Math.ceil(n / 32) * 4)).fill(0x11111111)
        const matches = Array.from({ length: n }, (_, id) => id).filter((id) => id % share === 0)
        let [hits, distances] = [0, 0]
        for (let q = 0; q < queries; q++) {
          const query = vectors.subarray((n + q) * dimension, (n + q + 1) * dimension)
          const rowOf = (id: number) => vectors.subarray(id * dimension, (id + 1) * dimension)
          const scored = matches
            .map((id) => [similarity(spaceType, query, rowOf(id)), id] as const)
            .sort((a, b) => b[0] - a[0])
          const best = new Set(scored.slice(0, 10).map(([, id]) => id))
          const answer = field.searchSync(query, {
            k: 10,
            ef: 48,
            version: 3,
            ...(share > 1 && { allowed: { words } }),
          })
          hits += [...answer.ordinals].filter((id) => best.has(id)).length
          distances += answer.distances
        }
        found.push({ hits: hits / queries / 10, distances })
      }
      await field.close()
    }
    const [plain, plainFiltered, withHeads, withHeadsFiltered] = found as [Found, Found, Found, Found]
    t.comment(JSON.stringify(found))
    t.ok(withHeads.hits >= plain.hits - 0.01)
    t.ok(withHeadsFiltered.hits >= plainFiltered.hits - 0.01)
    t.ok(withHeads.distances < 0.8 * plain.distances)
    t.ok(withHeadsFiltered.distances < plainFiltered.distances)
  })

interface Found {
  readonly hits: number
  readonly distances: number
}

test('another thread that attached the memory before rows had heads uses them', async (t) => {
  const pool = await openWorkerPool({ threads: 1, readers: 1 })
  t.teardown(() => pool.close())
  const [dimension, n] = [128, 3000]
  const vectors = embeddingLike(n, dimension, 3)
  const segment = new Segment(definitionWith({ dimension }).params, pool, undefined, { headsFrom: 2000 })
  const insert = async (from: number, to: number) => {
    segment.reserve(to)
    await segment.insert({
      ordinals: Uint32Array.from({ length: to - from }, (_, i) => from + i),
      births: new Uint32Array(to - from).fill(1),
      norms: new Float32Array(to - from).fill(1),
      vectors: new VectorRows(vectors.subarray(from * dimension, to * dimension), dimension),
    })
  }
  await insert(0, 1900)
  const reader = new AttachedArena(segment.arena.handle, pool.module, 1)
  const compare = () => {
    let distances = 0
    for (let i = 0; i < 20; i++) {
      const query = vectors.subarray(i * 90 * dimension, (i * 90 + 1) * dimension)
      const request = graphQuery(
        { memory: segment.arena.id, rows: segment.rows, isCutOff: false },
        query,
        { k: 10, ef: 40, version: 1 },
        undefined,
      )
      const [own, other] = [answerIn(segment.arena.attached, request), answerIn(reader, request)]
      t.same(other, own)
      distances += other.distances
    }
    return distances
  }
  const before = compare()
  await insert(1900, n)
  t.ok(segment.arena.hasHeads)
  t.ok(compare() < before, 'with more rows, fewer codes are compared')
  segment.close()
})

test('rows by earlier rules have no heads, and neither have small or binary codes', (t) => {
  const params = definitionWith({ dimension: 768 }).params
  t.equal(shapeOf(params, 'int8').headBytes, 128)
  t.equal(shapeOf(params, 'float32').headsFrom, Math.ceil((24 * 2 ** 20) / 784))
  t.equal(shapeOf({ ...params, rules: 3 }, 'int8').headBytes, 0)
  t.equal(shapeOf({ ...params, dimension: 384 }, 'int8').headBytes, 0)
  t.equal(shapeOf(params, 'binary').headBytes, 0)
  t.end()
})

async function goldenField(pool: WorkerPool): Promise<GraphDenseField> {
  const field = await openDenseField(definitionWith({ dimension: 20 }), pool, { headsFrom: 300 })
  await fill(field, clusteredRows(420, 20, 4), 20)
  return field
}

test('the golden field with heads is written byte for byte, and damage of it is found', async (t) => {
  const file = new URL('../golden/dense-4.bin', import.meta.url)
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(() => pool.close())
  const field = await goldenField(pool)
  const written = await dumpField(field)
  if (process.env.ANNAL_GOLDEN === 'write') writeFileSync(file, written)
  const golden = readFileSync(file)
  t.ok(written.equals(golden), 'the same bytes')
  const { definition } = field
  const loaded = await loadDenseField(definition, pool, sourceOf([golden]), { headsFrom: 300 })
  t.equal(loaded.digest(), field.digest())
  const lanes = 32
  const projection = 40 + 32 + lanes * 4
  const damages: readonly (readonly [string, number, number])[] = [
    ['another kind', 40, 1],
    ['an unknown kind', 40, 3],
    ['a direction', projection + 5, 0x80],
  ]
  for (const [what, place, value] of damages) {
    const damaged = Buffer.from(golden)
    damaged[place] = value
    await t.rejects(
      loadDenseField(definition, pool, sourceOf([damaged]), { headsFrom: 300 }),
      { code: 'snapshot_damaged' },
      what,
    )
  }
  await t.rejects(loadDenseField(definition, pool, sourceOf([golden]), { headsFrom: 500 }), {
    code: 'snapshot_damaged',
  })
  await Promise.all([field.close(), loaded.close()])
})

test('every value of a loaded head has seven bits', async (t) => {
  const pool = await openWorkerPool({ threads: 1 })
  t.teardown(() => pool.close())
  const field = await goldenField(pool)
  const segment = (field as unknown as { segments: readonly { arena: { memory: WebAssembly.Memory } }[] }).segments[0]
  const memory = segment?.arena.memory as WebAssembly.Memory
  const words = new Uint32Array(memory.buffer)
  const heads = words[(words[header.address / 4 + header.headTable] as number) / 4] as number
  const kernel = instantiateKernel(pool.module, memory)
  kernel.attach(1)
  t.equal(kernel.firstUnsound() >>> 0, 0xffffffff)
  const bytes = new Uint8Array(memory.buffer)
  for (const [row, byte] of [
    [5, 0],
    [17, 31],
  ] as const) {
    const place = heads + row * 128 + byte
    const before = bytes[place] as number
    bytes[place] = 0x90
    t.equal(kernel.firstUnsound(), row)
    bytes[place] = before
  }
  await field.close()
})
