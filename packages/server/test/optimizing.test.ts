// V8 optimizes no function of the process while modules are loaded, and every hot function afterwards.
import { execFileSync } from 'node:child_process'
import { test } from 'tap'

const optimizing = new URL('../src/optimizing.ts', import.meta.url).href

/** What V8 says of the compilations of functions that are called 100,000 times, between two marks. */
function compiledBy(lines: readonly string[]): { readonly paused: string; readonly resumed: string } {
  const output = execFileSync(
    process.execPath,
    ['--trace-opt', '--trace-opt-verbose', '--input-type=module', '--eval', lines.join('\n')],
    {
      encoding: 'utf8',
    },
  )
  const [, paused = '', resumed = ''] = output.split(/^mark$/m)
  return { paused, resumed }
}

test('functions are optimized when it is resumed, and none before', (t) => {
  const { paused, resumed } = compiledBy([
    `import { pauseOptimizing, resumeOptimizing } from '${optimizing}'`,
    "import { writeSync } from 'node:fs'",
    "const mark = () => writeSync(1, '\\nmark\\n')",
    'function early(n) { let sum = 0; for (let i = 0; i < n; i++) sum += i % 7; return sum }',
    'function late(n) { let sum = 0; for (let i = 0; i < n; i++) sum += i % 5; return sum }',
    'pauseOptimizing()',
    'mark()',
    'for (let i = 0; i < 100_000; i++) early(50)',
    'resumeOptimizing()',
    'mark()',
    'for (let i = 0; i < 100_000; i++) late(50)',
  ])
  t.notMatch(paused, /compiling method/, 'nothing is compiled')
  t.match(resumed, /compiling method .*late/, 'V8 reports compilations')
  t.end()
})
