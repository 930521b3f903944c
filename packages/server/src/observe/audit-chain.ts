// One line of the audit log: JSON that carries the hash of the line before it, so that a line changed, removed or slipped in is
// found by reading on.
import { createHash } from 'node:crypto'

/** What happened; names and values are users' and only ever appear inside JSON strings. */
export interface AuditEvent {
  readonly action: string
  /** What it was done to: the name of an index or collection. */
  readonly object?: string
  /** Whose token it was, or which database the root token was used on. */
  readonly database?: string
  readonly status: number
  readonly request_id: string
  readonly ip: string
  /** The first characters of the token's hash; absent where no token was sent. */
  readonly token_id?: string
  /** The newest event of the log when it was answered. */
  readonly lsn?: number
  /** Like events left out since the last line, when they came faster than they are written. */
  readonly left_out?: number
}

export interface AuditLine extends AuditEvent {
  readonly ts: string
  readonly prev: string
  readonly hash: string
}

/** Stands before the first line of a data directory. */
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

/** The hash that ends the chain, or the first line that does not fit. Half a line, as a crash leaves it, carries no hash and is passed over. */
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
    // A crash leaves half a line; the reader decides what that means.
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
