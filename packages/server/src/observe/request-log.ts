// The newest requests, in memory, for the dashboard: one line for each, in the form that the published dashboards read.

export interface LoggedRequest {
  /** Milliseconds since 1970. */
  readonly timeMs: number
  readonly method: string
  /** The path as received, without the query string. */
  readonly path: string
  /** The database of the token; undefined for the root token and without a token. */
  readonly database: string | undefined
  /** Name of the collection or index in the request. */
  readonly collection: string | undefined
  readonly status: number
  readonly seconds: number
}

export interface RequestLog {
  add(request: LoggedRequest): void
  /** The newest `limit` lines of one database, oldest first. */
  lines(database: string, limit: number): string[]
}

const pathLengthMax = 256

type Writable = { -readonly [K in keyof LoggedRequest]: LoggedRequest[K] }

/** `others` returns the requests that serving threads answered themselves, at most `size` of each thread. */
export function createRequestLog(size: number, others: () => readonly LoggedRequest[] = () => []): RequestLog {
  // Entries are overwritten in place. New objects would survive several garbage collections, which copy them each time.
  const ring: Writable[] = []
  let next = 0
  return {
    add(request) {
      const place = ring[next]
      if (place === undefined) ring.push({ ...request })
      else Object.assign(place, request)
      next = (next + 1) % size
    },
    lines(database, limit) {
      const own = ring.length < size ? ring : [...ring.slice(next), ...ring.slice(0, next)]
      const more = others()
      const all = more.length === 0 ? own : [...own, ...more].sort((a, b) => a.timeMs - b.timeMs).slice(-size)
      const found = all.filter((request) => request.database === database)
      return limit === 0 ? [] : found.slice(-limit).map(lineOf)
    },
  }
}

/** `2026-07-10T10:57:32Z INFO: default/docs: POST /api/v2/collection/docs/search 200 (1.5ms)` */
function lineOf({ timeMs, method, path, database, collection, status, seconds }: LoggedRequest): string {
  const time = `${new Date(timeMs).toISOString().slice(0, 19)}Z`
  const level = status >= 500 ? 'ERROR' : status >= 400 ? 'WARN' : 'INFO'
  const place = `${database ?? '-'}/${collection === undefined ? '-' : oneLine(collection)}`
  return `${time} ${level}: ${place}: ${method} ${oneLine(path)} ${status} (${(seconds * 1_000).toFixed(1)}ms)`
}

/** Encodes all characters that are not visible, so that a request can neither add a line nor control a terminal. */
function oneLine(text: string): string {
  const visible = text
    .toWellFormed()
    .replaceAll(/[^\x21-\x7e\u00a1-\ud7ff\ue000-\ufeff]/gu, (char) => encodeURIComponent(char))
  return visible.length <= pathLengthMax ? visible : `${visible.slice(0, pathLengthMax)}...`
}
