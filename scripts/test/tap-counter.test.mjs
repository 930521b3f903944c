// The line that ends `npm test` tells the truth, also about files that crash, time out or run nothing.
import { test } from 'tap'
import { tapCounter } from '../testing/tap-counter.mjs'

function count(output, ending) {
  const counter = tapCounter()
  for (const line of output.split('\n')) counter.line(line)
  const { failures, ...file } = counter.end(ending)
  return { ...file, printed: failures.join('\n') }
}

const passing = `TAP version 14
# Subtest: adds
    ok 1 - should be equal
    1..1
ok 1 - adds # time=9ms

ok 2 - looks at the disk # SKIP no disk here
1..2
# { total: 2, pass: 1, skip: 1 }
# time=31ms
`

test('named tests are counted, not their assertions, and what is skipped is said', async (t) => {
  t.match(count(passing, { code: 0 }), {
    passed: 1,
    failed: 0,
    skipped: 1,
    skips: ['looks at the disk # SKIP no disk here'],
    printed: '',
  })
})

test('a failure is counted once and repeated with its diagnostics', async (t) => {
  const result = count(
    `# Subtest: subtracts
    not ok 1 - one is two
      ---
      diff: |
        ok 1 - a line of a diff is no test
      ...
    1..1
not ok 1 - subtracts # time=14ms
  ---
  at: somewhere
  ...
1..1
`,
    { code: 1 },
  )
  t.match(result, { passed: 0, failed: 1, printed: /one is two.*a line of a diff/s })
  t.notMatch(result.printed, /at: somewhere/)
})

test('a test that times out says what passed last', async (t) => {
  const result = count(
    `# Subtest: waits
    ok 1 - the server is there
    not ok 2 - timeout!
      ---
      expired: waits
      ...
    1..2
not ok 1 - waits # time=50ms
1..1
`,
    { code: 1 },
  )
  t.match(result, { failed: 1, printed: /timeout!\n {4}the last that passed: the server is there\n.*expired/s })
})

test('a file that fails without a failed test is a failure', async (t) => {
  t.match(count('TAP version 14\n1..0 # no tests found\n', { code: 1 }), { passed: 0, failed: 1 })
  t.match(count(passing, { code: 1 }), { passed: 1, failed: 1, printed: /ended with 1/ })
  t.match(count(passing, { code: 137 }), { passed: 1, failed: 1, printed: /ended with 137/ })
})

test('a file that ends before it says how many tests it has is a failure', async (t) => {
  t.match(count(passing.split('1..2')[0], { code: 0 }), { passed: 1, failed: 1, printed: /ended early/ })
})

test('a file that left something running is a failure, though its tests passed', async (t) => {
  const fault = 'the file left processes running: sleep 100'
  t.match(count(passing, { code: 0, fault }), { passed: 1, failed: 1, printed: /sleep 100/ })
})
