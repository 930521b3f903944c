import fc from 'fast-check'
import { test } from 'tap'
import { FilterIndex } from '../../src/filter/filter-index.ts'
import { matchesValues } from '../../src/filter/matches-values.ts'
import { parseFilter } from '../../src/filter/parse-filter.ts'
import { parseFilterValues } from '../../src/filter/values.ts'
import type { JsonObject } from '../../src/model/json.ts'
import { hashSeed, readerOf, sectionBytes, seedOf } from '../memory/rig.ts'
import { filter, values } from './arbitrary.ts'
import { holds } from './naive.ts'

const runs = process.env.ANNAL_LONG === '1' ? 10_000 : 1_000

test(`${runs * 10} random filters over changing random objects match a naive evaluation`, async (t) => {
  const step = fc.record({ ordinal: fc.nat({ max: 40 }), values: fc.option(values, { nil: undefined }) })
  await fc.assert(
    fc.asyncProperty(
      fc.array(step, { maxLength: 60 }),
      fc.array(filter, { minLength: 10, maxLength: 10 }),
      fc.boolean(),
      async (steps, filters, reload) => {
        let index = new FilterIndex(hashSeed)
        const objects = new Map<number, JsonObject>()
        const half = steps.length >> 1
        // Filters also run in between: later changes must keep the structures that queries create consistent.
        for (const part of [steps.slice(0, half), steps.slice(half)]) {
          for (const { ordinal, values: next } of part) {
            const before = objects.get(ordinal)
            if (before !== undefined) index.remove(ordinal, before)
            objects.delete(ordinal)
            if (next === undefined) continue
            // The form in which values are stored and read back.
            const stored = parseFilterValues(parseFilterValues(next).text).values
            index.set(ordinal, stored)
            objects.set(ordinal, stored)
          }
          for (const conditions of filters) compare(index, objects, conditions)
        }
        if (!reload) return
        index = await FilterIndex.load(readerOf(sectionBytes(...index.dump('f')), 1 << 16), 'f')
        for (const conditions of filters) compare(index, objects, conditions)
      },
    ),
    { seed: seedOf('filters') | 0, numRuns: runs },
  )
  t.pass('they agree')
})

function compare(index: FilterIndex, objects: ReadonlyMap<number, JsonObject>, conditions: JsonObject[]): void {
  const parsed = parseFilter(conditions)
  const { bitmap, count } = index.evaluate(parsed)
  const wanted = [...objects].filter(([, it]) => holds(conditions, it)).map(([ordinal]) => ordinal)
  const sorted = wanted.sort((a, b) => a - b).join()
  const got = [...bitmap.toOrdinals()].join()
  if (got !== sorted || count !== wanted.length)
    throw new Error(`${JSON.stringify(conditions)} found ${got}, not ${sorted}`)
  for (const [ordinal, it] of objects)
    if (matchesValues(parsed, it) !== wanted.includes(ordinal))
      throw new Error(`${JSON.stringify(conditions)} is wrong about ${JSON.stringify(it)} without an index`)
}
