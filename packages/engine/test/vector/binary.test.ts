// Fields of codes of rotated vectors: reported similarities are valid for any vectors and have the expected error.
import fc from 'fast-check'
import tap, { test } from 'tap'
import type { SpaceType } from '../../src/model/schema.ts'
import { clampSimilarities, similarityRangeOf } from '../../src/search/similarity-range.ts'
import { openDenseField } from '../../src/vector/dense/field.ts'
import { openWorkerPool } from '../../src/vector/open-pool.ts'
import { clusteredRows, definitionOf, exactNearest, normalize, recall, rowsOf, similarity } from './world.ts'

tap.setTimeout(300_000)

const seed = Number(process.env.ANNAL_SEED ?? 1)
const nothing = new Uint32Array(0)
const pool = await openWorkerPool({ threads: 2 })
tap.teardown(() => pool.close())

const spaces: SpaceType[] = ['l2', 'ip', 'cosine']
const precisions = ['binary', 'int2', 'int4'] as const
type Rotated = (typeof precisions)[number]
const cases = precisions.flatMap((precision) => spaces.map((spaceType) => ({ precision, spaceType })))
const definition = (precision: Rotated, dimension: number, spaceType: SpaceType) =>
  definitionOf({ dimension, spaceType, precision, rules: 3 })

/**
 * The expected error of a product, times the root of the number of components, by the share e of a component's square that its code loses:
 * sqrt(1 / (1 - e) - 1). For signs e is 1 - 2 / pi, for 2 bits that of the best even steps, for 4 bits about that of steps up to the largest.
 */
const errorOf = { binary: Math.sqrt(Math.PI / 2 - 1), int2: Math.sqrt(1 / 0.8812 - 1), int4: Math.sqrt(1 / 0.987 - 1) }
const componentsMin = { binary: 256, int2: 128, int4: 64 }
const componentsStep = { binary: 128, int2: 64, int4: 32 }

/** A field at its own precision: enough rows to settle, starting with the given ones. */
async function fieldOf(precision: Rotated, spaceType: SpaceType, given: Float32Array, dimension: number) {
  const n = 300
  const rows = clusteredRows(n, dimension, 3)
  rows.set(given)
  if (spaceType === 'cosine') normalize(rows, dimension)
  const field = await openDenseField(definition(precision, dimension, spaceType), pool)
  await field.apply(1, rowsOf(rows, dimension, 0, n), nothing)
  return { field, rows, n }
}

for (const { precision, spaceType } of cases)
  test(`${precision} ${spaceType}: clamped similarities are in the range of the metric (seed ${seed})`, async (t) => {
    const most = Math.fround(1e15)
    const number = fc.oneof(fc.constantFrom(0, 1e-30, 1, -1, most), fc.float({ noNaN: true, min: -most, max: most }))
    const vectors = fc.integer({ min: 2, max: 24 }).chain((dimension) =>
      fc.record({
        dimension: fc.constant(dimension),
        rows: fc.array(fc.array(number, { minLength: dimension, maxLength: dimension }), {
          minLength: 3,
          maxLength: 12,
        }),
      }),
    )
    await fc.assert(
      fc.asyncProperty(vectors, async ({ dimension, rows: given }) => {
        const { field, n } = await fieldOf(precision, spaceType, Float32Array.from(given.flat()), dimension)
        const own = Float32Array.from(given.flat())
        if (spaceType === 'cosine') normalize(own, dimension)
        for (let i = 0; i < 3; i++) {
          // The query is a row itself, so no row can be nearer.
          const query = own.subarray(i * dimension, (i + 1) * dimension)
          const answers = [
            await field.search(query, { k: 50, ef: 64, version: 1 }),
            await field.search(query, { k: 50, ef: 64, version: 1, compared: n }),
            await field.scan(query, { k: n, version: 1 }),
          ]
          for (const { similarities } of answers)
            clampSimilarities(similarities, similarityRangeOf(field.definition.params))
          for (const { similarities } of answers)
            for (const [index, value] of similarities.entries()) {
              const isRange = spaceType === 'ip' ? Number.isFinite(value) : value <= (spaceType === 'l2' ? 0 : 1)
              const isIn = isRange && Number.isFinite(value) && (spaceType !== 'cosine' || value >= -1)
              const isSorted = index === 0 || value <= (similarities[index - 1] as number)
              if (!isIn || !isSorted) throw new Error(`${value} at place ${index}`)
            }
        }
        await field.close()
      }),
      { seed, numRuns: process.env.ANNAL_LONG ? 300 : 15 },
    )
    t.pass()
  })

for (const { precision, spaceType } of cases)
  test(`${precision} ${spaceType}: estimates are unbiased with the expected error, and walks find what scans find`, async (t) => {
    for (const dimension of [48, 300]) {
      const n = 2_000
      const rows = clusteredRows(n, dimension, 7, 200)
      const queries = clusteredRows(20, dimension, 7, 200)
      if (spaceType === 'cosine') for (const set of [rows, queries]) normalize(set, dimension)
      const field = await openDenseField(definition(precision, dimension, spaceType), pool)
      for (let i = 0; i < n; i += 500) await field.apply(i / 500 + 1, rowsOf(rows, dimension, i, i + 500), nothing)
      const version = n / 500
      const center = Float32Array.from({ length: dimension }, (_, j) => {
        let sum = 0
        for (let i = 0; i < 500; i++) sum += rows[i * dimension + j] as number
        return sum / 500
      })
      const distanceToCenter = (a: Float32Array) => Math.sqrt(-similarity('l2', a, center))
      const step = componentsStep[precision]
      const components = Math.max(componentsMin[precision], Math.ceil(dimension / step) * step)
      let [sum, squares, count, found, walked] = [0, 0, 0, 0, 0]
      for (let i = 0; i < 20; i++) {
        const query = queries.subarray(i * dimension, (i + 1) * dimension)
        const scanned = await field.scan(query, { k: n, version })
        for (const [index, ordinal] of scanned.ordinals.entries()) {
          const row = rows.subarray(ordinal * dimension, (ordinal + 1) * dimension)
          const error = (scanned.similarities[index] as number) - similarity(spaceType, query, row)
          // In units of the expected error, which is a share of the product of lengths.
          const lengths = distanceToCenter(query) * distanceToCenter(row)
          const unit = (lengths * errorOf[precision]) / Math.sqrt(components)
          const relative = error / unit / (spaceType === 'l2' ? 2 : 1)
          sum += relative
          squares += relative ** 2
          count++
        }
        const truth = exactNearest(spaceType, rows, dimension, query, 10)
        const byWalk = await field.search(query, { k: 128, ef: 128, version })
        const best = new Set(byWalk.ordinals)
        found += truth.filter(({ ordinal }) => best.has(ordinal)).length / 200
        const compared = await field.search(query, { k: 128, ef: 128, version, compared: n })
        walked += recall(byWalk, exactOf(compared)) / 20
      }
      const mean = sum / count
      const deviation = Math.sqrt(squares / count - mean ** 2)
      t.ok(Math.abs(mean) < 0.15, `${dimension} dimensions: mean ${mean.toFixed(3)}`)
      t.ok(deviation > 0.6 && deviation < 1.25, `deviation ${deviation.toFixed(3)} of what theory says`)
      t.ok(found >= 0.97, `${found.toFixed(3)} of the true ten among 128`)
      t.ok(walked >= 0.9, `${walked.toFixed(3)} of what comparing finds`)
      await field.close()
    }
  })

function exactOf({ ordinals, similarities }: { ordinals: Uint32Array; similarities: Float32Array }) {
  return Array.from(ordinals, (ordinal, i) => ({ ordinal, similarity: similarities[i] as number }))
}
