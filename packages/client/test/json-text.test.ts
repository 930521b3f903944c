// Numbers that JSON does not have are rejected before anything is sent, wherever a caller gives JSON.
import { test } from 'tap'
import { AnnalError } from '../src/errors.ts'
import { encodeBatch } from '../src/http/batch.ts'
import { jsonText } from '../src/http/json-text.ts'
import { encodeObjects } from '../src/http/object-batch.ts'
import { searchBody } from '../src/http/search-body.ts'

const rejected = (field: string) =>
  new AnnalError('invalid_argument', `${field} must be a finite number, because JSON has no other`, { field })

test('null and text are not mistaken for numbers', (t) => {
  t.equal(jsonText({ a: null, b: 'null', c: [1, null], d: undefined }, ''), '{"a":null,"b":"null","c":[1,null]}')
  t.throws(() => jsonText({ a: { b: [0, Number.NEGATIVE_INFINITY] } }, ''), rejected('a.b[1]'))
  t.end()
})

test('meta and filters of objects, and filters of searches', (t) => {
  const vector = [1, 2]
  const nan = Number.NaN
  t.throws(() => encodeBatch([{ id: 'a', vector, meta: { n: nan } }]), rejected('records[0].meta.n'))
  t.throws(() => encodeBatch([{ id: 'a', vector, filter: { n: nan } }]), rejected('records[0].filter.n'))
  t.throws(
    () => encodeObjects([{ id: 'a', fields: { v: vector }, filter: { n: nan } }]),
    rejected('objects[0].filter.n'),
  )
  t.throws(() => searchBody({ vector, filter: [{ n: { $gt: nan } }] }), rejected('filter[0].n.$gt'))
  t.end()
})
