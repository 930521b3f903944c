// Changes one thing at a time in a source file and runs the tests that are closest to it: a mutant that no test notices shows
// what the tests do not hold. The source on disk never changes.
//
//   node --conditions=annal-source scripts/mutation/main.ts [--only NAME] [--count 100] [--seed N] [--jobs 1]
//
// targets.json says which tests belong to which file. Results go to scripts/mutation/results.json, which a later run with the
// same seed continues; survivors that are explained stand in targets.json under `equivalent`, by line text and change.
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { parseArgs } from 'node:util'
import { seededRandom } from '@annal/wal/testing'
import { type Mutant, mutantsOf } from './mutants.ts'

interface Target {
  readonly file: string
  readonly tests: readonly string[]
  /** Changes that no test can notice, each with the reason. */
  readonly equivalent?: Readonly<Record<string, string>>
}

type Outcome = 'killed' | 'timeout' | 'survived' | 'equivalent'

interface Result {
  readonly line: number
  readonly change: string
  readonly outcome: Outcome
}

const root = fileURLToPath(new URL('../..', import.meta.url))
const here = path.join(root, 'scripts/mutation')
const targets: Readonly<Record<string, Target>> = JSON.parse(readFileSync(path.join(here, 'targets.json'), 'utf8'))
const resultsPath = path.join(here, 'results.json')

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '1' },
  },
})

const scratch = mkdtempSync(path.join(os.tmpdir(), 'annal-mutants-'))
process.on('exit', () => rmSync(scratch, { recursive: true, force: true }))

/** Runs one test file; its exit code, or undefined when it took longer than `timeoutMs`. */
function runTest(test: string, timeoutMs: number, mutant?: string): Promise<number | undefined> {
  const hook = mutant === undefined ? [] : [`--import=${pathToFileURL(path.join(here, 'hook.mjs'))}`]
  const options = ['--conditions=annal-source', ...hook].join(' ')
  const environment = { ...process.env, NODE_OPTIONS: options, TAP_BAIL: '1', TAP_TIMEOUT: '600', ANNAL_SEED: '1' }
  const child = spawn(process.execPath, [path.join(root, test)], {
    cwd: root,
    detached: true,
    stdio: 'ignore',
    env: mutant === undefined ? environment : { ...environment, ANNAL_MUTANT: mutant },
  })
  return new Promise((resolve) => {
    let late = false
    const timer = setTimeout(() => {
      late = true
      process.kill(-(child.pid as number), 'SIGKILL')
    }, timeoutMs)
    child.on('close', (code) => {
      clearTimeout(timer)
      resolve(late ? undefined : (code ?? 1))
    })
  })
}

/** How long each test takes with the source unchanged; it must pass. */
async function measure(tests: readonly string[]): Promise<ReadonlyMap<string, number>> {
  const times = new Map<string, number>()
  for (const test of tests) {
    const began = performance.now()
    if ((await runTest(test, 600_000)) !== 0) throw new Error(`${test} fails without a mutant`)
    times.set(test, performance.now() - began)
  }
  return times
}

async function judge(
  target: Target,
  mutant: Mutant,
  times: ReadonlyMap<string, number>,
  job: number,
): Promise<Outcome> {
  const file = path.join(scratch, `${job}.json`)
  writeFileSync(file, JSON.stringify({ url: pathToFileURL(path.join(root, target.file)).href, source: mutant.source }))
  for (const test of target.tests) {
    const code = await runTest(test, (times.get(test) as number) * 4 + 20_000, file)
    if (code === undefined) return 'timeout'
    if (code !== 0) return 'killed'
  }
  return target.equivalent?.[mutant.change] === undefined ? 'survived' : 'equivalent'
}

/** A sample without repetition, in the order of the source. */
function sample(mutants: readonly Mutant[], count: number, seed: number): readonly Mutant[] {
  const random = seededRandom(seed)
  const left = [...mutants]
  while (left.length > count) left.splice(random.below(left.length), 1)
  return left
}

function load(): Record<string, { seed: number; of: number; results: Result[] }> {
  try {
    return JSON.parse(readFileSync(resultsPath, 'utf8'))
  } catch {
    return {}
  }
}

for (const [name, target] of Object.entries(targets)) {
  if (values.only !== undefined && values.only !== name) continue
  const all = mutantsOf(target.file, readFileSync(path.join(root, target.file), 'utf8'))
  const chosen = sample(all, Number(values.count), Number(values.seed))
  const saved = load()
  const known = saved[name]?.seed === Number(values.seed) ? (saved[name]?.results ?? []) : []
  const results: Result[] = []
  const queue = chosen.filter((mutant) => {
    const before = known.find(({ line, change }) => line === mutant.line && change === mutant.change)
    if (before) results.push(before)
    return before === undefined
  })
  const times = queue.length > 0 ? await measure(target.tests) : new Map<string, number>()
  const work = async (job: number): Promise<void> => {
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const outcome = await judge(target, mutant, times, job)
      results.push({ line: mutant.line, change: mutant.change, outcome })
      if (outcome === 'survived') console.log(`${target.file}:${mutant.line}: survived: ${mutant.change}`)
      results.sort((a, b) => a.line - b.line)
      writeFileSync(
        resultsPath,
        `${JSON.stringify({ ...load(), [name]: { seed: Number(values.seed), of: all.length, results } }, undefined, 1)}\n`,
      )
    }
  }
  await Promise.all(Array.from({ length: Number(values.jobs) }, (_, job) => work(job)))
  const count = (outcome: Outcome): number => results.filter((result) => result.outcome === outcome).length
  const counted = results.length - count('equivalent')
  const noticed = count('killed') + count('timeout')
  console.log(
    `${name}: ${noticed} of ${counted} noticed (${((noticed / counted) * 100).toFixed(1)} %): ${count('killed')} killed, ` +
      `${count('timeout')} timeouts, ${count('survived')} survived; ${count('equivalent')} equivalent; ${results.length} of ${all.length} mutants`,
  )
}
