// Rows that a walk cannot distinguish are one node. The recall of a default walk does not depend on the number and order of copies, copies
// are returned by ordinal if they are the nearest, and the bytes do not depend on threads or on saving and loading.
import tap, { type Test, test } from 'tap'
import { Bitmap } from '../../src/memory/bitmap.ts'
import { sourceOf } from '../../src/memory/sections.ts'
import type { DenseFieldSchema, Precision, SpaceType } from '../../src/model/schema.ts'
import { type GraphDenseField, loadDenseField, openDenseField } from '../../src/vector/dense/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'

import { createRandom, definitionOf, dumpField, normalize, rowsOf } from './world.ts'

tap.setTimeout(300_000)

const spaces: readonly SpaceType[] = ['cosine', 'l2', 'ip']
const precisions: readonly Precision[] = ['binary', 'int2', 'int4', 'int8', 'int16', 'float16', 'float32']
const nothing = new Uint32Array(0)
const pool = await openWorkerPool({ threads: 2 })
tap.teardown(() => pool.close())

function gaussian(n: number, dimension: number, seed: number): Float32Array {
  const random = createRandom(seed)
  return Float32Array.from(
    { length: n * dimension },
    () => Math.sqrt(-2 * Math.log(1 - random())) * Math.cos(2 * Math.PI * random()),
  )
}

function joined(...parts: readonly Float32Array[]): Float32Array {
  const all = new Float32Array(parts.reduce((sum, { length }) => sum + length, 0))
  let offset = 0
  for (const part of parts) {
    all.set(part, offset)
    offset += part.length
  }
  return all
}

function copies(row: Float32Array, n: number, noise = 0, seed = 1): Float32Array {
  const random = createRandom(seed)
  return Float32Array.from({ length: n * row.length }, (_, i) => {
    const value = row[i % row.length] ?? 0
    return noise === 0 ? value : value + noise * (2 * random() - 1)
  })
}

function shuffled(rows: Float32Array, dimension: number, seed: number): Float32Array {
  const random = createRandom(seed)
  const n = rows.length / dimension
  const order = Array.from({ length: n }, (_, i) => i)
  for (let i = n - 1; i > 0; i--) {
    const j = Math.floor(random() * (i + 1))
    ;[order[i], order[j]] = [order[j] as number, order[i] as number]
  }
  return joined(...order.map((i) => rows.subarray(i * dimension, (i + 1) * dimension)))
}

async function filled(definition: DenseFieldSchema, rows: Float32Array): Promise<GraphDenseField> {
  const { dimension } = definition.params
  const field = await openDenseField(definition, pool)
  for (let from = 0, n = rows.length / dimension; from < n; from += 500)
    await field.apply(1 + from / 500, rowsOf(rows, dimension, from, Math.min(n, from + 500)), nothing)
  return field
}

const [dimension, ef, k] = [24, 128, 10]
const version = 1e6

/** Recall of a default walk at the field's precision; rows as similar as the tenth best count. */
async function recallOf(field: GraphDenseField, queries: Float32Array): Promise<number> {
  let [found, wanted] = [0, 0]
  for (let i = 0; i < queries.length; i += dimension) {
    const query = queries.subarray(i, i + dimension)
    const exact = await field.scan(query, { k, version })
    const last = exact.similarities.at(-1) ?? 0
    const hits = field.searchSync(query, { k, ef, version })
    found += hits.similarities.filter((similarity) => similarity >= last - Math.abs(last) * 1e-6).length
    wanted += exact.ordinals.length
  }
  return found / wanted
}

const unique = gaussian(700, dimension, 3)
const queries = gaussian(60, dimension, 4)
const rowAt = (i: number) => unique.subarray(i * dimension, (i + 1) * dimension)
const kinds = joined(...Array.from({ length: 20 }, (_, i) => copies(rowAt(i * 31), 100)))
const sets: Readonly<Record<string, Float32Array>> = {
  'copies last': joined(unique, copies(rowAt(5), 2_000)),
  'copies first': joined(copies(rowAt(5), 2_000), unique),
  'copies shuffled': shuffled(joined(unique, copies(rowAt(5), 2_000)), dimension, 8),
  'ten copies': joined(unique, copies(rowAt(5), 10)),
  'twenty kinds': joined(unique, kinds),
  'near copies': joined(unique, copies(rowAt(5), 2_000, 1e-6)),
  'zero vectors first': joined(new Float32Array(2_000 * dimension), unique),
  'zero vectors last': joined(unique, new Float32Array(2_000 * dimension)),
}

for (const spaceType of spaces)
  test(`${spaceType}: a default walk has the same recall with and without copies, for every precision`, async (t) => {
    const prepared = (rows: Float32Array) => {
      const own = rows.slice()
      if (spaceType === 'cosine') normalize(own, dimension)
      return own
    }
    const query = prepared(queries)
    for (const [i, precision] of precisions.entries()) {
      const definition = definitionOf({ dimension, precision, spaceType, rules: 2 })
      const plain = await filled(definition, prepared(unique))
      const before = await recallOf(plain, query)
      await plain.close()
      for (const [index, [name, rows]] of Object.entries(sets).entries()) {
        // Every set with one precision, and every precision with two sets.
        if (precision !== 'float32' && index % precisions.length !== i) continue
        const field = await filled(definition, prepared(rows))
        const after = await recallOf(field, query)
        t.ok(after >= before - 0.005, `${precision}, ${name}: ${after.toFixed(4)}, without copies ${before.toFixed(4)}`)
        t.equal(field.health().unreachable, 0)
        await field.close()
      }
    }
  })

test('copies are returned by ordinal if they are the nearest, without removed and filtered ones', async (t) => {
  for (const precision of precisions) {
    const field = await filled(definitionOf({ dimension, precision, rules: 2 }), sets['copies last'] as Float32Array)
    const query = rowAt(5)
    const all = [5, ...Array.from({ length: 2_000 }, (_, i) => 700 + i)]
    const ask = async (
      wanted: readonly number[],
      as: { k: number; allowed?: Bitmap; compared?: number },
      readVersion = version,
    ) => {
      const hits = await field.search(query, { ef, version: readVersion, ...as })
      t.strictSame([...hits.ordinals], wanted.slice(0, as.k), `${precision}, ${as.k}, ${as.compared ?? 'walk'}`)
    }
    await ask(all, { k: 1 })
    await ask(all, { k: 300 })
    await ask(all, { k: 300, compared: 2_700 })
    const even = Bitmap.from(Array.from({ length: 1_350 }, (_, i) => 2 * i))
    const evenOnes = all.filter((ordinal) => ordinal % 2 === 0)
    await ask(evenOnes, { k: 40, allowed: even })
    await ask(evenOnes, { k: 40, allowed: even, compared: even.count })
    const few = Bitmap.from([0, 1, 2, 3, 2_001, 2_400, 2_650])
    await ask([2_001, 2_400, 2_650], { k: 3, allowed: few })
    await ask([2_001, 2_400, 2_650], { k: 3, allowed: few, compared: 7 })
    // The leader first, then most of the rest.
    await field.apply(100, undefined, Uint32Array.from([5, 701, 702]))
    const left = all.filter((ordinal) => ![5, 701, 702].includes(ordinal))
    await ask(left, { k: 20 })
    await ask(all, { k: 20 }, 99)
    await field.apply(101, undefined, Uint32Array.from(left.slice(0, 1_990)))
    await field.sweep(101)
    await ask(left.slice(1_990), { k: 7 })
    t.equal(field.health().unreachable, 0)
    await field.close()
  }
})

/** A history of a field from a seed: rows of a few kinds and others, removed, and their ordinals reused. */
function* history(seed: number, steps: number) {
  const random = createRandom(seed)
  const below = (n: number) => Math.floor(random() * n)
  const kindsOf = gaussian(6, 8, seed)
  let [end, version] = [0, 0]
  const alive = new Set<number>()
  const free: { readonly ordinal: number; readonly since: number }[] = []
  for (let step = 0; step < steps; step++) {
    version++
    const size = 1 + below(step % 7 === 0 ? 300 : 40)
    const ordinals: number[] = []
    for (let i = 0; i < size; i++) {
      const first = free[0]
      if (first !== undefined && first.since < version - 2 && random() < 0.8) {
        free.shift()
        ordinals.push(first.ordinal)
      } else ordinals.push(end++)
    }
    ordinals.sort((a, b) => a - b)
    const vectors = joined(
      ...ordinals.map(() => {
        const start = below(6) * 8
        if (random() < 0.6) return kindsOf.subarray(start, start + 8)
        return random() < 0.1 ? new Float32Array(8) : gaussian(1, 8, below(1e9))
      }),
    )
    const removed = [...alive].filter(() => random() < (step % 11 === 10 ? 0.6 : 0.08))
    for (const ordinal of removed) {
      alive.delete(ordinal)
      free.push({ ordinal, since: version })
    }
    for (const ordinal of ordinals) alive.add(ordinal)
    yield { version, ordinals: Uint32Array.from(ordinals), vectors, removed: Uint32Array.from(removed), alive }
  }
}

async function churned(t: Test, seed: number, spaceType: SpaceType): Promise<void> {
  const definition = definitionOf({ dimension: 8, precision: 'int8', spaceType, M: 4, efConstruction: 32, rules: 2 })
  const single = await openWorkerPool({ threads: 1 })
  const field = await openDenseField(definition, pool)
  let other = await openDenseField(definition, single)
  let [missed, count, unreachable] = [0, 0, 0]
  for (const { version: now, ordinals, vectors, removed, alive } of history(seed, 60)) {
    const query = gaussian(1, 8, now)
    if (spaceType === 'cosine') for (const rows of [vectors, query]) normalize(rows, 8)
    const norms = new Float32Array(ordinals.length).fill(1)
    for (const one of [field, other]) {
      await one.apply(now, { ordinals, vectors, norms }, removed)
      await one.sweep(now)
    }
    if (now % 9 === 0) {
      const bytes = await dumpField(other)
      await other.close()
      other = await loadDenseField(definition, single, sourceOf([bytes]))
    }
    if (field.digest() !== other.digest()) return void t.fail(`seed ${seed}, ${spaceType}: another digest at ${now}`)
    const found = field.searchSync(query, { k: 20, ef: 256, version: now })
    const exact = await field.scan(query, { k: 20, version: now })
    const last = exact.similarities.at(-1) ?? 0
    count += exact.ordinals.length
    missed += found.similarities.filter((similarity) => similarity < last - Math.abs(last) * 1e-6).length
    unreachable = Math.max(unreachable, field.health().unreachable)
    const isOnce = new Set(found.ordinals).size === found.ordinals.length
    const isThere = found.ordinals.every((ordinal) => alive.has(ordinal))
    const isEnough = found.ordinals.length === exact.ordinals.length
    if (!isOnce || !isThere || !isEnough)
      t.fail(`seed ${seed}, ${spaceType}, ${now}: ${JSON.stringify({ isOnce, isThere, isEnough })}`)
  }
  // A graph with 4 links for each row, of which more than half is removed sometimes, is reconnected each time it has grown by a sixteenth.
  if (missed > count * 0.03 || unreachable > 12)
    t.fail(`seed ${seed}, ${spaceType}: ${missed} of ${count} missed, ${unreachable} out of reach at most`)
  await field.close()
  await other.close()
  await single.close()
}

const seeds = process.env.ANNAL_LONG === '1' ? 200 : 4
const firstSeed = Number(process.env.ANNAL_SEED ?? 11)

test(`copies inserted and removed: the same digest with one thread, with two, and after loading, ${seeds} seeds from ${firstSeed}`, async (t) => {
  for (let i = 0; i < seeds; i++) await churned(t, firstSeed + i, spaces[i % 3] as SpaceType)
  t.pass('the same bytes')
})
