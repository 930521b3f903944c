// The audit log: who changed data on the server, and which requests were rejected. It has one file for each day under the data directory.
// Lines are appended and made durable, those of events that arrive during a write together. A failed write is reported by health and never
// fails a request.
import { mkdir, open, readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { type AuditEvent, chainStart, checkChain, lineOf, parseLine } from './audit-chain.ts'

/** Events that wait while the disk is slow or the directory is not open yet. */
const waitingMax = 1_000
/** Events of the same kind and address are written at most once in this time; the others are counted. */
const repeatedEveryMs = 1_000
const addressesMax = 10_000

export interface Audit {
  /** Opens the log and writes the events that were recorded before. */
  open(): Promise<void>
  record(event: AuditEvent): void
  /** Records an event that an attacker can cause at any rate. */
  recordSparingly(event: AuditEvent): void
  /** The reason why the log is not complete, or undefined. */
  readonly fault: string | undefined
  /** Resolves when every recorded event is durable. */
  close(): Promise<void>
}

/** Records nothing: for an application without a data directory, such as one inside a test. */
export const noAudit: Audit = {
  open: async () => undefined,
  record: () => undefined,
  recordSparingly: () => undefined,
  fault: undefined,
  close: async () => undefined,
}

interface ChainEnd {
  readonly hash: string
  /** The newest file; undefined if there is none. */
  readonly name: string | undefined
  /** The file ends in an incomplete line. */
  readonly torn: boolean
}

export class AuditLog implements Audit {
  readonly #dir: string
  readonly #now: () => number
  readonly #elapsedMs: () => number
  readonly #waiting: AuditEvent[] = []
  readonly #repeated = new Map<string, { timeMs: number; leftOut: number }>()
  /** Where the next line continues; undefined after a failed write, which may have left any part of its lines. */
  #end: ChainEnd | undefined
  #fault: string | undefined
  /** The file whose name is durable. */
  #durable: string | undefined
  #isOpen = false
  #isWriting = false
  #writing: Promise<void> = Promise.resolve()

  /** `elapsedMs` is a monotonic time in milliseconds. */
  constructor(dir: string, now: () => number = Date.now, elapsedMs: () => number = () => performance.now()) {
    this.#dir = dir
    this.#now = now
    this.#elapsedMs = elapsedMs
  }

  get fault(): string | undefined {
    return this.#fault
  }

  async open(): Promise<void> {
    try {
      await mkdir(this.#dir, { recursive: true, mode: 0o700 })
      this.#end = await endOfChain(this.#dir)
    } catch (error) {
      this.#fault = unwritable(error)
    }
    this.#isOpen = true
    this.#flush()
  }

  record(event: AuditEvent): void {
    if (this.#waiting.length >= waitingMax) this.#fault = 'events arrived faster than the audit log could be written'
    else this.#waiting.push(event)
    this.#flush()
  }

  recordSparingly(event: AuditEvent): void {
    const key = `${event.action} ${event.ip}`
    const known = this.#repeated.get(key)
    const timeMs = this.#elapsedMs()
    if (known !== undefined && timeMs - known.timeMs < repeatedEveryMs) {
      known.leftOut += 1
      return
    }
    this.#repeated.delete(key)
    this.#repeated.set(key, { timeMs, leftOut: 0 })
    const oldest = this.#repeated.keys().next().value
    if (this.#repeated.size > addressesMax && oldest !== undefined) this.#repeated.delete(oldest)
    this.record(known === undefined || known.leftOut === 0 ? event : { ...event, left_out: known.leftOut })
  }

  async close(): Promise<void> {
    this.#flush()
    await this.#writing
  }

  #flush(): void {
    if (!this.#isOpen || this.#isWriting || this.#waiting.length === 0) return
    this.#isWriting = true
    this.#writing = this.#writeWaiting()
  }

  /** Events that arrive during a write wait together, so that one sync covers all of them. */
  async #writeWaiting(): Promise<void> {
    while (this.#waiting.length > 0) {
      try {
        await this.#append(this.#waiting.splice(0))
      } catch (error) {
        this.#fault = unwritable(error)
        this.#end = undefined
      }
    }
    this.#isWriting = false
  }

  async #append(events: readonly AuditEvent[]): Promise<void> {
    const ts = new Date(this.#now()).toISOString()
    const end = this.#end ?? (await endOfChain(this.#dir))
    // An incomplete line stays as it is; the next one starts on a new line.
    let text = end.torn ? '\n' : ''
    let prev = end.hash
    for (const event of events) {
      const line = lineOf(event, { ts, prev })
      text += `${JSON.stringify(line)}\n`
      prev = line.hash
    }
    const name = nextName(end.name, ts)
    const file = await open(path.join(this.#dir, name), 'a', 0o600)
    try {
      await file.appendFile(text)
      await file.datasync()
    } finally {
      await file.close()
    }
    if (name !== this.#durable) await syncDirectory(this.#dir)
    this.#durable = name
    this.#end = { hash: prev, name, torn: false }
  }
}

/** Reads every file in order and checks that each line continues the previous one. */
export async function verifyAudit(
  dir: string,
): Promise<{ readonly lines: number; readonly fault: string | undefined }> {
  let lines = 0
  let prev = chainStart
  for (const name of await auditFiles(dir)) {
    const texts = (await readFile(path.join(dir, name), 'utf8')).split('\n')
    const checked = checkChain(texts, prev)
    if ('fault' in checked) return { lines, fault: `${name}: ${checked.fault}` }
    prev = checked.hash
    lines += checked.lines
  }
  return { lines, fault: undefined }
}

/** The hash that the next line continues from, and whether the newest file ends in an incomplete line. */
async function endOfChain(dir: string): Promise<ChainEnd> {
  let torn: boolean | undefined
  const files = (await auditFiles(dir)).reverse()
  const [newest] = files
  for (const name of files) {
    const text = await readFile(path.join(dir, name), 'utf8')
    torn ??= text !== '' && !text.endsWith('\n')
    const line = text
      .split('\n')
      .map(parseLine)
      .findLast((found) => found !== undefined)
    if (line !== undefined) return { hash: line.hash, name: newest, torn }
  }
  return { hash: chainStart, name: newest, torn: torn ?? false }
}

/** The message has no path, because clients can read health. */
function unwritable(error: unknown): string {
  const why = error instanceof Error && 'code' in error ? String(error.code) : 'unexpectedly'
  return `the audit log cannot be written (${why})`
}

/** The file of the day, but never one before the newest: the order of the names is that of the chain, also after the clock was set back. */
function nextName(newest: string | undefined, ts: string): string {
  const name = `audit-${ts.slice(0, 10).replaceAll('-', '')}.log`
  return newest !== undefined && newest > name ? newest : name
}

/** Makes the name of a new file durable. Windows cannot sync a directory. */
async function syncDirectory(dir: string): Promise<void> {
  if (process.platform === 'win32') return
  const handle = await open(dir, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

async function auditFiles(dir: string): Promise<string[]> {
  return (await readdir(dir)).filter((name) => /^audit-\d{8}\.log$/.test(name)).sort()
}
