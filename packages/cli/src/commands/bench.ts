// `annal bench record | generate | replay | compare`.
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { connect } from '@annal/client'
import type { Precision } from '@annal/engine'
import {
  type Comparison,
  compareResults,
  type EngineTargetOptions,
  engineTarget,
  generateTrace,
  type OpenTrace,
  openTrace,
  ReplayError,
  type ReplayResult,
  recordTrace,
  replayTrace,
  reportOf,
  serverTarget,
  type TraceSummary,
  type Workload,
  type WorkloadSize,
} from '@annal/replay'
import { amount, countText, objectsText } from '../amounts.ts'
import { existingDataDir } from '../data-dir.ts'
import { CommandEnd, exitCode, usageError } from '../exit-code.ts'
import { secretOf } from '../secrets.ts'
import type { Terminal } from '../terminal.ts'
import { unlessInterrupted } from '../whole-files.ts'

export interface RecordCommand {
  readonly out: string
  readonly fromLsn?: number
  readonly toLsn?: number
  readonly fromTime?: number
  readonly toTime?: number
  readonly anonymize?: boolean
  /** @deprecated Use `--anonymize`. */
  readonly anonymise?: boolean
  readonly rotate?: boolean
  readonly json?: boolean
}

export async function record(given: string | undefined, options: RecordCommand, terminal: Terminal): Promise<number> {
  const { out, fromLsn, toLsn, fromTime, toTime, rotate } = options
  const anonymize = options.anonymize ?? options.anonymise
  if (rotate && !anonymize) throw usageError('--rotate requires --anonymize')
  const summary = await tracing(out, () =>
    recordTrace({
      dataDir: existingDataDir(given),
      out,
      ...(fromLsn !== undefined && { lsnFrom: fromLsn }),
      ...(toLsn !== undefined && { lsnTo: toLsn }),
      ...(fromTime !== undefined && { timeFrom: fromTime }),
      ...(toTime !== undefined && { timeTo: toTime }),
      ...(anonymize && { anonymize: { rotate: rotate ?? false } }),
      onProgress: (records) => terminal.bar.show('recording', records, undefined),
    }),
  )
  return written(out, summary, options, terminal)
}

export async function generate(
  workload: string,
  options: Partial<WorkloadSize> & { readonly out: string; readonly json?: boolean },
  terminal: Terminal,
): Promise<number> {
  const { json: _, ...size } = options
  const onProgress = (entries: number) => terminal.bar.show('writing', entries, undefined)
  // generateTrace checks the workload name and reports the valid ones.
  const summary = await tracing(options.out, () =>
    generateTrace({ ...size, workload: workload as Workload, onProgress }),
  )
  return written(options.out, summary, options, terminal)
}

/** A trace is written to a file of this name until it is complete. */
function tracing(out: string, work: () => Promise<TraceSummary>): Promise<TraceSummary> {
  return endOnFailure(unlessInterrupted(() => [`${out}.part`], work))
}

function written(
  out: string,
  summary: TraceSummary,
  { json }: { readonly json?: boolean },
  terminal: Terminal,
): number {
  if (json) terminal.line(JSON.stringify(summary))
  else
    terminal.line(
      `${out}: ${countText(summary.events, 'event')}, ${amount(summary.queries)} ${summary.queries === 1 ? 'search' : 'searches'}`,
    )
  return exitCode.good
}

export interface ReplayCommand {
  readonly server?: string
  readonly tokenFile?: string
  readonly speed?: 'max' | number
  readonly precision?: string
  readonly M?: number
  readonly efConstruction?: number
  readonly threads?: number
  readonly until?: number
  readonly stretches?: number
  readonly fsync?: 'always' | 'interval' | 'none'
  readonly scratch?: string
  readonly out?: string
  readonly html?: string
  readonly json?: boolean
}

const precisions: readonly string[] = [
  'binary',
  'int2',
  'int4',
  'int8',
  'int16',
  'float16',
  'float32',
] satisfies Precision[]

export async function replay(path: string, options: ReplayCommand, terminal: Terminal): Promise<number> {
  const wanted = options.precision?.split(',') ?? [undefined]
  const wrong = wanted.find((precision) => precision !== undefined && !precisions.includes(precision))
  if (wrong !== undefined) throw usageError(`unknown precision ${wrong}; use one of ${precisions.join(', ')}`)
  const trace = await endOnFailure(openTrace(path))
  const results: ReplayResult[] = []
  for (const precision of wanted)
    results.push(await endOnFailure(replayOnce(trace, options, precision as Precision, terminal)))
  if (options.out)
    await writeFile(options.out, `${JSON.stringify(results.length === 1 ? results[0] : results, null, 1)}\n`)
  if (options.html) await writeFile(options.html, reportOf(results))
  if (options.json) terminal.line(JSON.stringify(results))
  else for (const result of results) terminal.line(sentence(result))
  return exitCode.good
}

async function replayOnce(
  trace: OpenTrace,
  options: ReplayCommand,
  precision: Precision | undefined,
  terminal: Terminal,
): Promise<ReplayResult> {
  const { server, tokenFile, speed, until, stretches, M, efConstruction, threads, fsync } = options
  const scratch = options.scratch ?? (await mkdtemp(join(tmpdir(), 'annal-bench-')))
  const changes: Omit<EngineTargetOptions, 'dataDir'> = {
    ...(precision !== undefined && { precision }),
    ...(M !== undefined && { M }),
    ...(efConstruction !== undefined && { efConstruction }),
    ...(threads !== undefined && { threads }),
    ...(fsync !== undefined && { fsync }),
  }
  const token = secretOf('--token-file', tokenFile, 'NDD_AUTH_TOKEN')
  const target = server
    ? serverTarget(connect({ url: server, ...(token !== undefined && { token }) }), server)
    : await engineTarget({ dataDir: join(scratch, precision ?? 'data'), ...changes })
  try {
    return await replayTrace(trace, target, {
      ...(speed !== undefined && { speed }),
      ...(until !== undefined && { until }),
      ...(stretches !== undefined && { stretches }),
      onProgress: (done, total) => terminal.bar.show(precision ?? 'replaying', done, total),
    })
  } finally {
    await target.close()
    if (options.scratch === undefined) await rm(scratch, { recursive: true, force: true })
  }
}

export async function compare(
  a: string,
  b: string,
  options: { readonly html?: string; readonly json?: boolean },
  terminal: Terminal,
): Promise<number> {
  const [first, second] = [await resultOf(a), await resultOf(b)]
  const comparisons = await endOnFailure((async () => compareResults(first, second))())
  if (options.html) await writeFile(options.html, reportOf([first, second]))
  if (options.json) terminal.line(JSON.stringify(comparisons))
  else for (const comparison of comparisons) terminal.line(verdict(comparison))
  return exitCode.good
}

async function resultOf(path: string): Promise<ReplayResult> {
  try {
    // The output of `annal bench replay --out`. Missing values are reported by the comparison.
    const result = JSON.parse(await readFile(path, 'utf8')) as ReplayResult
    if (Array.isArray(result?.stretches)) return result
  } catch (error) {
    throw usageError(`${path} cannot be read: ${(error as Error).message}`)
  }
  throw usageError(`${path} is not the result of a single replay`)
}

function sentence({ target, objects, objectsPerSecond, recall, restartMs, digests }: ReplayResult): string {
  const parts = [`${target}: ${objectsText(objects)}, ${amount(Math.round(objectsPerSecond))}/s`]
  if (recall !== undefined) parts.push(`recall ${recall.toFixed(4)}`)
  if (restartMs !== undefined) parts.push(`start ${Math.round(restartMs)} ms`)
  for (const [name, digest] of Object.entries(digests)) parts.push(`${name} ${digest}`)
  return parts.join(', ')
}

function verdict({ measure, ratio, quarter, threeQuarters, verdict: outcome }: Comparison): string {
  return `${measure}: ${ratio.toFixed(3)} (${quarter.toFixed(3)} to ${threeQuarters.toFixed(3)}), ${outcome}`
}

/** Turns an error of the library into the end of the command. */
async function endOnFailure<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof ReplayError)) throw error
    const codes = {
      trace_damaged: exitCode.damaged,
      format_too_new: exitCode.configuration,
      invalid_argument: exitCode.usage,
    }
    throw new CommandEnd((codes as Record<string, number>)[error.code] ?? exitCode.refused, error.message)
  }
}
