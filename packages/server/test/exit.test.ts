// Every reason for which a server cannot continue has its own exit code and one line of output.
import { test } from 'tap'
import { exitOf } from '../src/exit.ts'

test('errors of the log and of the system map to their exit codes', (t) => {
  const cases: [string, number][] = [
    ['log_damaged', 65],
    ['identity_damaged', 65],
    ['snapshot_damaged', 65],
    ['EADDRINUSE', 69],
    ['directory_locked', 73],
    ['log_failed', 74],
    ['ENOSPC', 75],
    ['EACCES', 77],
    ['ENOTDIR', 77],
    ['EROFS', 77],
    ['format_too_new', 78],
  ]
  for (const [code, expected] of cases) {
    const exit = exitOf(Object.assign(new Error('what happened\nand more of it'), { code }))
    t.equal(exit.code, expected, code)
    t.equal(exit.lines.length, 1)
    t.notMatch(exit.lines[0], /\n/, 'one line')
  }
  t.end()
})

test('an internal error exits with 70 and prints its location', (t) => {
  const exit = exitOf(new TypeError('x is not a function'))
  t.equal(exit.code, 70)
  t.match(exit.lines[0], /exit\.test\.ts/)
  t.equal(exitOf('just a text').code, 70)
  t.end()
})
