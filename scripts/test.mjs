// `npm test`: installs, builds, checks, then runs every test file, or those that the arguments select. The last line is
// `N passed, N failed`, where N counts named tests (the blocks directly in a file); the exit code is zero when none failed.
//
//   npm test                      everything, with `npm run check`
//   npm test FILE... | FOLDER...  these, without the check
//   npm test -- --changed [REF]   what the changes since REF can affect, by imports; REF is where the branch left main
//   npm run test:fast             files that start no process and are soon done, without the check (`npm test -- --fast`)
//   ... --list                    prints the files and runs nothing
//   ... --weigh                   also writes what each file took to scripts/testing/weights.json
//
// In a whole run a file that failed next to others runs once more alone, with the same seed. When it passes then, a test depends on
// timing, and the run fails all the same, unless scripts/testing/unsteady.json names the file with a reason.
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { ensureInstalled, root, runMain, SetupError, turbo } from './setup.mjs'
import {
  allTestFiles,
  changedTestFiles,
  fastTestFiles,
  measures,
  namedTestFiles,
  readWeights,
  weightsFile,
} from './testing/files.mjs'
import { outcomeOf } from './testing/outcome.mjs'
import { runFiles } from './testing/run-files.mjs'

const unsteadyFile = path.join(root, 'scripts', 'testing', 'unsteady.json')
const slowestShown = 20
const { ANNAL_SEED: seed = String((Date.now() % 1_000_000_000) + 1) } = process.env
/** So many failed files are no accident of timing. */
const againMax = 5
/** Alone, a file needs less time: one that does not end is not to cost the full time again. */
const againPatience = 0.4

runMain(async (args) => {
  const options = parse(args)
  await ensureInstalled()
  const { files, withCheck } = select(options)
  if (options.list) {
    for (const file of files) console.log(file)
    return 0
  }
  await turbo('build')
  console.log(`annal: ${files.length} test files, ANNAL_SEED=${seed}`)
  const startMs = performance.now()
  const results = await runAll(files, withCheck)
  const unsteady = await runAgain(results, files.length)
  const known = JSON.parse(readFileSync(unsteadyFile, 'utf8'))
  const total = outcomeOf(results, unsteady, known)
  if (options.weigh) weigh(results)
  printSlowest(results, performance.now() - startMs)
  printUnsteady(unsteady, known)
  if (total.passed + total.failed + total.skipped === 0 && files.length > 0) {
    console.log('no test ran')
    total.failed += 1
  }
  if (total.skipped > 0) console.log(`\n${total.skipped} skipped; each says why above`)
  console.log(`${total.passed} passed, ${total.failed} failed`)
  return total.failed > 0 ? 1 : 0
})

function parse(args) {
  const options = { names: [], fast: false, changed: false, ref: undefined, list: false, weigh: false }
  for (const arg of args) {
    if (arg === '--fast' || arg === '--changed' || arg === '--list' || arg === '--weigh') options[arg.slice(2)] = true
    else if (arg.startsWith('-')) throw new SetupError(`unknown option ${arg}; the top of scripts/test.mjs lists them`)
    else if (options.changed && options.ref === undefined) options.ref = arg
    else options.names.push(arg)
  }
  return options
}

function select(options) {
  if (options.names.length > 0) return { files: namedTestFiles(options.names), withCheck: false }
  if (options.fast) return { files: fastTestFiles(), withCheck: false }
  if (!options.changed) return { files: allTestFiles(), withCheck: true }
  const { since, changed, tests, reasons } = changedTestFiles(options.ref)
  if (!options.list) {
    console.log(`annal: ${changed.length} files changed since ${since}`)
    for (const reason of reasons) console.log(`  ${reason}`)
  }
  return { files: tests, withCheck: true }
}

async function runAll(files, withCheck) {
  const jobs = files.map((file) => ({ file, alone: measures.has(file) }))
  if (withCheck) jobs.push({ name: 'npm run check', command: ['npm', 'run', '--silent', 'check'] })
  const results = []
  await runFiles(jobs, {
    weights: readWeights(),
    seed,
    ended: (result) => {
      results.push(result)
      printResult(result)
    },
  })
  return results
}

/** Runs each file that failed once more, alone; returns the results of those that passed now, by file. */
async function runAgain(results, ran) {
  const passed = new Map()
  const failed = results.filter((result) => result.file !== undefined && result.failed > 0).map(({ file }) => file)
  if (ran === 1 || failed.length > againMax) return passed
  if (failed.length > 0) console.log('\nonce more, each alone:')
  const ended = (result) => {
    printResult(result)
    if (result.failed === 0) passed.set(result.file, result)
  }
  const jobs = failed.map((file) => ({ file, alone: true }))
  await runFiles(jobs, { weights: readWeights(), seed, patience: againPatience, ended })
  return passed
}

function printResult({ name, passed, failed, seconds, failures, skips }) {
  console.log(
    `${failed === 0 ? 'ok    ' : 'FAILED'} ${name}  ${passed} passed, ${failed} failed  ${seconds.toFixed(1)} s`,
  )
  for (const skip of skips) console.log(`  skipped: ${skip}`)
  if (failed > 0) for (const line of failures) console.log(`  ${line}`)
}

function printSlowest(results, ms) {
  if (results.length <= 1) return
  const slowest = [...results].sort((a, b) => b.seconds - a.seconds).slice(0, slowestShown)
  console.log(`\nthe slowest of ${results.length}, with the seconds of processor each took:`)
  for (const { name, seconds, cpu } of slowest)
    console.log(`  ${seconds.toFixed(1).padStart(6)} s  ${cpu.toFixed(1).padStart(6)} s  ${name}`)
  const cpu = results.reduce((sum, result) => sum + result.cpu, 0)
  console.log(`  ${(ms / 1_000).toFixed(0)} s in all, ${cpu.toFixed(0)} s of processor`)
}

function printUnsteady(unsteady, known) {
  for (const file of unsteady.keys()) {
    const reason = known[file]
    console.log(
      reason === undefined
        ? `\nunsteady: ${file} failed next to other tests, as printed above, and passed alone; that fails the run`
        : `\nunsteady: ${file} failed next to other tests and passed alone; listed in scripts/testing/unsteady.json: ${reason}`,
    )
  }
}

function weigh(results) {
  const weights = readWeights()
  for (const { file, seconds, cpu } of results)
    if (file !== undefined) weights[file] = { seconds: round(seconds), cpu: round(cpu) }
  const there = new Set(allTestFiles())
  const entries = Object.entries(weights).filter(([file]) => there.has(file))
  const lines = entries
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([file, weight]) => `  ${JSON.stringify(file)}: ${JSON.stringify(weight)}`)
  writeFileSync(weightsFile, `{\n${lines.join(',\n')}\n}\n`)
}

function round(seconds) {
  return Math.round(seconds * 10) / 10
}
