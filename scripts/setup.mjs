// Makes a checkout ready to run: installs what is missing and builds what changed. It promises that afterwards
// node_modules/.bin/node is the Node.js this repository is written for, whatever version started the script.
// Plain JavaScript for Node.js 20 and no imports beyond it, because it runs before anything is installed.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { constants } from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = path.resolve(path.dirname(fileURLToPath(import.meta.url)), '..')
export const bin = path.join(root, 'node_modules', '.bin')
export const node = path.join(bin, 'node')

const lockFile = path.join(root, 'package-lock.json')
const stampFile = path.join(root, 'node_modules', '.annal-installed')
const npmRecord = path.join(root, 'node_modules', '.package-lock.json')

/** A failed step, reported in one sentence. */
export class SetupError extends Error {}

/** Runs a script's main function and turns its result, or its failure, into the exit code. */
export function runMain(main) {
  main(process.argv.slice(2)).then(
    (code) => {
      process.exitCode = code
    },
    (error) => {
      console.error(error instanceof SetupError ? `\nannal: ${error.message}` : error)
      process.exitCode = error.exitCode ?? 1
    },
  )
}

/** Installs the dependencies unless they are there and as new as package-lock.json. */
export async function ensureInstalled() {
  const wanted = installStamp()
  if (isInstalled(wanted)) return
  checkNodeVersion()
  console.error('annal: installing dependencies; the first time this takes about half a minute')
  const startMs = performance.now()
  // On a clean checkout exactly what the lock file says. Where something is installed already `npm install` keeps to the lock file
  // too, repairs an incomplete installation, and leaves everything else unchanged.
  const command = existsSync(npmRecord) ? ['install', '--no-save'] : ['ci']
  const args = [...command, '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error']
  await step('npm', args, 'the dependencies could not be installed; npm says why above')
  if (!existsSync(node)) {
    throw new SetupError(
      'npm finished but left no node_modules/.bin/node: are install scripts switched off (npm config get ignore-scripts)?',
    )
  }
  writeFileSync(stampFile, wanted)
  console.error(`annal: installed in ${((performance.now() - startMs) / 1_000).toFixed(0)} s`)
}

/** Runs turbo tasks over the workspaces; what did not change comes from the cache and prints nothing. */
export async function turbo(...tasks) {
  const notice = setTimeout(
    () => console.error('annal: building what changed; the first time this takes about two minutes'),
    1_500,
  )
  await step(
    path.join(bin, 'turbo'),
    ['run', ...tasks, '--cache=local:rw', '--output-logs=errors-only', '--log-order=grouped', '--ui=stream'],
    `the build failed (turbo run ${tasks.join(' ')}); the first error above is the reason`,
    { quiet: true },
  ).finally(() => clearTimeout(notice))
}

/** Resolves to the exit code; signals sent to this process reach the child, and a death by signal becomes 128 + its number. */
export function run(command, args, options = {}) {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { stdio: 'inherit', ...options, env: environment(options.env) })
    const stopForwarding = forwardSignals(child)
    options.onChild?.(child)
    child.once('error', (error) => {
      stopForwarding()
      reject(new SetupError(`cannot run ${path.basename(command)}: ${error.message}`))
    })
    child.once('close', (code, signal) => {
      stopForwarding()
      resolve(code ?? 128 + constants.signals[signal])
    })
  })
}

/** Node.js 24 first on the path, and tools that keep to themselves. */
export function environment(extra = {}) {
  return {
    ...process.env,
    PATH: `${bin}${path.delimiter}${process.env.PATH ?? ''}`,
    TURBO_TELEMETRY_DISABLED: '1',
    TURBO_NO_UPDATE_NOTIFIER: '1',
    DO_NOT_TRACK: '1',
    NO_UPDATE_NOTIFIER: '1',
    ...extra,
  }
}

/**
 * A terminal gives Ctrl-C to the whole process group, npm then sends it once more, and `kill` gives it to one process
 * only. So signals are passed on, but not twice within a second, and the server takes a second one for the same wish.
 */
function forwardSignals(child) {
  const handlers = ['SIGINT', 'SIGTERM', 'SIGHUP'].map((signal) => {
    let passedOnAt = 0
    const handler = () => {
      if (Date.now() - passedOnAt > 1_000) child.kill(signal === 'SIGHUP' ? 'SIGTERM' : signal)
      passedOnAt = Date.now()
    }
    process.on(signal, handler)
    return { signal, handler }
  })
  return () => {
    for (const { signal, handler } of handlers) process.off(signal, handler)
  }
}

/** Like `run`, but anything except success ends the script; with `quiet` the output is shown only on failure. */
async function step(command, args, failure, { quiet = false } = {}) {
  const kept = []
  const keep = (child) => {
    for (const stream of [child.stdout, child.stderr]) stream?.on('data', (bytes) => kept.push(bytes))
  }
  const code = await run(command, args, {
    cwd: root,
    ...(quiet ? { stdio: ['ignore', 'pipe', 'pipe'], onChild: keep } : {}),
  })
  if (code === 0) return
  process.stderr.write(Buffer.concat(kept))
  throw Object.assign(new SetupError(code >= 128 ? 'interrupted' : failure), { exitCode: code >= 128 ? code : 1 })
}

/** What an installation depends on besides the registry. */
function installStamp() {
  const lock = createHash('sha256').update(readFileSync(lockFile)).digest('hex')
  return `${process.platform}-${process.arch} ${lock}\n`
}

function isInstalled(wanted) {
  if (!existsSync(node)) return false
  if (existsSync(stampFile) && readFileSync(stampFile, 'utf8') === wanted) return true
  // Somebody ran `npm install` in a working copy: npm's own record is then at least as new as the lock file it wrote.
  if (!existsSync(npmRecord) || statSync(npmRecord).mtimeMs < statSync(lockFile).mtimeMs) return false
  writeFileSync(stampFile, wanted)
  return true
}

function checkNodeVersion() {
  const major = Number(process.versions.node.split('.')[0])
  if (major < 20) throw new SetupError(`Node.js 20 or newer is needed to install; this is ${process.versions.node}`)
}
