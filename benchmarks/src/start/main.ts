// `node scripts/run.mjs benchmarks/src/start/main.ts`: time until a collection of a million objects answers after a start, compared with
// reading its files; speed of replaying a tail of the log, compared with inserting it; effect of a checkpoint on writes and searches; size
// of the process, compared with the sum of its parts; memory that a vacuum frees after nine of ten objects were deleted. `--objects N`,
// `--tail N`, `--dir DIR` (kept, and used again if it is filled), `--probe N` (the object of the first query), `--json FILE`. Exits with
// code 1 if a figure misses its limit, and fails if the object is not found, which can happen (docs/kernel.md).
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { readOptions } from '../options.ts'
import { type Load, roundMs } from './load.ts'

const values = readOptions({
  objects: 1_000_000,
  tail: 50_000,
  dir: String,
  probe: Number,
  json: String,
})
const { objects, tail } = values
const probe = values.probe ?? Math.floor(objects / 7)
const dir = values.dir ?? mkdtempSync(join(os.tmpdir(), 'annal-start-'))
const dataDir = join(dir, 'data')

interface Filled {
  readonly fillMs: number
  readonly checkpointMs: number
  readonly quiet: Load
  readonly busy: Load
  readonly liveMs: number
  readonly liveCpuMs: number
  readonly tailRecords: number
}

interface Opened {
  readonly importedMs: number
  readonly openedMs: number
  readonly answeredMs: number
  readonly cpuMs: number
  readonly objects: number
  readonly replayed: number
  readonly memory: { readonly [part: string]: number }
  readonly rssBytes: number
  readonly rssPeakBytes: number
}

const factsFile = join(dir, 'filled.json')
if (!existsSync(factsFile)) writeFileSync(factsFile, await runChild('fill.ts', [dataDir, `${objects}`, `${tail}`]))
const filled = JSON.parse(readFileSync(factsFile, 'utf8')) as Filled
const withTail = await measureOpen()
// Many replayed rows cause a checkpoint; an orderly stop writes one in any case.
await settle()
const catMs = best(() => catOf(newestCheckpoint()))
const starts = [await measureOpen(), await measureOpen(), await measureOpen()].sort(
  (a, b) => a.answeredMs - b.answeredMs,
)
const start = starts[1] as Opened
const vacuumed = await vacuumOfCopy()
const figures = figuresOf(start)
const built = process.execArgv.includes('--conditions=annal-source') ? '' : '--built '
const report = {
  command: `node scripts/run.mjs ${built}benchmarks/src/start/main.ts --objects ${objects} --tail ${tail}`,
  machine: `${os.cpus()[0]?.model ?? 'unknown processor'}, ${os.availableParallelism()} cores, ${Math.round(os.totalmem() / 2 ** 30)} GiB, Node ${process.version}, load ${os
    .loadavg()
    .map((load) => load.toFixed(1))
    .join(' ')}`,
  objects,
  dimension: 128,
  precision: 'int8',
  figures,
  details: { filled, withTail, starts, vacuumed, catMs, checkpointBytes: bytesBelow(newestCheckpoint()) },
}
const text = `${JSON.stringify(report, undefined, 2)}\n`
console.log(text)
if (values.json !== undefined) writeFileSync(values.json, text)
if (values.dir === undefined) rmSync(dir, { recursive: true })
process.exitCode = Object.values(figures).every(({ reached }) => reached) ? 0 : 1

interface Vacuumed {
  readonly before: { readonly objects: number; readonly bytes: number; readonly rssBytes: number }
  readonly after: Vacuumed['before']
  readonly deleteMs: number
  readonly vacuumMs: number
}

interface Figure {
  readonly is: number
  readonly wanted: string
  readonly reached: boolean
}

function figuresOf({ answeredMs, cpuMs, memory, rssBytes }: Opened): { readonly [name: string]: Figure } {
  const parts = Object.values(memory).reduce((sum, bytes) => sum + bytes, 0)
  // Measured in CPU time, because both use every core, and other processes do, too.
  const replayCpuMs = withTail.cpuMs - cpuMs
  const { quiet, busy } = filled
  return {
    startMs: atMost(answeredMs, catMs * 1.5 + 1_000, `1.5 x cat (${roundMs(catMs)} ms) + 1 s`),
    // A directory that was opened and closed since it was filled has no tail, so there is no replay to measure.
    ...(withTail.replayed > 0 && {
      replayAgainstLive: atMost(replayCpuMs / filled.liveCpuMs, 1, 'the CPU time of the live insert'),
    }),
    writeP99InCheckpoint: atMost(busy.writes.p99Ms / quiet.writes.p99Ms, 5, '5 x the p99 without'),
    writeStallMs: atMost(busy.writes.maxMs, 250, '250 ms'),
    searchP99InCheckpoint: atMost(busy.searches.p99Ms / quiet.searches.p99Ms, 1.5, '1.5 x the p99 without'),
    sizeAgainstParts: atMost(rssBytes / parts, 1.3, '1.3 x the sum of the parts'),
    leftAfterVacuum: atMost(
      vacuumed.after.bytes / vacuumed.before.bytes,
      0.15,
      'the share of the bytes of before nine objects of ten were deleted',
    ),
  }
}

function atMost(is: number, limit: number, wanted: string): Figure {
  return { is: roundMs(is), wanted: `at most ${wanted}: ${roundMs(limit)}`, reached: is <= limit }
}

async function measureOpen(): Promise<Opened> {
  return JSON.parse(await runChild('open.ts', [dataDir, String(probe)])) as Opened
}

/** Runs a child process until it has printed its line, then kills it like a crash. */
async function runChild(file: string, args: readonly string[]): Promise<string> {
  const main = fileURLToPath(new URL(file, import.meta.url))
  const running = spawn(process.execPath, [...process.execArgv, main, ...args], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const line = await new Promise<string>((resolve, reject) => {
    let said = ''
    running.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      said += chunk
      if (said.endsWith('\n')) resolve(said)
    })
    running.on('close', (code) => reject(new Error(`${file} exited with code ${code} before it was done`)))
  })
  running.kill('SIGKILL')
  return line
}

/** Uses a copy, because the directory may be measured again. */
async function vacuumOfCopy(): Promise<Vacuumed> {
  const copy = join(dir, 'copy')
  cpSync(dataDir, copy, { recursive: true })
  try {
    return JSON.parse(await runChild('vacuum.ts', [copy])) as Vacuumed
  } finally {
    rmSync(copy, { recursive: true })
  }
}

async function settle(): Promise<void> {
  const { openEngine } = await import('@annal/engine')
  const engine = await openEngine({ dataDir })
  await engine.close()
}

function newestCheckpoint(): string {
  const name = readdirSync(join(dataDir, 'checkpoints')).sort().at(-1)
  if (name === undefined) throw new Error('no checkpoint found')
  return join(dataDir, 'checkpoints', name)
}

/** The files that a start reads; original vectors are only opened. */
function filesReadBelow(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => name.endsWith('.snap') || name === 'manifest.json')
    .map((name) => join(folder, name))
}

function catOf(folder: string): number {
  const files = filesReadBelow(folder)
  const from = performance.now()
  execFileSync('sh', ['-c', 'cat "$@" > /dev/null', 'sh', ...files])
  return performance.now() - from
}

function best(measure: () => number): number {
  return Math.min(...Array.from({ length: 3 }, measure))
}

function bytesBelow(folder: string): number {
  return filesReadBelow(folder).reduce((sum, path) => sum + statSync(path).size, 0)
}
