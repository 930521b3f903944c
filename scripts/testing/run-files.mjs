// Runs test files next to each other, each a process of its own. It promises that no more run at once than the cores of the machine can
// take, that nothing of a file outlives it (processes, temporary files), and that each ends.
//
// The longest begin first. A file that mostly waits takes less than a core, so that another can run meanwhile; one that measures
// runs when nothing else does.
import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { availableParallelism, constants, getPriority, tmpdir } from 'node:os'
import path from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { environment, node, root } from '../setup.mjs'
import { tapBundle } from './tap-bundle.mjs'
import { tapCounter } from './tap-counter.mjs'

const preload = new URL('preload.mjs', import.meta.url).href
const { ANNAL_LONG } = process.env
/** A file may take so many times as long as it took last, and at least and at most so many seconds. */
const limitFactor = 10
const limitSeconds = ANNAL_LONG === undefined ? { min: 300, max: 900 } : { min: 86_400, max: 86_400 }
/** How long a file may take to say where it waits and to end, before it is killed. */
const lastWordsMs = 120_000
/** How long what a file started may take to end once the file has. */
const leaversMs = 2_000
/** The least share of a core that a file counts for, however much it waits. */
const shareMin = 0.4
/** So much more than there are cores may be in use, because no file uses its share all the time. */
const spare = 0.4
/** What an unknown file is taken for. */
const unknown = { seconds: 5, cpu: 5 }
/** Runs a command and then writes the processor time of it and of what it waited for. */
const timed = '"$@" 3>&-; code=$?; times >&3; exit $code'

/**
 * Runs `jobs` ({ file, alone } or { name, command }) and calls `ended` with each result: { file, passed, failed, skipped, failures,
 * skips, seconds, cpu }. `weights` say what each took last; `patience` multiplies the time that tests and files may take.
 */
export async function runFiles(jobs, { weights, cores = availableParallelism(), seed, ended, patience = 1 }) {
  const tap = await tapBundle()
  const temporary = mkdtempSync(path.join(tmpdir(), 'annal-test-'))
  const groups = new Set()
  const stopSignals = endOnSignal(groups, temporary)
  const waiting = jobs.map((job) => ({ ...job, ...demandOf(job, weights[job.file], cores) })).sort(byLength)
  const running = new Set()
  let used = 0
  try {
    for (let number = 0; waiting.length + running.size > 0; ) {
      // None is passed by a shorter one: those that need a whole core would otherwise be left for the end.
      const fits = waiting.length > 0 && !waiting[0].alone && used + waiting[0].share <= cores + spare
      if (running.size > 0 && !fits) {
        await Promise.race(running)
        continue
      }
      const job = waiting.shift()
      used += job.share
      const folder = path.join(temporary, String(number++))
      const secondsMax = secondsMaxOf(job, weights[job.file]) * patience
      const done = runJob(job, { folder, groups, seed, secondsMax, tap }).then((result) => {
        running.delete(done)
        used -= job.share
        ended(result)
      })
      running.add(done)
    }
  } finally {
    stopSignals()
    leftIn(temporary)
  }
}

function demandOf(job, weight = unknown, cores) {
  // A command says nothing of what it takes, and begins first.
  const seconds = job.file === undefined ? Number.POSITIVE_INFINITY : weight.seconds
  if (job.alone) return { seconds, share: cores }
  const share = job.file === undefined ? 1 : weight.cpu / Math.max(weight.seconds, 0.1)
  // A file with several threads would have to wait until nothing else runs.
  return { seconds, share: Math.min(Math.max(1, cores / 2), Math.max(shareMin, share)) }
}

/** What takes longer does not end, as far as can be known. */
function secondsMaxOf(job, weight = unknown) {
  if (job.file === undefined) return limitSeconds.max
  return Math.min(Math.max(limitSeconds.min, limitFactor * weight.seconds), limitSeconds.max)
}

/** Those that need the machine come last, when the others are done. */
function byLength(a, b) {
  return Number(a.alone ?? false) - Number(b.alone ?? false) || b.seconds - a.seconds || (a.file < b.file ? -1 : 1)
}

async function runJob(job, { folder, groups, seed, secondsMax, tap }) {
  mkdirSync(folder)
  const counter = job.file === undefined ? undefined : tapCounter()
  const output = []
  const keep = counter ? counter.line : (text) => output.push(text)
  const [command, ...args] = job.command ?? [node, '--conditions=annal-source', `--import=${preload}`, job.file]
  const startMs = performance.now()
  const child = spawn('/bin/sh', ['-c', timed, 'sh', command, ...args], {
    cwd: root,
    detached: true,
    stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
    env: environment({
      TMPDIR: folder,
      NODE_COMPILE_CACHE: path.join(root, 'node_modules', '.cache', 'compiled'),
      TAP_TIMEOUT: String(secondsMax),
      ANNAL_FILE_SECONDS: String(secondsMax),
      ANNAL_SEED: seed,
      ANNAL_TAP: tap,
      // Who runs files has built before.
      ANNAL_BUILT: '1',
    }),
  })
  groups.add(child.pid)
  beAsNice(child.pid)
  for (const stream of [child.stdout, child.stderr]) createInterface({ input: stream }).on('line', keep)
  let times = ''
  child.stdio[3].setEncoding('utf8').on('data', (text) => {
    times += text
  })
  const { code, fault: faultOfEnd } = await endOf(child, secondsMax)
  groups.delete(child.pid)
  const fault = faultOfEnd ?? leftIn(folder)
  const seconds = (performance.now() - startMs) / 1_000
  const counts = counter?.end({ code, fault }) ?? commandResult(code, output)
  return { file: job.file, name: job.name ?? job.file, ...counts, seconds, cpu: cpuOf(times) }
}

/** Seconds, from what `times` of a shell writes: user and system time of the shell, and in the second line those of its children. */
function cpuOf(times) {
  const [, children = ''] = times.split('\n')
  return [...children.matchAll(/(\d+)m([\d.]+)s/g)].reduce(
    (sum, [, minutes, seconds]) => sum + 60 * Number(minutes) + Number(seconds),
    0,
  )
}

/** Removes the folder. Returns why it cannot be: a file that timed out may have left a mounted file system. */
function leftIn(folder) {
  try {
    rmSync(folder, { recursive: true, force: true, maxRetries: 5 })
  } catch (error) {
    return `the file left what cannot be removed: ${error.message}`
  }
}

function commandResult(code, output) {
  return { passed: 0, failed: code === 0 ? 0 : 1, skipped: 0, failures: code === 0 ? [] : output, skips: [] }
}

/** Linux weighs sessions against each other, and this one is new: `nice npm test` is to yield to other sessions, too. */
function beAsNice(pid) {
  if (process.platform !== 'linux' || getPriority() <= 0) return
  try {
    writeFileSync(`/proc/${pid}/autogroup`, String(getPriority()))
  } catch {
    // There are no groups of sessions here, or the process ended.
  }
}

/** Resolves when the process and all it started are gone. */
async function endOf(child, secondsMax) {
  let fault
  const startMs = performance.now()
  const limit = setTimeout(() => endGroup(child.pid), secondsMax * 1_000 + lastWordsMs)
  const exited = new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code, signal) => resolve(code ?? 128 + constants.signals[signal]))
  })
  const closed = new Promise((resolve) => child.once('close', resolve))
  const code = await exited
  clearTimeout(limit)
  if (performance.now() - startMs >= secondsMax * 1_000) {
    fault = `the file did not end within ${secondsMax} s`
    endGroup(child.pid)
  }
  const endMs = performance.now() + leaversMs
  while (membersOf(child.pid).length > 0 && performance.now() < endMs) await sleep(20)
  const left = membersOf(child.pid)
  if (left.length > 0) {
    fault ??= `the file left processes running: ${left.join('; ')}`
    endGroup(child.pid)
  }
  // What left the group may hold the pipes for as long as it likes.
  await Promise.race([closed, sleep(leaversMs, undefined, { ref: false })])
  for (const stream of child.stdio) stream?.destroy()
  return { code, fault }
}

/** The command lines of the living processes of a group. */
function membersOf(group) {
  try {
    process.kill(-group, 0)
  } catch {
    return []
  }
  if (process.platform !== 'linux') return [`process group ${group}`]
  return readdirSync('/proc').flatMap((name) => {
    if (!/^\d+$/.test(name)) return []
    try {
      const [state, , member] = statOf(name)
      if (Number(member) !== group || state === 'Z') return []
      return [readFileSync(`/proc/${name}/cmdline`, 'utf8').replaceAll('\0', ' ').trim().slice(0, 200)]
    } catch {
      return [] // It ended meanwhile.
    }
  })
}

/** The fields of /proc/PID/stat from the third, the state, on. */
function statOf(pid) {
  return readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ')
}

function endGroup(pid) {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It ended meanwhile.
  }
}

/** On Ctrl-C and the like nothing is left behind. */
function endOnSignal(groups, temporary) {
  const signals = ['SIGINT', 'SIGTERM', 'SIGHUP']
  const handler = (signal) => {
    for (const group of groups) endGroup(group)
    rmSync(temporary, { recursive: true, force: true, maxRetries: 5 })
    process.exit(128 + constants.signals[signal])
  }
  for (const signal of signals) process.on(signal, handler)
  return () => {
    for (const signal of signals) process.off(signal, handler)
  }
}
