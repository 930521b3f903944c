// An error that nothing in a test waits for fails the test that runs, as it does without the replacement of tap's domains.
import { execFile } from 'node:child_process'
import path from 'node:path'
import { pathToFileURL } from 'node:url'
import { test } from 'tap'
import { root } from '../setup.mjs'
import { tapBundle } from '../testing/tap-bundle.mjs'

const replacement = path.join(root, 'scripts', 'testing', 'tap-domains.mjs')

/** Runs a file of four tests, of which the second does something. Resolves to its output and its exit code. */
function run(t, does, { options, tap }) {
  const folder = t.testdir({
    'some.test.mjs': `
import { AsyncResource } from 'node:async_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import { test } from ${JSON.stringify(tap)}
test('first', async (t) => t.pass())
test('second', async (t) => {
  await t.test('before', async (t) => t.pass())
  await t.test('inner', async (t) => { ${does} })
  t.pass()
})
test('third', async (t) => { await sleep(20); t.pass() })
test('fourth', async (t) => t.pass())`,
  })
  return new Promise((resolve) => {
    const args = [...options, path.join(folder, 'some.test.mjs')]
    execFile(process.execPath, args, (error, stdout) => resolve({ code: error?.code ?? 0, stdout }))
  })
}

/** tap itself, whatever `tap` is in this process. */
const tap = pathToFileURL(path.join(root, 'node_modules', 'tap', 'dist', 'esm', 'index.js')).href
const plain = { options: [], tap }
const replaced = { options: [`--import=${replacement}`], tap }
const bundled = { options: [], tap: pathToFileURL(await tapBundle()).href }

const faults = {
  'an error in a timer': `setTimeout(() => { throw new Error('stray') }, 5); await sleep(60)`,
  'a rejection that nothing handles': `void Promise.reject(new Error('stray')); await sleep(60)`,
  'an error in an event': `process.nextTick(() => process.emit('test-event')); process.once('test-event', () => { throw new Error('stray') }); await sleep(60)`,
}

for (const [name, does] of Object.entries(faults)) {
  test(`${name} fails the test that runs, and the others go on`, async (t) => {
    for (const kind of [plain, replaced, bundled]) {
      const { code, stdout } = await run(t, does, kind)
      t.not(code, 0)
      t.match(stdout, /stray/)
      const ended = [...stdout.matchAll(/^ *((?:not )?ok) \d+ - (.*) # time=/gm)].map(([, ok, test]) => `${ok} ${test}`)
      t.strictSame(ended, ['ok first', 'ok before', 'not ok inner', 'not ok second', 'ok third', 'ok fourth'])
    }
  })
}

test('no promise is followed', async (t) => {
  const does = `
    const before = new AsyncResource('before').asyncId()
    for (let i = 0; i < 100; i++) await undefined
    console.log('followed: ' + (new AsyncResource('after').asyncId() - before > 100))`
  t.match((await run(t, does, plain)).stdout, 'followed: true')
  for (const kind of [replaced, bundled]) t.match((await run(t, does, kind)).stdout, 'followed: false')
})

test('a failure names its line with the bundle as without it', async (t) => {
  const linesOf = async (kind) =>
    (await run(t, 't.equal(1, 2)', kind)).stdout.match(/^ *(at|lineNumber|fileName):.*$/gm)
  const lines = await linesOf(plain)
  t.ok(lines.length > 0)
  t.strictSame(await linesOf(bundled), lines)
})
