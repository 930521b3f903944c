import { test } from 'tap'
import { parseFilterValues, parseNewFilterValues } from '../../src/filter/values.ts'
import type { JsonObject } from '../../src/model/json.ts'

test('text is stored unchanged, an object as its JSON', (t) => {
  t.same(parseFilterValues('{ "a" : 1.0 }'), { text: '{ "a" : 1.0 }', values: { a: 1 } })
  t.same(parseFilterValues({ a: [1, 'x', null], b: { c: true } }), {
    text: '{"a":[1,"x",null],"b":{"c":true}}',
    values: { a: [1, 'x', null], b: { c: true } },
  })
  t.same(parseFilterValues(''), { text: '', values: {} })
  t.same(parseFilterValues('{}'), { text: '{}', values: {} })
  t.end()
})

test('keys that name properties of objects are data and change nothing', (t) => {
  const before = Object.getOwnPropertyNames(Object.prototype).join()
  for (const text of [
    '{"__proto__":{"polluted":1}}',
    '{"\\u005f_proto__":1}',
    '{"constructor":{"prototype":{"x":1}}}',
  ]) {
    const { values } = parseFilterValues(text)
    t.same(Object.keys(values).length, 1)
    t.equal(parseFilterValues(values).text, JSON.stringify(JSON.parse(text)))
  }
  t.equal(Object.getOwnPropertyNames(Object.prototype).join(), before)
  t.equal(Object.hasOwn(Object.prototype, 'polluted'), false)
  t.end()
})

test('invalid values are refused by name', (t) => {
  const nested = (depth: number): string => `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`
  const many = (count: number): string => `{${Array.from({ length: count }, (_, index) => `"k${index}":1`).join()}}`
  const bad: [unknown, string, RegExp][] = [
    ['{"a":', 'invalid_argument', /filter is not JSON/],
    ['[1]', 'invalid_argument', /must be an object/],
    ['null', 'invalid_argument', /must be an object/],
    ['"x"', 'invalid_argument', /must be an object/],
    ['{"a":1e999}', 'invalid_argument', /filter\.a must be a finite number/],
    ['{"a":"\\ud800"}', 'invalid_argument', /well-formed/],
    ['{"\\udc00":1}', 'invalid_argument', /well-formed/],
    ['{"a":"\ud800"}', 'invalid_argument', /well-formed/],
    [nested(33), 'limit_exceeded', /nested deeper than 32/],
    [`{"a":${'['.repeat(30_000)}${']'.repeat(30_000)}}`, 'limit_exceeded', /nested deeper/],
    [many(257), 'limit_exceeded', /257 keys, but the limit is 256/],
    [`{"${'k'.repeat(257)}":1}`, 'limit_exceeded', /257 bytes long, but the limit is 256/],
    [`{"a":"${'é'.repeat(513)}"}`, 'limit_exceeded', /filter\.a is 1026 bytes long, but the limit is 1024/],
    [`{"a":[${'1,'.repeat(40_000)}1]}`, 'limit_exceeded', /filter is 80009 bytes long/],
    [{ a: undefined }, 'invalid_argument', /filter\.a must be JSON/],
    [{ a: () => 1 }, 'invalid_argument', /must be JSON/],
    [{ a: 1n }, 'invalid_argument', /must be JSON/],
    [{ a: new Date(0) }, 'invalid_argument', /must be a plain object/],
    [{ a: Number.NaN }, 'invalid_argument', /finite/],
  ]
  for (const [raw, code, message] of bad) {
    // The cast allows arguments that only an untyped caller can pass.
    t.throws(() => parseFilterValues(raw as JsonObject), { code, message })
  }
  t.doesNotThrow(() => parseFilterValues(nested(32)))
  t.doesNotThrow(() => parseFilterValues(many(256)))
  t.end()
})

test('values that cannot be compared exactly are refused, and read when already stored', (t) => {
  for (const [raw, message] of [
    [{ n: 2 ** 53 }, /filter\.n is a whole number beyond 9007199254740991.*use a string/],
    ['{"n":9007199254740993}', /filter\.n is a whole number/],
    [{ n: -1e300 }, /filter\.n/],
    [{ list: [1, 2 ** 60] }, /filter\.list\.1/],
    [{ deep: { n: 1e20 } }, /filter\.deep\.n/],
    [{ at: '9999-12-31T23:59:59.999999Z' }, /filter\.at has fractions of a millisecond/],
    [{ at: '0001-01-01T00:00:00.000001Z' }, /filter\.at/],
  ] as const) {
    t.throws(() => parseNewFilterValues(raw as JsonObject), { code: 'invalid_argument', message })
    t.doesNotThrow(() => parseFilterValues(raw as JsonObject))
  }
  for (const raw of [
    { n: 2 ** 53 - 1 },
    { n: 0.1 + 0.2, m: -0.5 },
    { at: '9999-12-31T23:59:59.999Z' },
    { at: '9999-12-31T23:59:59.999000Z' },
    { at: '1692-01-01T00:00:00.000001Z', to: '2247-12-31T23:59:59.999999Z' },
    { text: '9007199254740993' },
  ]) {
    t.strictSame(parseNewFilterValues(raw).values, raw)
  }
  t.end()
})
