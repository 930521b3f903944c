// One line of the audit log: JSON with the hash of the previous line. Reading the lines in order therefore finds each line that was
// changed, removed, or inserted.
import { createHash } from 'node:crypto'

/** An event. Names and values come from users; they are written only inside JSON strings. */
export interface AuditEvent {
  readonly action: string
  /** Name of the index or collection that the action applies to. */
  readonly object?: string
  /** The database of the token, or the database that the root token acted on. */
  readonly database?: string
  readonly status: number
  readonly request_id: string
  readonly ip: string
  /** The first characters of the token's hash; absent if the request had no token. */
  readonly token_id?: string
  /** The newest event of the log at the time of the reply. */
  readonly lsn?: number
  /** Number of similar events since the last line that were not written, because they arrived too fast. */
  readonly left_out?: number
}

export interface AuditLine extends AuditEvent {
  readonly ts: string
  readonly prev: string
  readonly hash: string
}

/** Takes the place of a previous hash in the first line of a data directory. */
export const chainStart = '0'.repeat(64)
const textLengthMax = 512

export function lineOf(event: AuditEvent, { ts, prev }: { readonly ts: string; readonly prev: string }): AuditLine {
  const { object, database } = event
  const body = {
    ts,
    ...event,
    ...(object === undefined ? {} : { object: shortened(object) }),
    ...(database === undefined ? {} : { database: shortened(database) }),
    prev,
  }
  return { ...body, hash: hashOf(JSON.stringify(body)) }
}

function shortened(text: string): string {
  return text.toWellFormed().slice(0, textLengthMax)
}

/** Returns the hash of the last line, or the first fault. An incomplete line, which a crash leaves, has no hash and is skipped. */
export function checkChain(
  texts: readonly string[],
  from: string,
): { readonly hash: string; readonly lines: number } | { readonly fault: string } {
  let prev = from
  let lines = 0
  for (const [i, text] of texts.entries()) {
    const line = parseLine(text)
    if (line === undefined) continue
    const { hash, ...body } = line
    if (line.prev !== prev) return { fault: `line ${i + 1} does not continue the previous line` }
    if (hash !== hashOf(JSON.stringify(body))) return { fault: `line ${i + 1} was modified` }
    prev = hash
    lines += 1
  }
  return { hash: prev, lines }
}

export function parseLine(text: string): AuditLine | undefined {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    // A crash leaves an incomplete line; the caller decides what to do with it.
    return undefined
  }
  const holds = (key: string): boolean =>
    typeof value === 'object' &&
    value !== null &&
    key in value &&
    typeof (value as Record<string, unknown>)[key] === 'string'
  return holds('hash') && holds('prev') && holds('action') ? (value as AuditLine) : undefined
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}
