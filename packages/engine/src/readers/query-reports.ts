// Reports the queries of a reader that stated a recall to the owner, which measures with a sample of them. All of the first queries of a field
// are sent, and a random part of later ones, a few times a second, so a search waits for nothing and costs the owner little.
import { createRandom } from '../calibration/random.ts'
import type { RecallSearch } from '../search/ef-chooser.ts'
import type { SentQueries } from '../sharing/messages.ts'

/** As many as the owner keeps of a field. */
const wholeUntil = 1_000
/** Share of the later ones that are sent. */
const sentShare = 1 / 16
const reportEveryMs = 100
/** Queries that wait for a report. */
const bytesMax = 2 ** 20

/** A search that a reader ran. */
export type RanSearch = Pick<RecallSearch, 'fieldIndex' | 'k' | 'rescore' | 'query'>

/** Queries of one kind of search that wait for the next report. */
interface Waiting extends SentQueries {
  seen: number
  readonly queries: Float32Array[]
}

export class QueryReports {
  readonly #send: (list: readonly SentQueries[]) => void
  readonly #random: () => number
  /** By collection and field: how many queries were added. */
  readonly #counts = new Map<string, number>()
  #waiting: Waiting[] = []
  #bytes = 0
  #sentMs = Number.NEGATIVE_INFINITY
  #timer: NodeJS.Timeout | undefined

  constructor(reader: number, send: (list: readonly SentQueries[]) => void) {
    this.#random = createRandom(1 + reader)
    this.#send = send
  }

  add(collectionId: number, { fieldIndex, k, rescore, query }: RanSearch): void {
    const waiting = this.#waitingOf(collectionId, { fieldIndex, k, rescore })
    if (query !== undefined) {
      waiting.seen++
      if (this.#isSent(`${collectionId} ${fieldIndex}`)) {
        // The memory of a query can be that of a whole body.
        waiting.queries.push(query.slice())
        this.#bytes += query.byteLength
      }
    }
    if (this.#bytes > bytesMax || performance.now() - this.#sentMs >= reportEveryMs) this.report()
    else this.#timer ??= setTimeout(() => this.report(), reportEveryMs).unref()
  }

  /** Sends what waits. */
  report(): void {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#sentMs = performance.now()
    if (this.#waiting.length === 0) return
    this.#send(this.#waiting)
    this.#waiting = []
    this.#bytes = 0
  }

  #waitingOf(collectionId: number, { fieldIndex, k, rescore }: Omit<RanSearch, 'query'>): Waiting {
    for (const one of this.#waiting) {
      if (one.collectionId !== collectionId || one.fieldIndex !== fieldIndex) continue
      if (one.k === k && one.rescore === rescore) return one
    }
    const waiting = { collectionId, fieldIndex, k, rescore, seen: 0, queries: [] }
    this.#waiting.push(waiting)
    return waiting
  }

  #isSent(field: string): boolean {
    const count = (this.#counts.get(field) ?? 0) + 1
    this.#counts.set(field, count)
    return count <= wholeUntil || this.#random() < sentShare
  }
}
