// All errors have one form, and contain nothing about the machine.
import { EngineError } from '@annal/engine'
import { WalError } from '@annal/wal'
import { test } from 'tap'
import { errorBody, errorCodes, isCoded, retryAfterSeconds, ServerError, statusOf } from '../src/errors.ts'

test('errors of the log lose their file names on the way to a client', (t) => {
  const file = '/srv/data/wal/0001.wal'
  for (const code of ['log_failed', 'disk_full', 'log_overloaded', 'lsn_not_held'] as const) {
    const error = new WalError(code, `${file}: EIO`, { file })
    t.ok(isCoded(error))
    const body = errorBody(error, 'r1')
    t.match(body, { code, request_id: 'r1', error: /^[a-z].+/ })
    t.notMatch(JSON.stringify(body), /srv/)
  }
  t.end()
})

test('field, value, and limit are returned, shortened to one line', (t) => {
  const value = `a${'b'.repeat(500)}`
  t.match(errorBody(new EngineError('invalid_argument', 'x', { field: 'f', value, limit: 3, secret: 's' }), 'r'), {
    field: 'f',
    value: /^ab{63}\.\.\.$/,
    limit: 3,
  })
  t.strictSame(Object.keys(errorBody(new EngineError('closed', 'x', { secret: 's' }), 'r')), [
    'error',
    'code',
    'request_id',
  ])
  const shown: [unknown, unknown][] = [
    [Number.NaN, 'NaN'],
    [Number.NEGATIVE_INFINITY, '-Infinity'],
    [null, null],
    [true, true],
    ['a\ud800', 'a\ufffd'],
    [{ a: 1 }, 'an object'],
    [[1, 2], '1, 2'],
    [[{}], 'an array'],
    [10n, '10'],
  ]
  for (const [given, expected] of shown) {
    t.equal(errorBody(new ServerError('invalid_argument', 'x', { value: given }), 'r').value, expected)
  }
  t.end()
})

test('every code has a status, and temporary errors have Retry-After', (t) => {
  for (const code of errorCodes) {
    const error = Object.assign(new Error(code), { code })
    if (!isCoded(error)) throw new Error(`${code} has no status`)
    const status = statusOf(error.code)
    t.ok((status >= 400 && status < 600) || (status === 202 && code === 'moment_loading'), code)
    t.equal(retryAfterSeconds(error.code) !== undefined, [202, 429, 503, 507].includes(status), code)
  }
  for (const stranger of [
    new Error('x'),
    Object.assign(new Error('x'), { code: 'ENOENT' }),
    'invalid_argument',
    Object.assign(new Error('x'), { code: 'toString' }),
  ]) {
    t.notOk(isCoded(stranger))
  }
  t.end()
})
