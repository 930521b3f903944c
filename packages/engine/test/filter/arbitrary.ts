// Random filter values and random filters over them, in the forms that users write.
import fc from 'fast-check'
import { filterConditionsMax } from '../../src/limits.ts'
import type { JsonObject, JsonValue } from '../../src/model/json.ts'

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
export const values: fc.Arbitrary<JsonObject> = fc.dictionary(key, value, { maxKeys: 5 })
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
/** Number of operators in a filter, which the engine limits. */
function operatorsIn(tree: JsonValue): number {
  return JSON.stringify(tree).split('"$').length - 1
}

export const filter: fc.Arbitrary<JsonObject[]> = fc
  .array(condition, { maxLength: 3 })
  .filter((tree) => operatorsIn(tree) <= filterConditionsMax)

/** An object with one key, also where the key is `__proto__`. */
function own(name: string, inner: JsonValue): JsonObject {
  return Object.fromEntries([[name, inner]])
}
