// Options of programs: what is declared decides what is read.
import { test } from 'tap'
import { readOptions } from '../src/options.ts'

function read(...args: readonly string[]) {
  const given = process.argv
  process.argv = ['node', 'program.ts', ...args]
  try {
    return readOptions({ rows: 60_000, sets: 'npl', quick: false, ef: Number, out: String, against: [] })
  } finally {
    process.argv = given
  }
}

test('options that are left out have their defaults, or are undefined', async (t) => {
  t.strictSame(read(), { rows: 60_000, sets: 'npl', quick: false, ef: undefined, out: undefined, against: [] })
})

test('options have the types of their declaration', async (t) => {
  const args = ['--rows', '1e3', '--sets', '', '--quick', '--ef=24', '--out', '7', '--against', 'a', '--against', 'b']
  t.strictSame(read(...args), { rows: 1_000, sets: '', quick: true, ef: 24, out: '7', against: ['a', 'b'] })
})

test('what is no number, and what is not declared, is refused by name', async (t) => {
  t.throws(() => read('--rows', 'many'), { message: '--rows is a number, not many' })
  t.throws(() => read('--ef', ''), { message: /^--ef is a number/ })
  t.throws(() => read('--row', '5'), { message: /--row/ })
})
