// The audit log: who changed data on the server, and who was refused. One file per day under the data directory, appended and made
// durable line by line. A failed write is reported by health and never stops a request.
import { mkdir, open, readdir, readFile } from 'node:fs/promises'
import path from 'node:path'
import { type AuditEvent, chainStart, checkChain, lineOf, parseLine } from './audit-chain.ts'

/** Events held while the disk is slow or the directory is not there yet. */
const waitingMax = 1_000
/** Events of the same kind and address are written at most this often; the rest is counted. */
const repeatedEveryMs = 1_000
const addressesMax = 10_000

export interface Audit {
  /** Events recorded before are written now. */
  open(): Promise<void>
  record(event: AuditEvent): void
  /** For events that an attacker can cause as often as he likes. */
  recordSparingly(event: AuditEvent): void
  /** Why the log is not complete, or undefined. */
  readonly fault: string | undefined
  /** Waits for what was recorded to be durable. */
  close(): Promise<void>
}

/** For an application without a directory, such as one inside a test. */
export const noAudit: Audit = {
  open: async () => undefined,
  record: () => undefined,
  recordSparingly: () => undefined,
  fault: undefined,
  close: async () => undefined,
}

export function createAudit(dir: string, now: () => number = Date.now): Audit {
  const waiting: AuditEvent[] = []
  const repeated = new Map<string, { timeMs: number; leftOut: number }>()
  let last = chainStart
  let fault: string | undefined
  let opened = false
  /** A crash left half a line; the next one must not continue it. */
  let torn = false
  let writing: Promise<void> = Promise.resolve()

  const flush = (): void => {
    if (!opened || waiting.length === 0) return
    const events = waiting.splice(0)
    writing = writing
      .then(() => append(events))
      .catch((error: unknown) => {
        fault = unwritable(error)
      })
  }
  const append = async (events: readonly AuditEvent[]): Promise<void> => {
    const ts = new Date(now()).toISOString()
    let text = torn ? '\n' : ''
    let prev = last
    for (const event of events) {
      const line = lineOf(event, { ts, prev })
      text += `${JSON.stringify(line)}\n`
      prev = line.hash
    }
    const file = await open(path.join(dir, fileName(ts)), 'a', 0o600)
    try {
      await file.appendFile(text)
      await file.datasync()
    } finally {
      await file.close()
    }
    last = prev
    torn = false
  }
  const record = (event: AuditEvent): void => {
    if (waiting.length >= waitingMax) fault = 'events arrived faster than the audit log could be written'
    else waiting.push(event)
    flush()
  }
  return {
    get fault() {
      return fault
    },
    record,
    recordSparingly(event) {
      const key = `${event.action} ${event.ip}`
      const known = repeated.get(key)
      if (known !== undefined && now() - known.timeMs < repeatedEveryMs) {
        known.leftOut += 1
        return
      }
      repeated.delete(key)
      repeated.set(key, { timeMs: now(), leftOut: 0 })
      const oldest = repeated.keys().next().value
      if (repeated.size > addressesMax && oldest !== undefined) repeated.delete(oldest)
      record(known === undefined || known.leftOut === 0 ? event : { ...event, left_out: known.leftOut })
    },
    async open() {
      try {
        await mkdir(dir, { recursive: true, mode: 0o700 })
        const end = await endOfChain(dir)
        last = end.hash
        torn = end.torn
      } catch (error) {
        fault = unwritable(error)
      }
      opened = true
      flush()
    },
    async close() {
      flush()
      await writing
    },
  }
}

/** Reads every file in order and checks that each line follows the one before it. */
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

/** The hash the next line carries on from, and whether the file it goes to ends in half a line. */
async function endOfChain(dir: string): Promise<{ readonly hash: string; readonly torn: boolean }> {
  for (const name of (await auditFiles(dir)).reverse()) {
    const text = await readFile(path.join(dir, name), 'utf8')
    const line = text
      .split('\n')
      .map(parseLine)
      .findLast((found) => found !== undefined)
    if (line !== undefined) return { hash: line.hash, torn: !text.endsWith('\n') }
  }
  return { hash: chainStart, torn: false }
}

/** Without the path, because clients can read health. */
function unwritable(error: unknown): string {
  const why = error instanceof Error && 'code' in error ? String(error.code) : 'unexpectedly'
  return `the audit log cannot be written (${why})`
}

function fileName(ts: string): string {
  return `audit-${ts.slice(0, 10).replaceAll('-', '')}.log`
}

async function auditFiles(dir: string): Promise<string[]> {
  return (await readdir(dir)).filter((name) => /^audit-\d{8}\.log$/.test(name)).sort()
}
