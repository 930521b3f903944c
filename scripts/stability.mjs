// `node scripts/stability.mjs`: runs test files again and again, to find those that do not always answer the same, and keeps
// its tally in scripts/testing/stability.json, so that it goes on where it stopped.
//
//   --status         prints what is still to run and ends
//   --minutes N      ends after so long; without it, when everything has run
//   --side SIDE      only runs that count as `alone`, or only those that count as `loaded`
//   FILE | FOLDER    only these
//
// A file is run `alone`, with nothing else on the machine, and `loaded`, next to twice as many busy processes as there are cores:
// 20 times each where it uses threads, processes, sockets or timers, 25 times each, every time with another seed, where it is
// random, and 3 times each otherwise. A run counts as `alone` only when the machine is idle at its start and as `loaded` on a
// machine that is busy anyway. A file whose text, or that of the test programs it reaches, has changed begins again; a change of
// the sources alone does not, and `commit` says where the last run was.
import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { availableParallelism, loadavg, setPriority } from 'node:os'
import path from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { ensureInstalled, node, root, runMain, SetupError, turbo } from './setup.mjs'
import { allTestFiles, namedTestFiles, readWeights } from './testing/files.mjs'
import { closureOf, openGraph } from './testing/graph.mjs'
import { runFiles } from './testing/run-files.mjs'
import { traitsOf } from './testing/traits.mjs'

const tallyFile = path.join(root, 'scripts', 'testing', 'stability.json')
const cores = availableParallelism()
const seedFirst = 910_100
const failuresKept = 5

runMain(async (args) => {
  const options = parse(args)
  await ensureInstalled()
  const files = options.names.length > 0 ? namedTestFiles(options.names) : allTestFiles()
  const tally = updated(readTally(), allTestFiles())
  if (options.status) return printStatus(tally, files)
  setPriority(19)
  await turbo('build')
  const endMs = performance.now() + options.minutes * 60_000
  while (performance.now() < endMs) {
    const next = nextRun(tally, files, options.side)
    if (next === undefined) break
    await runOnce(tally, next)
    writeTally(tally)
  }
  return printStatus(tally, files)
})

function parse(args) {
  const options = { names: [], status: false, minutes: Number.POSITIVE_INFINITY, side: undefined }
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]
    if (arg === '--status') options.status = true
    else if (arg === '--minutes') options.minutes = Number(args[++i])
    else if (arg === '--side') options.side = args[++i]
    else if (arg.startsWith('-'))
      throw new SetupError(`unknown option ${arg}; the top of scripts/stability.mjs lists them`)
    else options.names.push(arg)
  }
  if (![undefined, 'alone', 'loaded'].includes(options.side)) throw new SetupError('--side is alone or loaded')
  return options
}

function readTally() {
  return existsSync(tallyFile) ? JSON.parse(readFileSync(tallyFile, 'utf8')) : {}
}

/** One line for each file, so that two tallies merge. */
function writeTally(tally) {
  const lines = Object.keys(tally)
    .sort()
    .map((file) => `  ${JSON.stringify(file)}: ${JSON.stringify(tally[file])}`)
  writeFileSync(`${tallyFile}.tmp`, `{\n${lines.join(',\n')}\n}\n`)
  renameSync(`${tallyFile}.tmp`, tallyFile)
}

/** The tally for the files as they are now. */
function updated(tally, files) {
  const graph = openGraph()
  return Object.fromEntries(
    files.map((file) => {
      const hash = hashOf(graph, file)
      const traits = [...traitsOf(graph, file)].sort()
      const before = tally[file]?.hash === hash ? tally[file] : { alone: 0, loaded: 0, failures: [] }
      return [file, { ...before, hash, traits, runs: traits.includes('random') ? 25 : traits.length > 0 ? 20 : 3 }]
    }),
  )
}

/** Of the file and the test programs and helpers it reaches. */
function hashOf(graph, file) {
  const hash = createHash('sha256')
  const reached = [...closureOf(graph, file)].filter((one) => /(^|\/)test\//.test(one) && graph.files.has(one)).sort()
  for (const one of reached) hash.update(`${one}\n`).update(readFileSync(path.join(root, one)))
  return hash.digest('hex').slice(0, 16)
}

/** The least tried first, those that have failed before all others; none runs twice before the others of its kind have once. */
function nextRun(tally, files, side) {
  const sides = side === undefined ? (isBusy() ? ['loaded'] : ['alone', 'loaded']) : [side]
  const open = files.flatMap((file) => {
    const entry = tally[file]
    return sides
      .filter((one) => entry[one] < entry.runs)
      .map((one) => ({ file, side: one, share: entry[one] / entry.runs, suspect: suspicionOf(entry) }))
  })
  open.sort((a, b) => b.suspect - a.suspect || a.share - b.share || (a.file < b.file ? -1 : 1))
  return open[0]
}

function suspicionOf({ failures, runs, alone, loaded }) {
  if (failures.length > 0) return 3
  return runs > 3 && alone + loaded < 3 ? 2 : runs > 3 ? 1 : 0
}

/** Whether something else keeps the machine at work. */
function isBusy() {
  return loadavg()[0] > cores * 1.5
}

async function runOnce(tally, { file, side }) {
  const entry = tally[file]
  const seed = seedFirst + entry.alone + entry.loaded + entry.failures.length
  const burners = side === 'loaded' && !isBusy() ? Array.from({ length: 2 * cores }, burner) : []
  if (side === 'alone') while (isBusy()) await sleep(5_000)
  const load = loadavg()[0]
  await runFiles([{ file, alone: true }], {
    weights: readWeights(),
    seed: String(seed),
    // At the lowest priority a file may wait for most of its time.
    patience: 10,
    ended: (result) => {
      const ok = result.failed === 0
      console.log(
        `${ok ? 'ok    ' : 'FAILED'} ${file}  ${side}, seed ${seed}, load ${load.toFixed(0)}  ${result.seconds.toFixed(1)} s`,
      )
      if (!ok) for (const line of result.failures) console.log(`  ${line}`)
      entry.commit = commit()
      if (ok) entry[side]++
      else entry.failures = [...entry.failures, { side, seed, said: firstOf(result.failures) }].slice(-failuresKept)
    },
  })
  for (const one of burners) one.kill('SIGKILL')
}

function burner() {
  return spawn(node, ['-e', 'for (;;);'], { stdio: 'ignore' })
}

function firstOf(failures) {
  return (failures.find((line) => /not ok/.test(line)) ?? failures[0] ?? '').trim().slice(0, 160)
}

function commit() {
  return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { cwd: root, encoding: 'utf8' }).trim()
}

function printStatus(tally, files) {
  let [done, wanted, failed] = [0, 0, 0]
  const weights = readWeights()
  let seconds = 0
  for (const file of files) {
    const { alone, loaded, runs, failures } = tally[file]
    const ran = Math.min(alone, runs) + Math.min(loaded, runs)
    done += ran
    wanted += 2 * runs
    seconds += (2 * runs - ran) * (weights[file]?.seconds ?? 5)
    if (failures.length > 0) {
      failed++
      console.log(`${file}: ${failures.map(({ side, seed, said }) => `${side}, seed ${seed}: ${said}`).join('; ')}`)
    }
  }
  const finished = files.filter(
    (file) => tally[file].alone >= tally[file].runs && tally[file].loaded >= tally[file].runs,
  )
  console.log(
    `${done} of ${wanted} runs passed, ${finished.length} of ${files.length} files are through, ${failed} have failed`,
  )
  console.log(`about ${(seconds / 3_600).toFixed(1)} hours are left on a quiet machine`)
  return failed > 0 ? 1 : 0
}
