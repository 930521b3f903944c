// What the process does: reads settings from the environment, prints one line when it serves or when it cannot, exits with a meaningful
// code, and stops in order on signals.
import { writeSync } from 'node:fs'
import path from 'node:path'
import { setFlagsFromString } from 'node:v8'
import type { Progress } from '@annal/engine'
import { ConfigError, type ConfigRead, readConfig } from './config.ts'
import { exitOf } from './exit.ts'
import { secondSignalAfterMs } from './limits.ts'
import { memoryLimit } from './memory-limit.ts'
import { resumeOptimizing } from './optimizing.ts'
import { type RunningServer, startServer } from './serve.ts'
import { handleSignals } from './signals.ts'
import { bytesToLoad } from './start-work.ts'
import { trimHeapWhenIdle } from './trim-heap.ts'

/** Opening a directory with no more than this runs little code more than once. */
const littleBytes = 1_048_576
/** With less memory, V8 collects garbage as early as it does by default. */
const heapGrowsFromBytes = 2 ** 30

/** Writes immediately, so that the line appears even if the process exits next. */
function printLine(line: string): void {
  writeSync(2, `${line}\n`)
}

function die(error: unknown): never {
  const { code, lines } = exitOf(error)
  for (const line of lines) printLine(`annal: ${line}`)
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

/** At most one line per second, and only if opening takes long. */
function progressReporter(): (progress: Progress) => void {
  let reportedMs = performance.now()
  return ({ job, collection, done, total, unit }) => {
    if (job === 'checkpoint' || performance.now() - reportedMs < 1_000) return
    reportedMs = performance.now()
    const percent = total > 0 ? ` ${Math.floor((100 * done) / total)} %` : ''
    const suffix = collection === undefined ? '' : ` of ${collection}`
    printLine(
      `annal: starting: ${job === 'replay' ? 'replaying the log' : `loading the snapshot${suffix}`}${percent} (${done} of ${total} ${unit})`,
    )
  }
}

/** A start that a signal interrupts is not a failure: the process ends when the stop is complete. */
let signalled = false
const stopping = new Promise<never>(() => undefined)

function stopOnSignals(server: RunningServer): (signal: string) => void {
  let firstAt = 0
  return (signal) => {
    if (firstAt === 0) {
      firstAt = performance.now()
      signalled = true
      printLine(`annal: ${signal}, stopping`)
      server.stop().then(() => process.exit(0), die)
    } else if (performance.now() - firstAt >= secondSignalAfterMs) {
      printLine(`annal: ${signal} again, exiting at once; every acknowledged write is in the log`)
      process.exit(1)
    }
  }
}

/** A certificate that cannot be loaded is reported, and the old one is kept. */
function reloadTls(server: RunningServer): void {
  server.reloadTls().then(
    () => printLine('annal: reloaded certificate and key'),
    (error: unknown) => printLine(`annal: kept the old certificate: ${exitOf(error).lines.join('; ')}`),
  )
}

// Stored data is outside V8's heap, which has some twenty megabytes and the garbage of requests. By default V8 would run a major
// collection every few hundred requests, which delays other requests. This setting lets the V8 heap grow to its limit before a major
// collection. Where memory is scarce, garbage would take it from collections.
function letHeapGrow(limitBytes: number): void {
  if (limitBytes >= heapGrowsFromBytes) setFlagsFromString('--heap-growing-percent=300')
}

// A second defense after input validation: nothing can be added to the prototype of all objects.
Object.preventExtensions(Object.prototype)

process.on('uncaughtException', die)
process.on('unhandledRejection', die)

const { config, warnings } = settings()
letHeapGrow(memoryLimit(config.memoryMegabytesMax))
for (const warning of warnings) printLine(`annal: ${warning}`)
const server = await startServer(config, { onProgress: progressReporter(), onFailed: die }).catch(die)
// It listens, and begins to open the engine.
if (bytesToLoad(config.dataDir) > littleBytes) resumeOptimizing()
handleSignals(stopOnSignals(server), config.tlsCert === undefined ? undefined : () => reloadTls(server))
await server.ready.catch((error) => (signalled ? stopping : die(error)))
process.stdout.write(
  `Annal serves ${server.address} with data in ${path.resolve(config.dataDir)} (press Ctrl-C to stop)\n`,
)
resumeOptimizing()
trimHeapWhenIdle(() => server.collectGarbage())
