// Changes one thing at a time in a source file and runs the tests that are closest to it: a mutant that no test notices shows
// what the tests do not hold. The source on disk never changes.
//
//   node --conditions=annal-source scripts/mutation/main.ts [--only NAME] [--count 100] [--seed N] [--jobs 1] [--table]
//
// targets.json lists the files and the tests of each target. Results go to scripts/mutation/results.json. A later run with the same
// seed continues them: it repeats the survivors, and everything of a file that changed. --table prints the results and runs nothing.
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { seededRandom } from '@annal/wal/testing'
import { hashOfCode, type Mutant, mutantsOf } from './mutants.ts'
import { Runner, root } from './runner.ts'

interface Target {
  /** Each is sampled separately. */
  readonly files: readonly string[]
  /** The quickest first: the first that fails ends a mutant. */
  readonly tests: readonly string[]
  /** Changes that no test can notice. */
  readonly equivalent?: readonly Equivalent[]
}

interface Equivalent {
  /** Part of the line. */
  readonly in: string
  readonly change: string
  readonly reason: string
}

type Outcome = 'killed' | 'timeout' | 'survived' | 'equivalent'

interface Result {
  /** Position among all mutants of the file, which a comment does not change. */
  readonly index: number
  readonly line: number
  readonly change: string
  readonly outcome: Outcome
}

interface FileResults {
  readonly seed: number
  /** Mutants in the file; `results` are of the sample. */
  readonly all: number
  /** Hash of the source without comments: results of another one do not count. */
  readonly source: string
  readonly date: string
  readonly results: readonly Result[]
}

type Results = Record<string, Record<string, FileResults>>

const here = fileURLToPath(new URL('.', import.meta.url))
const resultsPath = path.join(here, 'results.json')

const { values } = parseArgs({
  options: {
    only: { type: 'string' },
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    jobs: { type: 'string', default: '1' },
    table: { type: 'boolean', default: false },
  },
})
const [seed, count] = [Number(values.seed), Number(values.count)]

const targets: Readonly<Record<string, Target>> = JSON.parse(readFileSync(path.join(here, 'targets.json'), 'utf8'))
const chosen = Object.entries(targets).filter(([name]) => values.only === undefined || values.only === name)
if (values.table) printTable(load())
else for (const [name, target] of chosen) await runTarget(name, target)

async function runTarget(name: string, target: Target): Promise<void> {
  const runner = new Runner(target.tests)
  for (const file of target.files) await runFile(name, target, file, runner)
}

async function runFile(name: string, target: Target, file: string, runner: Runner): Promise<void> {
  const source = readFileSync(path.join(root, file), 'utf8')
  const lines = source.split('\n')
  const hash = hashOfCode(file, source)
  const all = mutantsOf(file, source)
  const known = load()[name]?.[file]
  const isSame = known?.seed === seed && known.source === hash
  const earlier = new Map((isSame ? known.results : []).map((result) => [result.index, result]))
  const results = new Map<number, Result>()
  const queue = sample(all, count, seed).filter((mutant) => {
    const before = earlier.get(mutant.index)
    if (before?.outcome !== 'killed' && before?.outcome !== 'timeout') return true
    results.set(mutant.index, { ...before, line: mutant.line })
    return false
  })
  const save = () => {
    const sorted = [...results.values()].sort((a, b) => a.index - b.index)
    const date = new Date().toISOString().slice(0, 10)
    const saved = load()
    saved[name] = { ...saved[name], [file]: { seed, all: all.length, source: hash, date, results: sorted } }
    // Whole, so that another run can read them.
    writeFileSync(`${resultsPath}.${process.pid}`, `${JSON.stringify(saved, undefined, 1)}\n`)
    renameSync(`${resultsPath}.${process.pid}`, resultsPath)
  }
  const work = async (): Promise<void> => {
    for (let mutant = queue.shift(); mutant !== undefined; mutant = queue.shift()) {
      const { index, line, change } = mutant
      const end = await runner.judge(file, mutant.source)
      const outcome = end === 'passed' ? survivor(target, lines[line - 1] ?? '', change) : end
      results.set(index, { index, line, change, outcome })
      if (outcome === 'survived') console.log(`${file}:${line}: survived: ${change}`)
      save()
    }
  }
  if (queue.length > 0) await runner.measure()
  await Promise.all(Array.from({ length: Number(values.jobs) }, work))
  save()
  console.log(rowOf(name, file, load()[name]?.[file] as FileResults))
}

function survivor({ equivalent = [] }: Target, line: string, change: string): Outcome {
  return equivalent.some((one) => line.includes(one.in) && one.change === change) ? 'equivalent' : 'survived'
}

/** A sample without repetition, in the order of the source. */
function sample(mutants: readonly Mutant[], size: number, sampleSeed: number): Mutant[] {
  const random = seededRandom(sampleSeed)
  const left = [...mutants]
  while (left.length > size) left.splice(random.below(left.length), 1)
  return left
}

function load(): Results {
  try {
    return JSON.parse(readFileSync(resultsPath, 'utf8'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return {}
    throw error
  }
}

function rowOf(name: string, file: string, { results, all, seed: usedSeed, date }: FileResults): string {
  const number = (outcome: Outcome) => results.filter((result) => result.outcome === outcome).length
  const [killed, timeouts, survived] = [number('killed'), number('timeout'), number('survived')]
  const share = (100 * (killed + timeouts)) / (killed + timeouts + survived)
  const sampled = `${results.length} of ${all}`
  const cells = [
    name,
    `\`${file}\``,
    sampled,
    killed,
    timeouts,
    survived,
    number('equivalent'),
    `${share.toFixed(1)} %`,
  ]
  return `| ${[...cells, usedSeed, date].join(' | ')} |`
}

function printTable(results: Results): void {
  console.log('| concern | file | mutants | killed | timeouts | survived | equivalent | noticed | seed | date |')
  console.log('|---|---|---|---|---|---|---|---|---|---|')
  for (const [name] of chosen)
    for (const [file, found] of Object.entries(results[name] ?? {})) console.log(rowOf(name, file, found))
}
