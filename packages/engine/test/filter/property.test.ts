import fc from 'fast-check'
import { test } from 'tap'
import { FilterIndex } from '../../src/filter/filter-index.ts'
import { parseFilter } from '../../src/filter/parse-filter.ts'
import { parseFilterValues } from '../../src/filter/values.ts'
import type { JsonObject, JsonValue } from '../../src/json.ts'
import { filterConditionsMax } from '../../src/limits.ts'
import { hashSeed, readerOf, seedOf, written } from '../memory/rig.ts'
import { holds } from './naive.ts'

const key = fc.constantFrom('a', 'b', 'c', '__proto__', 'toString')
const text = fc.oneof(fc.constantFrom('', 'x', 'y', 'é', '1', 'true'), fc.string({ maxLength: 3, unit: 'binary' }))
const time = fc.constantFrom(
  '2024-01-01',
  '2024-01-01T00:00:00Z',
  '2024-06-01T10:00:00+02:00',
  '2024-06-01T08:00:00.250Z',
)
const number = fc.oneof(
  fc.integer({ min: -3, max: 3 }),
  fc.constantFrom(-0, 0.5, 1e300),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
)
const scalar: fc.Arbitrary<string | number | boolean> = fc.oneof(text, time, number, fc.boolean())
const value: fc.Arbitrary<JsonValue> = fc.oneof(
  { weight: 6, arbitrary: scalar },
  { weight: 2, arbitrary: fc.array(fc.oneof(scalar, fc.constant(null)), { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.constantFrom<JsonValue>(null, { inner: 1 }, [[1]]) },
)
const values: fc.Arbitrary<JsonObject> = fc.dictionary(key, value, { maxKeys: 5 })
const ordered = fc.oneof(number, time)
const ascending = fc.oneof(
  fc.tuple(number, number).map(([a, b]) => (a <= b ? [a, b] : [b, a])),
  fc.tuple(time, time).map(([a, b]) => (Date.parse(a) <= Date.parse(b) ? [a, b] : [b, a])),
)
const operator: fc.Arbitrary<JsonObject> = fc.oneof(
  scalar.map(($eq) => ({ $eq })),
  scalar.map(($ne) => ({ $ne })),
  fc.array(scalar, { maxLength: 4 }).map(($in) => ({ $in })),
  fc.array(scalar, { maxLength: 4 }).map(($nin) => ({ $nin })),
  ascending.map(($range) => ({ $range })),
  ordered.map(($gt) => ({ $gt })),
  ordered.map(($gte) => ({ $gte })),
  ordered.map(($lt) => ({ $lt })),
  ordered.map(($lte) => ({ $lte })),
  fc.boolean().map(($exists) => ({ $exists })),
)
const { condition } = fc.letrec<{ condition: JsonObject }>((tie) => ({
  condition: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.tuple(key, operator).map(([name, test]) => own(name, test)),
    fc.array(tie('condition'), { minLength: 1, maxLength: 3 }).map(($and) => ({ $and })),
    fc.array(tie('condition'), { minLength: 1, maxLength: 3 }).map(($or) => ({ $or })),
    tie('condition').map(($not) => ({ $not })),
  ),
}))
/** Operators in a filter; the engine takes so many at most. */
function operatorsIn(asked: JsonValue): number {
  return JSON.stringify(asked).split('"$').length - 1
}

const filter = fc.array(condition, { maxLength: 3 }).filter((asked) => operatorsIn(asked) <= filterConditionsMax)

/** An object with one key, also where the key is `__proto__`. */
function own(name: string, inner: JsonValue): JsonObject {
  return Object.fromEntries([[name, inner]])
}

const runs = process.env.ANNAL_LONG === '1' ? 10_000 : 1_000

test(`${runs * 10} random filters over random objects that come and go find what a naive evaluation finds`, async (t) => {
  const step = fc.record({ ordinal: fc.nat({ max: 40 }), values: fc.option(values, { nil: undefined }) })
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60 }),
      fc.array(filter, { minLength: 10, maxLength: 10 }),
      fc.boolean(),
      async (steps, filters, reload) => {
        let index = new FilterIndex(hashSeed)
        const objects = new Map<number, JsonObject>()
        for (const { ordinal, values: next } of steps) {
          const before = objects.get(ordinal)
          if (before !== undefined) index.remove(ordinal, before)
          objects.delete(ordinal)
          if (next === undefined) continue
          // As they are stored and read back.
          const stored = parseFilterValues(parseFilterValues(next).text).values
          index.set(ordinal, stored)
          objects.set(ordinal, stored)
        }
        if (reload) index = await FilterIndex.load(readerOf(written(...index.dump('f')), 1 << 16), 'f')
        for (const asked of filters) {
          const { bitmap, count } = index.evaluate(parseFilter(asked))
          const wanted = [...objects].filter(([, it]) => holds(asked, it)).map(([ordinal]) => ordinal)
          const sorted = wanted.sort((a, b) => a - b).join()
          const got = [...bitmap.toOrdinals()].join()
          if (got !== sorted || count !== wanted.length)
            throw new Error(`${JSON.stringify(asked)} found ${got}, not ${sorted}`)
        }
      },
    ),
    { seed: seedOf('filters') | 0, numRuns: runs },
  )
  t.pass('they agree')
})
