// The line that ends `npm test` tells the truth, also about files that crash, time out or run nothing.
import { test } from 'tap'
import { tapCounter } from '../tap-counter.mjs'

function count(output, exitCode) {
  const printed = []
  const counter = tapCounter((line) => printed.push(line))
  for (const line of output.split('\n')) counter.line(line)
  return { ...counter.result(exitCode), printed: printed.join('\n') }
}

const passing = `TAP version 14
# Subtest: a.test.ts
    # Subtest: adds
        ok 1 - should be equal
        1..1
    ok 1 - adds # time=9ms

    ok 2 - looks at the disk # SKIP no disk here
    1..2
    # time=31ms
ok 1 - a.test.ts # time=31ms
`

test('named tests are counted, not their assertions, and what is skipped is said', async (t) => {
  t.match(count(passing, 0), {
    passed: 1,
    failed: 0,
    skipped: 1,
    printed: /skipped: looks at the disk # SKIP no disk here/,
  })
})

test('a failure is counted once and repeated with its diagnostics', async (t) => {
  const result = count(
    `# Subtest: b.test.ts
    # Subtest: subtracts
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
not ok 1 - b.test.ts # time=20ms
  ---
  command: node
  ...
`,
    1,
  )
  t.match(result, {
    passed: 0,
    failed: 1,
    failedFiles: [{ name: 'b.test.ts', failed: 1 }],
    printed: /one is two.*a line of a diff/s,
  })
  t.notMatch(result.printed, /at: somewhere|command: node/)
})

test('a file that fails without a failed test is a failure', async (t) => {
  const crashed = '# Subtest: c.test.ts\n    1..0 # no tests found\nnot ok 1 - c.test.ts # time=9ms\n'
  t.match(count(crashed, 1), { passed: 0, failed: 1 })
})

test('a failing exit code without any failure, and a run without any test, are failures', async (t) => {
  t.match(count(passing, 1), { passed: 1, failed: 1 })
  t.match(count('TAP version 14\n1..0\n', 0), { passed: 0, failed: 1 })
})
