// Counts of requests by method, route and status, and their durations in buckets. The numbers are in shared counters: a thread that is
// given the row of a route adds to it without knowing the others. Routes are patterns, never paths, so that their number is bounded.
import type { Counters } from './counters.ts'

/** Upper bounds in seconds: from a search in memory to a batch that waits for a slow disk. */
export const durationBounds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10]

/** Statuses that the server sends; any other one is counted under `other`. */
const statuses = [
  200, 201, 202, 204, 206, 304, 400, 401, 402, 403, 404, 405, 408, 409, 412, 413, 415, 416, 429, 431, 500, 502, 503,
  504, 507,
]
const columnOfStatus = new Map(statuses.map((status, column) => [status, column]))

// A row: a number for each status and one for the others, one for each bucket and one for the longer durations, and the sum of the
// durations in microseconds.
const otherStatus = statuses.length
const firstBucket = otherStatus + 1
const longer = firstBucket + durationBounds.length
const microseconds = longer + 1
const rowLength = microseconds + 1

/** More routes than the server has, for every method that HTTP knows. Pages of memory that are never written take no memory. */
const rowsMax = 512
/** The row of routes without a row of their own. */
export const otherRow = 0

const startedAt = 0
const inFlightAt = 1
const rowsAt = 2

/** How many numbers the counts take. */
export const requestCountsLength = rowsAt + rowsMax * rowLength

export interface RouteCounts {
  readonly method: string
  readonly route: string
  /** Replies by status, without those that were never sent. */
  readonly byStatus: readonly (readonly [status: string, replies: number])[]
  /** Requests in each bucket of `durationBounds`, and those that took longer. */
  readonly buckets: readonly number[]
  readonly seconds: number
}

export class RequestCounts {
  readonly #counters: Counters
  /** Those of other threads, which are added to what this object shows. */
  readonly #others: Counters[] = []
  /** By method, then by route: a request makes no key of its own. */
  readonly #rows = new Map<string, Map<string, number>>()
  #rowsUsed = otherRow + 1

  /** Counters of `requestCountsLength` numbers. */
  constructor(counters: Counters) {
    this.#counters = counters
  }

  get requests(): number {
    return this.#value(startedAt)
  }

  get inFlight(): number {
    return this.#value(inFlightAt)
  }

  /** Shows the counters of another thread too. Each thread has counters of its own, so that no two threads write to one line of the cache. */
  include(counters: Counters): void {
    this.#others.push(counters)
  }

  started(): void {
    this.#counters.add(startedAt, 1)
    this.#counters.add(inFlightAt, 1)
  }

  /** The connection has nothing more of the request, whether it was answered or not. */
  closed(): void {
    this.#counters.add(inFlightAt, -1)
  }

  /** A serving thread may answer the request. It is counted when it did, because otherwise the main thread counts it. */
  admitted(): void {
    this.#counters.add(inFlightAt, 1)
  }

  counted(): void {
    this.#counters.add(startedAt, 1)
  }

  /** Call it when the thread of these counters has ended: the requests that it had not answered are closed. */
  static ended(counters: Counters): void {
    const open = counters.value(inFlightAt)
    counters.add(startedAt, open)
    counters.add(inFlightAt, -open)
  }

  /** The rows of every route so far, or of those that the predicate accepts. */
  rows(accepts: (route: string) => boolean = () => true): number[] {
    const rows = [...this.#rows.values()].flatMap((routes) =>
      [...routes].filter(([route]) => accepts(route)).map(([, row]) => row),
    )
    return [...new Set(accepts('other') ? [otherRow, ...rows] : rows)]
  }

  /** Replies in these rows that the thread of these counters sent. */
  static replies(counters: Counters, rows: readonly number[]): number {
    let sum = 0
    for (const row of rows) {
      const first = rowsAt + row * rowLength
      for (let column = 0; column <= otherStatus; column++) sum += counters.value(first + column)
    }
    return sum
  }

  #value(index: number): number {
    return this.#others.reduce((sum, counters) => sum + counters.value(index), this.#counters.value(index))
  }

  /** The row of a route. Only the thread that owns the counts assigns rows; it gives them to the others. */
  row(method: string, route: string): number {
    let ofMethod = this.#rows.get(method)
    if (ofMethod === undefined) {
      ofMethod = new Map()
      this.#rows.set(method, ofMethod)
    }
    let row = ofMethod.get(route)
    if (row === undefined) {
      row = this.#rowsUsed < rowsMax ? this.#rowsUsed++ : otherRow
      ofMethod.set(route, row)
    }
    return row
  }

  finished(row: number, status: number, seconds: number): void {
    const first = rowsAt + row * rowLength
    this.#counters.add(first + (columnOfStatus.get(status) ?? otherStatus), 1)
    this.#counters.add(first + bucketOf(seconds), 1)
    this.#counters.add(first + microseconds, Math.round(seconds * 1e6))
  }

  /** Every route that was requested. */
  *routes(): Generator<RouteCounts> {
    for (const [method, routes] of this.#rows) {
      for (const [route, row] of routes) {
        if (row === otherRow) continue
        const counts = this.#read(method, route, row)
        // Serving threads get the rows of their routes before they count a request.
        if (counts.byStatus.length > 0) yield counts
      }
    }
    const other = this.#read('other', 'other', otherRow)
    if (other.byStatus.length > 0) yield other
  }

  #read(method: string, route: string, row: number): RouteCounts {
    const first = rowsAt + row * rowLength
    const read = (column: number) => this.#value(first + column)
    const byStatus = [...statuses.map(String), 'other'].map((status, column) => [status, read(column)] as const)
    const buckets = Array.from({ length: microseconds - firstBucket }, (_, bucket) => read(firstBucket + bucket))
    return {
      method,
      route,
      byStatus: byStatus.filter(([, replies]) => replies > 0),
      buckets,
      seconds: read(microseconds) / 1e6,
    }
  }
}

function bucketOf(seconds: number): number {
  const bucket = durationBounds.findIndex((bound) => seconds <= bound)
  return bucket < 0 ? longer : firstBucket + bucket
}
