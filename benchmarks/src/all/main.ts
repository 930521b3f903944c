// `npm run bench:all`: runs every benchmark at one size and writes JSON with facts about the machine. With `--against REF`, each benchmark runs
// alternately with the packages of that commit and with the current ones, and differences are printed where the pairs agree. `--against results`
// uses the commit of the committed figures. The machine should have no other work.
//   npm run bench:all -- [--size small|full] [--only ann,wal] [--data DIR] [--out FILE] [--against REF] [--pairs 4]
import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { pairedVerdict } from '@annal/replay'
import { median } from '../ann/contender.ts'
import { readOptions } from '../options.ts'
import { checkOut } from './checkout.ts'
import { type Benchmark, benchmarks, type Figure, type Size } from './figures.ts'

const values = readOptions({
  size: 'small',
  only: String,
  data: String,
  out: String,
  against: String,
  pairs: 4,
})
if (values.size !== 'small' && values.size !== 'full') throw new Error('--size is small or full')
const size: Size = values.size
const house = fileURLToPath(new URL('../../../', import.meta.url))
const committed = 'benchmarks/results/all.json'
/** Smaller differences are not printed, because other work on a machine changes every pair by this much. */
const sameWithin = 0.05

const scratch = mkdtempSync(path.join(os.tmpdir(), 'annal-bench-all-'))
try {
  const selected = benchmarks.filter(({ name }) => values.only === undefined || values.only.split(',').includes(name))
  for (const { name } of selected.filter(({ data }) => data && values.data === undefined))
    console.log(`${name}: skipped, it needs --data DIR`)
  const runnable = selected.filter(({ data }) => !data || values.data !== undefined)
  if (values.against === undefined) runAll(runnable)
  else compareAll(runnable, values.against)
} finally {
  rmSync(scratch, { recursive: true, force: true })
}

function runAll(list: readonly Benchmark[]): void {
  const results = Object.fromEntries(
    list.map((benchmark) => [benchmark.name, printFigures(benchmark, run(benchmark, house))]),
  )
  const report = {
    command: `npm run bench:all -- --size ${size}`,
    ref: refOf('HEAD'),
    machine: machine(),
    size,
    results,
  }
  if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(report, undefined, 1)}\n`)
}

function printFigures({ name }: Benchmark, figures: readonly Figure[]): readonly Figure[] {
  for (const { name: what, value, unit } of figures) console.log(`${name}: ${what}: ${formatNumber(value)} ${unit}`)
  return figures
}

function compareAll(list: readonly Benchmark[], against: string): void {
  const ref = refOf(against === 'results' ? lastChangeOf(committed) : against)
  const before = path.join(scratch, 'before')
  checkOut(house, ref, before)
  const { pairs } = values
  const comparisons = list.flatMap((benchmark) => compare(benchmark, { before, pairs }))
  for (const { name, unit, before: was, after, ratio, verdict } of comparisons)
    console.log(
      `${verdict.padEnd(6)} ${name}: ${formatNumber(was)} -> ${formatNumber(after)} ${unit}, ${ratio.toFixed(3)}`,
    )
  const worse = comparisons.filter(({ verdict }) => verdict === 'worse')
  console.log(`${pairs} pairs against ${ref}: ${worse.length} of ${comparisons.length} figures are worse`)
  const report = { command: 'npm run bench:all -- --against', ref, machine: machine(), size, pairs, comparisons }
  if (values.out !== undefined) writeFileSync(values.out, `${JSON.stringify(report, undefined, 1)}\n`)
  process.exitCode = worse.length === 0 ? 0 : 1
}

/** Runs before and after alternately. Every other pair runs in reverse order, so that a drift over time affects both. */
function compare(benchmark: Benchmark, { before, pairs }: { readonly before: string; readonly pairs: number }) {
  const runs: { readonly a: readonly Figure[]; readonly b: readonly Figure[] }[] = []
  for (let pair = 0; pair < pairs; pair++) {
    if (pair % 2 === 0) runs.push({ a: run(benchmark, before), b: run(benchmark, house) })
    else {
      const b = run(benchmark, house)
      runs.push({ a: run(benchmark, before), b })
    }
  }
  return (runs[0]?.b ?? []).flatMap(({ name, unit, more }) => {
    const values = runs.flatMap(({ a, b }) => {
      const [was, is] = [a, b].map((figures) => figures.find((figure) => figure.name === name)?.value)
      return was === undefined || is === undefined ? [] : [{ was, is }]
    })
    const found = pairedVerdict(
      values.map(({ was, is }) => is / was),
      { more, sameWithin },
    )
    if (found === undefined) return []
    const medians = { before: median(values.map(({ was }) => was)), after: median(values.map(({ is }) => is)) }
    return [{ name: `${benchmark.name}: ${name}`, unit, ...medians, ...found }]
  })
}

/** Some benchmarks have minimum figures and exit with code 1 below them, which is ignored here. */
function run({ file, options, data, figures }: Benchmark, where: string): Figure[] {
  const json = path.join(scratch, 'figures.json')
  const main = path.join(where, 'benchmarks', 'src', file)
  const sets = data && values.data !== undefined ? ['--data', path.resolve(values.data)] : []
  const args = ['--conditions=annal-source', main, ...options[size], ...sets, '--json', json]
  rmSync(json, { force: true })
  try {
    execFileSync(process.execPath, args, { cwd: where, stdio: ['ignore', 'ignore', 'pipe'] })
  } catch (error) {
    if (!existsSync(json)) throw error
  }
  return figures(readFileSync(json, 'utf8'))
}

function machine() {
  const [load] = os.loadavg()
  const memoryGb = Math.round(os.totalmem() / 1e9)
  return { cpu: os.cpus()[0]?.model, cores: os.cpus().length, memoryGb, node: process.version, load, date: today() }
}

function today(): string {
  return new Date().toISOString().slice(0, 10)
}

function refOf(name: string): string {
  return execFileSync('git', ['rev-parse', '--short', name], { cwd: house, encoding: 'utf8' }).trim()
}

function lastChangeOf(file: string): string {
  const found = execFileSync('git', ['log', '-1', '--format=%H', '--', file], { cwd: house, encoding: 'utf8' }).trim()
  if (found === '') throw new Error(`${file} was never committed; name a commit to compare with`)
  return found
}

function formatNumber(value: number): string {
  return value >= 100 ? value.toFixed(0) : value.toPrecision(4)
}
