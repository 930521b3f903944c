import { test } from 'tap'
import { parseFilter } from '../../src/filter/parse-filter.ts'

function refusal(raw: unknown): { code: unknown; message: string; details: Record<string, unknown> } {
  try {
    parseFilter(raw)
  } catch (error) {
    if (error instanceof Error && 'code' in error && 'details' in error) {
      return { code: error.code, message: error.message, details: error.details as Record<string, unknown> }
    }
    throw error
  }
  throw new Error(`${JSON.stringify(raw)} was taken`)
}

test('a filter is a list of conditions with one key and one operator each', (t) => {
  t.same(parseFilter([]), [])
  t.same(parseFilter([{ color: { $eq: 'red' } }, { price: { $range: [1, 2.5] } }]), [
    { kind: 'in', key: 'color', operands: ['red'] },
    { kind: 'range', key: 'price', type: 'number', bounds: { low: 1, high: 2.5, lowOpen: false, highOpen: false } },
  ])
  t.end()
})

test('every operator accepts its operands', (t) => {
  const good = [
    { $eq: '' },
    { $eq: -1e308 },
    { $eq: false },
    { $in: [] },
    { $in: ['a', 1, true] },
    { $ne: 0 },
    { $nin: ['a'] },
    { $range: [5, 5] },
    { $range: ['2024-01-01', '2024-12-31T23:59:59.5+01:00'] },
    { $gt: 0.1 },
    { $gte: '2024-02-29' },
    { $lt: -3 },
    { $lte: 3 },
    { $exists: true },
    { $exists: false },
  ]
  for (const operator of good) t.equal(parseFilter([{ key: operator }]).length, 1, JSON.stringify(operator))
  t.end()
})

test('conditions join with $and, $or and $not', (t) => {
  const [condition] = parseFilter([{ $or: [{ a: { $eq: 1 } }, { $not: { $and: [{ b: { $ne: 2 } }] } }] }])
  t.match(condition, { kind: 'or', conditions: [{ kind: 'in' }, { kind: 'not', condition: { kind: 'and' } }] })
  t.end()
})

test('keys are data: names of object properties are keys like others', (t) => {
  for (const key of ['__proto__', 'constructor', 'hasOwnProperty', '', 'a.b', '日本']) {
    const raw: unknown = JSON.parse(`[{${JSON.stringify(key)}:{"$eq":1}}]`)
    t.match(parseFilter(raw), [{ kind: 'in', key, operands: [1] }])
  }
  t.end()
})

test('an invalid filter is refused with the place, the key, the operator and the value', (t) => {
  const bad: [unknown, RegExp][] = [
    [undefined, /filter: must be a list/],
    ['[]', /must be a list/],
    [{ color: { $eq: 'red' } }, /must be a list/],
    [[null], /filter\[0\]: must be an object/],
    [[{}], /has 0 entries, but it takes one key/],
    [[{ a: { $eq: 1 }, b: { $eq: 2 } }], /has 2 entries, but it takes one key/],
    [[{ a: { $eq: 1 } }, { b: {} }], /filter\[1\] \(key "b"\): has 0 entries, but it takes one operator/],
    [
      [{ a: { $gt: 1, $lt: 2 } }],
      /has 2 entries, but it takes one operator; write a separate condition for each operator/,
    ],
    [[{ color: 'red' }], /needs an operator: \{"color":\{"\$eq":...\}\}; got red/],
    [[{ color: ['red'] }], /needs an operator: \{"color":\{"\$in":...\}\}/],
    [[{ color: null }], /needs an operator/],
    [[{ $eq: 'red' }], /names operator \$eq without a key/],
    [[{ $nor: [] }], /names \$nor, which does not combine/],
    [[{ a: { $EQ: 1 } }], /has no operator \$EQ; did you mean \$eq\?/],
    [[{ a: { eq: 1 } }], /did you mean \$eq\?/],
    [[{ a: { $regex: 'x' } }], /has no operator \$regex; operators are \$eq \$in/],
    [[{ a: { toString: 1 } }], /has no operator toString/],
    [[{ a: { $eq: null } }], /\$eq compares with a string, a finite number or a boolean; got null/],
    [[{ a: { $eq: Number.NaN } }], /finite number/],
    [[{ a: { $eq: 1n } }], /finite number/],
    [[{ a: { $eq: '\ud800' } }], /well-formed/],
    [[{ a: { $eq: 'x'.repeat(1_025) } }], /at most 1024 bytes/],
    [[{ a: { $in: 'red' } }], /\$in takes a list/],
    [[{ a: { $in: ['a', {}] } }], /\$in compares with/],
    [[{ a: { $in: new Array(10_001).fill(1) } }], /at most 10000 values; got 10001/],
    [[{ a: { $range: [2, 1] } }], /\$range starts after its end; got \[2,1\]/],
    [[{ a: { $range: [1] } }], /\$range takes \[start, end\]/],
    [[{ a: { $range: [1, '2024-01-01'] } }], /two values of the same type/],
    [[{ a: { $range: [1, Number.POSITIVE_INFINITY] } }], /finite number/],
    [[{ a: { $gt: 'abc' } }], /\$gt takes a finite number or a time/],
    [[{ a: { $gt: true } }], /\$gt takes/],
    [[{ a: { $gt: '9999-01-01T00:00:00.000001Z' } }], /only in the years 1692 to 2247/],
    [[{ a: { $exists: 1 } }], /\$exists takes true or false/],
    [[{ $and: [] }], /\$and takes a list of one or more/],
    [[{ $or: { a: { $eq: 1 } } }], /\$or takes a list/],
    [[{ $not: [{ a: { $eq: 1 } }] }], /filter\[0\]\.\$not: must be an object/],
  ]
  for (const [raw, message] of bad) {
    const found = refusal(raw)
    t.equal(found.code, 'invalid_filter')
    t.match(found.message, message)
  }
  t.match(refusal([{ a: { $eq: 1 } }, { price: { $range: [9, 1] } }]).details, {
    field: 'filter[1]',
    condition: 1,
    key: 'price',
    operator: '$range',
    value: '[9,1]',
  })
  t.match(refusal([{ a: { $in: new Array(10_001).fill(1) } }]).details, { value: 10_001, limit: 10_000 })
  t.notOk('value' in refusal([{ a: { $eq: '\ud800' } }]).details, 'text that cannot be shown')
  t.end()
})

test('depth and number of conditions are limited', (t) => {
  let deep: unknown = { a: { $eq: 1 } }
  for (let level = 0; level < 40; level++) deep = { $not: deep }
  t.match(refusal([deep]).message, /nested deeper than 32/)
  const wide = Array.from({ length: 65 }, () => ({ a: { $eq: 1 } }))
  t.match(refusal(wide).message, /the limit of 64/)
  t.equal(parseFilter(wide.slice(1)).length, 64)
  t.equal(parseFilter([{ $or: wide.slice(1) }]).length, 1, 'a joining operator does not count as a condition')
  t.equal(parseFilter(wide.slice(1).map((condition) => ({ $or: [{ $not: condition }] }))).length, 64)
  t.match(refusal([{ $or: wide }]).message, /the limit of 64/)
  t.end()
})
