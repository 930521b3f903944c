// Copies a window of a log to a trace. The log is only read, also while a server writes it. If the window does not begin with the first
// record, the collections and objects that existed before it are written first, as records with LSN 0.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { SearchRequest } from '@annal/engine'
import { decodeEvent } from '@annal/engine/events'
import { nodeVfs, readLogFiles } from '@annal/wal'
import { type AnonymizeOptions, Anonymizer } from './anonymize.ts'
import { baseEvents, checkWhole, type LogFiles } from './base.ts'
import { ReplayError, type TraceEntry, type TraceQuery, type TraceSummary } from './trace.ts'
import { TraceWriter } from './trace-file.ts'

/** The part of a log that is written to a trace. `onProgress` gets the number of records. */
export interface RecordOptions {
  readonly dataDir: string
  /** Must not exist. */
  readonly out: string
  /** First and last record of the window; default: the whole log. */
  readonly lsnFrom?: number
  readonly lsnTo?: number
  /** Milliseconds since 1970: the window by the times of records. */
  readonly timeFrom?: number
  readonly timeTo?: number
  readonly anonymize?: AnonymizeOptions
  /** @deprecated Use `anonymize`. */
  readonly anonymise?: AnonymizeOptions
  readonly onProgress?: (records: number) => void
}

/** Throws ReplayError window_not_held, file_exists; WalError log_damaged. Leaves no file behind when it fails. */
export async function recordTrace(options: RecordOptions): Promise<TraceSummary> {
  const window = await windowOf(options)
  const anonymize = options.anonymize ?? options.anonymise
  const anonymizer = anonymize && new Anonymizer(anonymize)
  const writer = await TraceWriter.create(options.out, {
    origin: 'recorded',
    description: `records ${window.from} to ${window.to} of a log`,
    anonymised: anonymize !== undefined,
    rotated: anonymize?.rotate ?? false,
  })
  try {
    let records = 0
    for await (const entry of entries(options, window)) {
      const kept = anonymizer ? anonymizer.entry(entry) : entry
      if (kept) await writer.write(kept)
      options.onProgress?.(++records)
    }
    return await writer.finish()
  } catch (error) {
    await writer.abandon()
    throw error
  }
}

interface Window {
  readonly from: number
  readonly to: number
  /** The oldest record of the log. */
  readonly held: number
}

async function windowOf(options: RecordOptions): Promise<Window> {
  const { lsnFrom = 1, lsnTo = Number.MAX_SAFE_INTEGER, timeFrom = 0, timeTo = Number.POSITIVE_INFINITY } = options
  let [from, to, held] = [0, 0, 0]
  for await (const record of readLogFiles({ vfs: nodeVfs(), ...logOf(options) })) {
    if (held === 0) held = record.lsn
    const { timeMs } = decodeEvent(record)
    if (record.lsn < lsnFrom || record.lsn > lsnTo || timeMs < timeFrom || timeMs > timeTo) continue
    if (from === 0) from = record.lsn
    to = record.lsn
  }
  if (from === 0) {
    const { dataDir, onProgress: _, out: __, anonymize: ___, anonymise: ____, ...range } = options
    throw new ReplayError('window_not_held', `the log of ${dataDir} has no record in the window`, { ...range })
  }
  return { from, to, held }
}

async function* entries(options: RecordOptions, window: Window): AsyncGenerator<TraceEntry, void> {
  yield* before(options, window)
  const queries = await queriesOf(options.dataDir, window)
  let next = 0
  for await (const record of readLogFiles({
    vfs: nodeVfs(),
    ...logOf(options),
    lsnFrom: window.from,
    lsnTo: window.to,
  })) {
    while (queries[next] !== undefined && (queries[next] as TraceQuery).lsn < record.lsn)
      yield queries[next++] as TraceQuery
    const event = decodeEvent(record)
    if (event.kind === 'collection-restored') {
      const message = `record ${record.lsn} restored a collection from a backup, which a trace cannot hold; begin the window after it`
      throw new ReplayError('window_not_held', message, { lsn: record.lsn })
    }
    yield { kind: 'event', lsn: record.lsn, event }
  }
  yield* queries.slice(next)
}

/** The state before the window; empty if log and window begin with the same record. */
async function* before(options: RecordOptions, { from, held }: Window): AsyncGenerator<TraceEntry, void> {
  checkWhole(held)
  if (from === held) return
  for await (const event of baseEvents(logOf(options), from - 1)) yield { kind: 'event', lsn: 0, event }
}

/** Searches recorded by the server, in their order. See docs/reference/configuration.md. */
async function queriesOf(dataDir: string, { from, to }: Window): Promise<TraceQuery[]> {
  const dir = join(dataDir, 'queries')
  const names = (await readdir(dir).catch(() => [])).filter((name) => name.endsWith('.jsonl')).sort()
  const found: TraceQuery[] = []
  for (const name of names) {
    const lines = (await readFile(join(dir, name), 'utf8')).split('\n')
    for (const line of lines) {
      // The last line may be cut off by a crash.
      const query = line.endsWith('}')
        ? (JSON.parse(line) as Omit<TraceQuery, 'kind'> & { request: SearchRequest })
        : undefined
      if (query && query.lsn >= from - 1 && query.lsn <= to) found.push({ ...query, kind: 'query' })
    }
  }
  return found.sort((a, b) => a.lsn - b.lsn)
}

/** The stored log: the newest segments and the archived ones. */
function logOf({ dataDir }: RecordOptions): LogFiles {
  return { dir: join(dataDir, 'wal'), archiveDir: join(dataDir, 'archive', 'wal') }
}
