// The meta of an object is stored as JSON text, so it may have only what JSON has.
import { test } from 'tap'
import { parseMeta } from '../../src/input/meta.ts'

const read = (meta: unknown) => JSON.parse(new TextDecoder().decode(parseMeta(meta, 'meta'))) as unknown

test('numbers that JSON has come back, and others are rejected instead of becoming null', (t) => {
  const finite = { a: 1e308, b: [-0.5, { c: 5e-324 }], d: null, e: 'NaN' }
  t.strictSame(read(finite), finite)
  // What JSON.parse makes of a number beyond the range.
  t.throws(() => parseMeta(JSON.parse('{"a":1e400}'), 'objects[3].meta'), {
    code: 'invalid_argument',
    details: { field: 'objects[3].meta.a' },
  })
  t.throws(() => parseMeta({ b: [1, { c: Number.NaN }] }, 'meta'), {
    code: 'invalid_argument',
    details: { field: 'meta.b[1].c' },
  })
  t.end()
})

test('nesting is bounded, also that of a cycle', (t) => {
  const nested = (depth: number): object => (depth === 1 ? {} : { a: nested(depth - 1) })
  t.doesNotThrow(() => parseMeta(nested(32), 'meta'))
  t.throws(() => parseMeta(nested(33), 'meta'), { code: 'limit_exceeded', details: { field: 'meta', limit: 32 } })
  const cycle: { self?: object } = {}
  cycle.self = cycle
  t.throws(() => parseMeta(cycle, 'meta'), { code: 'limit_exceeded' })
  t.end()
})
