// `annal top`: what a server does now. The whole screen of a terminal, one line for each interval elsewhere.
import { AnnalError, type Client, type JsonObject } from '@annal/client'
import { amount, bytesText } from '../amounts.ts'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode } from '../exit-code.ts'
import { quantile, type Sample, samplesOf, total } from '../metrics-text.ts'
import { aligned } from '../table.ts'
import type { Terminal } from '../terminal.ts'
import { cut, visible, widthOf } from '../visible-text.ts'

export interface TopOptions extends ConnectionOptions {
  readonly interval: number
  readonly count?: number
  readonly once?: boolean
  readonly json?: boolean
}

/** What a server reports at a moment. */
interface Measured {
  readonly atMs: number
  readonly status: string
  readonly stats: JsonObject
  /** Undefined for a token that may not read metrics. */
  readonly samples: readonly Sample[] | undefined
  /** The newest requests, oldest first. */
  readonly requests: readonly string[]
}

/** Rates are of the time since the measurement before, undefined if a server reports them to other tokens only. */
interface Activity {
  readonly time: string
  readonly status: string
  readonly version: string
  readonly requestsPerSecond: number
  readonly searchesPerSecond: number | undefined
  readonly errorsPerSecond: number | undefined
  readonly requestsInFlight: number | undefined
  readonly queriesWaiting: number | undefined
  /** Upper bounds, of all requests. */
  readonly p50Seconds: number | undefined
  readonly p99Seconds: number | undefined
  readonly objects: number | undefined
  readonly collections: number | undefined
  readonly logBytes: number | undefined
  readonly residentBytes: number | undefined
  /** Bytes of all collections by part. */
  readonly memory: { readonly [part: string]: number } | undefined
  readonly requests: readonly string[]
}

export function top(options: TopOptions, terminal: Terminal): Promise<number> {
  return withClient(options, async (client) => {
    const screen = terminal.columns !== undefined && !options.json && !options.once ? new Screen() : undefined
    const ended = new AbortController()
    const end = () => ended.abort()
    process.once('SIGINT', end)
    process.once('SIGTERM', end)
    screen?.open(end)
    try {
      let before = await measure(client)
      const most = options.once ? 1 : (options.count ?? Number.POSITIVE_INFINITY)
      for (let shown = 0; shown < most; shown += 1) {
        await pause(options.interval * 1_000, ended.signal)
        if (ended.signal.aborted) break
        const now = await measure(client)
        const activity = activityOf(before, now)
        if (options.json) terminal.line(JSON.stringify(activity))
        else if (screen !== undefined) screen.draw([...linesOf(activity, process.stdout.columns || 80)])
        else
          for (const line of options.once ? linesOf(activity, terminal.columns) : [lineOf(activity)])
            terminal.line(fitting(line, terminal))
        before = now
      }
      return exitCode.good
    } finally {
      screen?.close()
      process.off('SIGINT', end)
      process.off('SIGTERM', end)
    }
  })
}

function fitting(line: string, { columns }: Terminal): string {
  return columns === undefined ? line : cut(line, columns)
}

const requestsShown = 100

async function measure(client: Client): Promise<Measured> {
  const [{ status }, stats, samples, requests] = await Promise.all([
    client.health(),
    client.stats(),
    unlessRefused(client.metrics().then(samplesOf)),
    unlessRefused(client.logs(requestsShown)),
  ])
  return { atMs: performance.now(), status, stats, samples, requests: requests ?? [] }
}

/** The token of a database may read less than that of a server. */
async function unlessRefused<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call
  } catch (error) {
    if (error instanceof AnnalError && (error.status === 401 || error.status === 403)) return undefined
    throw error
  }
}

const isSearch = ({ labels }: Sample) => /\/(search|query)/.test(labels.route ?? '')
const isError = ({ labels }: Sample) => Number(labels.status) >= 500

function activityOf(before: Measured, now: Measured): Activity {
  const seconds = Math.max(0.001, (now.atMs - before.atMs) / 1_000)
  const { samples, stats } = now
  const rate = (fits?: (sample: Sample) => boolean) => {
    if (samples === undefined || before.samples === undefined) return undefined
    const name = 'annal_http_requests_total'
    return Math.max(0, total(samples, name, fits) - total(before.samples, name, fits)) / seconds
  }
  const all = (numberOf(stats, 'total_requests') ?? 0) - (numberOf(before.stats, 'total_requests') ?? 0)
  const within = (share: number) =>
    samples && before.samples && quantile(share, 'annal_http_request_seconds', before.samples, samples)
  const one = (name: string) => samples && total(samples, name)
  const log = stats.log as JsonObject | undefined
  return {
    time: new Date().toISOString(),
    status: now.status,
    version: String(stats.version ?? ''),
    requestsPerSecond: Math.max(0, all) / seconds,
    searchesPerSecond: rate(isSearch),
    errorsPerSecond: rate(isError),
    requestsInFlight: one('annal_http_requests_in_flight'),
    queriesWaiting: one('annal_queries_waiting'),
    p50Seconds: within(0.5),
    p99Seconds: within(0.99),
    objects: numberOf(stats, 'objects'),
    collections: numberOf(stats, 'collections'),
    logBytes: log && numberOf(log, 'bytes'),
    residentBytes: one('process_resident_memory_bytes'),
    memory: stats.memory as { readonly [part: string]: number } | undefined,
    requests: now.requests,
  }
}

function numberOf(values: JsonObject, name: string): number | undefined {
  const value = values[name]
  return typeof value === 'number' ? value : undefined
}

/** One line, for files and pipes. */
function lineOf(activity: Activity): string {
  const { time, requestsPerSecond, searchesPerSecond, errorsPerSecond, p99Seconds, requestsInFlight, residentBytes } =
    activity
  const parts = [
    `${rateText(requestsPerSecond)} requests/s`,
    searchesPerSecond === undefined ? '' : `${rateText(searchesPerSecond)} searches/s`,
    errorsPerSecond === undefined ? '' : `${rateText(errorsPerSecond)} errors/s`,
    p99Seconds === undefined ? '' : `p99 ${boundText(p99Seconds)}`,
    requestsInFlight === undefined ? '' : `${amount(requestsInFlight)} in progress`,
    residentBytes === undefined ? '' : `${bytesText(residentBytes)} resident`,
  ]
  return [time, ...parts.filter((part) => part !== '')].join('  ')
}

const partsShown = 6

/** For a terminal that is so wide. */
function* linesOf(activity: Activity, width?: number): Generator<string> {
  const { time, status, version, memory, requests } = activity
  const known = (value: number | undefined, text: (value: number) => string) =>
    value === undefined ? '-' : text(value)
  yield `annal ${visible(version)}  ${visible(status)}  ${time}`
  yield ''
  yield* sideBySide(
    [
      ['requests/s', rateText(activity.requestsPerSecond), 'in progress', known(activity.requestsInFlight, amount)],
      [
        'searches/s',
        known(activity.searchesPerSecond, rateText),
        'queries waiting',
        known(activity.queriesWaiting, amount),
      ],
      ['errors/s', known(activity.errorsPerSecond, rateText), 'collections', known(activity.collections, amount)],
      ['p50', known(activity.p50Seconds, boundText), 'objects', known(activity.objects, amount)],
      ['p99', known(activity.p99Seconds, boundText), 'log', known(activity.logBytes, bytesText)],
      ['resident', known(activity.residentBytes, bytesText), '', ''],
    ],
    width,
  )
  if (memory !== undefined) {
    const parts = Object.entries(memory).sort(([, a], [, b]) => b - a)
    yield ''
    yield `memory: ${parts
      .slice(0, partsShown)
      .map(([part, bytes]) => `${visible(part)} ${bytesText(bytes)}`)
      .join(', ')}`
  }
  yield ''
  yield 'newest requests'
  // Those that this command makes itself say nothing.
  for (const line of requests.filter((line) => !own.test(line)).reverse()) yield requestLine(visible(line), width)
}

/** Two pairs in each row, or one below the other where they do not fit. */
function sideBySide(rows: readonly (readonly string[])[], width: number | undefined): readonly string[] {
  const lines = aligned(rows)
  if (width === undefined || lines.every((line) => widthOf(line) <= width)) return lines
  const pairs = [...rows.map((row) => row.slice(0, 2)), ...rows.map((row) => row.slice(2))]
  return aligned(pairs.filter(([name]) => name !== ''))
}

/** Of a line that does not fit, the time, the path, and at its end what became of the request. */
export function requestLine(line: string, width: number | undefined): string {
  if (width === undefined || widthOf(line) <= width) return line
  const [, time, request, end] = /^\S+T(\S+)Z \w+: \S+ (.*) (\d{3} \([^()]*\))$/.exec(line) ?? []
  if (time === undefined || request === undefined || end === undefined) return cut(line, width)
  return `${cut(`${time} ${request}`, Math.max(0, width - widthOf(end) - 1))} ${end}`
}

const own = /GET \/(api\/v\d\/)?(health|stats|metrics|logs)\b/

function rateText(rate: number): string {
  return rate >= 100 ? amount(Math.round(rate)) : rate.toFixed(1)
}

/** The bound of a histogram. */
function boundText(seconds: number): string {
  if (!Number.isFinite(seconds)) return 'above all bounds'
  return `< ${seconds < 1 ? `${Number((seconds * 1_000).toPrecision(3))} ms` : `${seconds} s`}`
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const timer = setTimeout(resolve, ms)
    signal.addEventListener('abort', () => {
      clearTimeout(timer)
      resolve()
    })
  })
}

/** The other screen of a terminal, which leaves what was there before. */
class Screen {
  #onKey: ((key: Buffer) => void) | undefined

  open(end: () => void): void {
    process.stdout.write('\u001b[?1049h\u001b[?25l')
    if (!process.stdin.isTTY) return
    this.#onKey = (key) => {
      // q, Ctrl-C, Ctrl-D
      if (['q', '\u0003', '\u0004'].includes(key.toString())) end()
    }
    process.stdin.setRawMode(true).on('data', this.#onKey).resume()
  }

  draw(lines: readonly string[]): void {
    const { columns, rows } = process.stdout
    const shown = lines.slice(0, (rows || 24) - 1).map((line) => `${cut(line, columns || 80)}\u001b[K`)
    process.stdout.write(`\u001b[H${shown.join('\r\n')}\u001b[J`)
  }

  close(): void {
    if (this.#onKey !== undefined) process.stdin.off('data', this.#onKey).setRawMode(false).pause()
    process.stdout.write('\u001b[?25h\u001b[?1049l')
  }
}
