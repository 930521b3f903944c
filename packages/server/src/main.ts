// The process: settings from the environment, one friendly line when it serves, one clear line and a telling exit code when
// it cannot, an orderly end on SIGINT and SIGTERM.
import { writeSync } from 'node:fs'
import path from 'node:path'
import { setFlagsFromString } from 'node:v8'
import type { Progress } from '@annal/engine'
import { ConfigError, type ConfigRead, readConfig } from './config.ts'
import { exitOf } from './exit.ts'
import { secondSignalAfterMs } from './http/limits.ts'
import { type RunningServer, startServer } from './serve.ts'

/** Written at once, whatever happens to the process next. */
function say(line: string): void {
  writeSync(2, `${line}\n`)
}

function die(error: unknown): never {
  const { code, lines } = exitOf(error)
  for (const line of lines) say(`annal: ${line}`)
  process.exit(code)
}

function settings(): ConfigRead {
  try {
    return readConfig(process.env)
  } catch (error) {
    if (error instanceof ConfigError) die(error)
    throw error
  }
}

/** At most one line a second, and only when opening takes long enough for somebody to wonder. */
function progressTeller(): (progress: Progress) => void {
  let told = Date.now()
  return ({ job, collection, done, total, unit }) => {
    if (job === 'checkpoint' || Date.now() - told < 1_000) return
    told = Date.now()
    const percent = total > 0 ? ` ${Math.floor((100 * done) / total)} %` : ''
    const of = collection === undefined ? '' : ` of ${collection}`
    say(
      `annal: starting: ${job === 'replay' ? 'replaying the log' : `loading the snapshot${of}`}${percent} (${done} of ${total} ${unit})`,
    )
  }
}

/** A start that a signal cut short is no failure: the process ends when the stop is done, and nothing else happens until then. */
let signalled = false
const ending = new Promise<never>(() => undefined)

function stopOnSignals(server: RunningServer): void {
  let firstAt = 0
  const onSignal = (signal: string): void => {
    if (firstAt === 0) {
      firstAt = Date.now()
      signalled = true
      say(`annal: ${signal}, stopping`)
      server.stop().then(() => process.exit(0), die)
    } else if (Date.now() - firstAt >= secondSignalAfterMs) {
      say(`annal: ${signal} again, exiting at once; every acknowledged write is in the log`)
      process.exit(1)
    }
  }
  process.on('SIGINT', onSignal)
  process.on('SIGTERM', onSignal)
}

/** A certificate that cannot be taken is told, and the old one stays. */
function renewOnHangup(server: RunningServer): void {
  process.on('SIGHUP', () => {
    server.reloadTls().then(
      () => say('annal: reloaded certificate and key'),
      (error: unknown) => say(`annal: kept the old certificate: ${exitOf(error).lines.join('; ')}`),
    )
  })
}

// What is stored is not in V8's heap: it holds some twenty megabytes and what requests leave behind. By itself V8 would look all of
// it over every few hundred requests, which holds up whoever asks meanwhile; this is the growth that it allows itself at most.
setFlagsFromString('--heap-growing-percent=300')

// A second wall behind the checks of every input: nothing can be planted on the object that all others inherit from.
Object.preventExtensions(Object.prototype)

process.on('uncaughtException', die)
process.on('unhandledRejection', die)

const { config, warnings } = settings()
for (const warning of warnings) say(`annal: ${warning}`)
const server = await startServer(config, { onProgress: progressTeller(), onFailed: die }).catch(die)
stopOnSignals(server)
if (config.tlsCert !== undefined) renewOnHangup(server)
await server.ready.catch((error) => (signalled ? ending : die(error)))
process.stdout.write(
  `Annal serves ${server.address} with data in ${path.resolve(config.dataDir)} (press Ctrl-C to stop)\n`,
)
