// Proves that the tests can fail: each planted bug is caught by the test file that must catch it, and without a bug
// that file passes in the same setting. A test that misses its bug is itself a bug. One bug in ten is planted, by the
// seed, and every bug with ANNAL_LONG=1. The text that each bug replaces is always looked for.
import { spawn } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { test } from 'tap'
import { chosenSeed } from '../src/testing/index.ts'
import { patient } from './patience.ts'
import { type PlantedBug, plantedBugs } from './sabotage/bugs.ts'

const hook = new URL('./sabotage/hook.ts', import.meta.url).href
const domains = new URL('../../../scripts/testing/tap-domains.mjs', import.meta.url).href
const sampleEvery = '40'
/** Fixed, so that a bug that is caught today is caught tomorrow. */
const seed = '20260101'

/** Returns the exit code of one test file with these edits planted. */
function runFile(file: string, edits: PlantedBug['edits']): Promise<{ code: number | null; said: string }> {
  const path = fileURLToPath(new URL(`./${file}.test.ts`, import.meta.url))
  const env = {
    PATH: process.env.PATH,
    TMPDIR: process.env.TMPDIR ?? '/tmp',
    // What is planted has other contents, and so is not taken from the cache.
    NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE,
    ANNAL_SABOTAGE: JSON.stringify(edits),
    ANNAL_SAMPLE_EVERY: sampleEvery,
    ANNAL_SEED: seed,
    TAP_BAIL: '1',
    // A planted bug that makes a log hang also counts as caught; it must not take forever.
    TAP_TIMEOUT: '60',
  }
  const child = spawn(process.execPath, ['--conditions=annal-source', '--import', domains, '--import', hook, path], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes: Buffer) => (said += bytes.toString()))
  const timer = setTimeout(() => child.kill('SIGKILL'), 120_000)
  return new Promise((resolve) =>
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve({ code, said })
    }),
  )
}

const step = process.env.ANNAL_LONG === '1' ? 1 : 10
const chosen = chosenSeed()
const planted = plantedBugs.filter((_, i) => (i + chosen) % step === 0)
const files = [...new Set(planted.map(({ caughtBy }) => caughtBy))]

for (const file of files) {
  test(`${file} passes when nothing is planted, and catches every bug it is responsible for`, patient, async (t) => {
    const plain = await runFile(file, [])
    if (plain.code !== 0) return t.fail('it fails without a planted bug', { said: plain.said.slice(-2000) })
    for (const { name, edits } of planted.filter(({ caughtBy }) => caughtBy === file)) {
      const { code, said } = await runFile(file, edits)
      if (code === 99) t.fail(`the bug can no longer be planted: ${name}`, { said })
      else t.not(code, 0, `caught: ${name}`)
    }
  })
}

test('the sources have the text that each bug replaces, once', async (t) => {
  for (const { name, edits } of plantedBugs)
    for (const { file, find } of edits) {
      const source = await readFile(new URL(`../src/${file}`, import.meta.url), 'utf8')
      t.equal(source.split(find).length, 2, name)
    }
})

test('there are enough planted bugs', async (t) => {
  t.ok(plantedBugs.length >= 20, `${plantedBugs.length} bugs`)
})
