// The cursors of consumers: their newest acknowledgements in memory, and in the log at most one record a second for each. Cursors hold no
// records of the log back.
import type { Catalog } from '../catalog/catalog.ts'
import type { CommitOptions, EventDraft } from '../commit.ts'
import { EngineError } from '../errors.ts'
import { cursorEveryMs, cursorsOfDatabaseMax } from '../limits.ts'
import type { Cursor } from '../model/changes.ts'
import { nameInKey, parseName, printed, shownValue } from '../model/ids.ts'
import { wholeNumber } from '../model/numbers.ts'
import type { Acknowledgement } from '../model/object.ts'
import type { Claim } from '../requests/request-keys.ts'

type CursorDraft = Extract<EventDraft, { readonly kind: 'cursor-put' | 'cursor-dropped' }>

/** The engine's functions that cursors use. */
export interface CursorHost {
  catalog(): Catalog
  lsnLast(): number
  /** Creates the draft when every earlier catalog event is applied, and admits no other until this one is applied. */
  commit(makeDraft: () => CursorDraft, options?: CommitOptions): Promise<Acknowledgement>
  onTrouble(sentence: string): void
}

/** An acknowledgement that is not in the log yet. */
interface Waiting {
  readonly databaseId: number
  readonly name: string
  lsn: number
  timer: NodeJS.Timeout | undefined
}

/** What an acknowledgement reached. */
interface Place {
  readonly lsn: number
  readonly durable: boolean
}

export class FeedCursors {
  readonly #host: CursorHost
  readonly #waiting = new Map<string, Waiting>()
  /** When the newest record of each cursor was written, by a monotonic clock. */
  readonly #writtenAt = new Map<string, number>()
  /** Places in records that are appended, and not applied to the catalog yet. */
  readonly #appended = new Map<string, number>()
  /** Records that are being written. */
  readonly #writes = new Set<Promise<void>>()

  constructor(host: CursorHost) {
    this.#host = host
  }

  list(databaseId: number): readonly Cursor[] {
    return this.#host
      .catalog()
      .cursorsOf(databaseId)
      .map(({ name, lsn, updatedAtMs: updatedAt }) => {
        return { name, lsn: this.#newestPlace(keyOf(databaseId, name), lsn), updatedAt }
      })
  }

  /** The LSN after the position of a cursor. Throws feed_cursor_not_found if there is neither a cursor nor `from`. */
  placeOf(databaseId: number, name: string, from: number | undefined): number {
    const cursor = this.#host.catalog().cursor(databaseId, name)
    if (cursor === undefined) return from ?? refuseCursor(name)
    return this.#newestPlace(keyOf(databaseId, name), cursor.lsn) + 1
  }

  #newestPlace(key: string, lsn: number): number {
    return Math.max(lsn, this.#appended.get(key) ?? 0, this.#waiting.get(key)?.lsn ?? 0)
  }

  async acknowledge(databaseId: number, wanted: string, lsn: number): Promise<Place> {
    const name = parseName(wanted, 'name')
    wholeNumber(lsn, 'lsn', 0, this.#host.lsnLast())
    const cursor = this.#host.catalog().cursor(databaseId, name)
    if (cursor === undefined) return this.#create(databaseId, name, lsn)
    const key = keyOf(databaseId, name)
    const waiting = this.#waiting.get(key)
    const reached = this.#newestPlace(key, cursor.lsn)
    if (lsn <= reached && waiting === undefined) return { lsn: reached, durable: reached === cursor.lsn }
    if (waiting !== undefined) {
      waiting.lsn = Math.max(waiting.lsn, lsn)
      return { lsn: waiting.lsn, durable: false }
    }
    const next: Waiting = { databaseId, name, lsn, timer: undefined }
    this.#waiting.set(key, next)
    const waitMs = (this.#writtenAt.get(key) ?? Number.NEGATIVE_INFINITY) + cursorEveryMs - performance.now()
    next.timer = setTimeout(() => this.#write(key, next), Math.max(0, waitMs)).unref()
    return { lsn, durable: false }
  }

  /** Throws feed_cursor_not_found. */
  async delete(databaseId: number, name: string, claim: Claim | undefined): Promise<Acknowledgement> {
    const key = keyOf(databaseId, name)
    return this.#host.commit(
      () => {
        if (this.#host.catalog().cursor(databaseId, name) === undefined) refuseCursor(name)
        clearTimeout(this.#waiting.get(key)?.timer)
        this.#waiting.delete(key)
        this.#appended.delete(key)
        this.#writtenAt.delete(key)
        return { kind: 'cursor-dropped', databaseId, name }
      },
      { claim },
    )
  }

  /** Writes what is not in the log yet. */
  async close(): Promise<void> {
    for (const [key, waiting] of this.#waiting) {
      clearTimeout(waiting.timer)
      this.#write(key, waiting)
    }
    await Promise.all(this.#writes)
  }

  async #create(databaseId: number, name: string, wanted: number): Promise<Place> {
    let lsn = wanted
    const { durable } = await this.#host.commit(() => {
      const catalog = this.#host.catalog()
      const cursor = catalog.cursor(databaseId, name)
      lsn = Math.max(wanted, cursor?.lsn ?? 0)
      if (cursor === undefined && catalog.cursorsOf(databaseId).length >= cursorsOfDatabaseMax) {
        const details = { field: 'name', value: name, limit: cursorsOfDatabaseMax }
        throw new EngineError('limit_exceeded', `there are already ${cursorsOfDatabaseMax} cursors, the limit`, details)
      }
      // Checked in this turn: the database may have been deleted first.
      if (catalog.databaseById(databaseId) === undefined)
        throw new EngineError('database_not_found', 'the database was deleted')
      return { kind: 'cursor-put', databaseId, name, lsn }
    })
    this.#writtenAt.set(keyOf(databaseId, name), performance.now())
    return { lsn, durable }
  }

  #write(key: string, waiting: Waiting): void {
    const writing = this.#tryToWrite(key, waiting)
    this.#writes.add(writing)
    void writing.then(() => this.#writes.delete(writing))
  }

  /** A refusal loses no change: the consumer gets those after the place in the log again. */
  async #tryToWrite(key: string, waiting: Waiting): Promise<void> {
    const { databaseId, name } = waiting
    const leave = () => {
      if (this.#waiting.get(key) === waiting) this.#waiting.delete(key)
    }
    try {
      await this.#host.commit(() => {
        // A later acknowledgement begins the next record.
        leave()
        this.#writtenAt.set(key, performance.now())
        const cursor = this.#host.catalog().cursor(databaseId, name) ?? refuseCursor(name)
        waiting.lsn = Math.max(waiting.lsn, cursor.lsn)
        this.#appended.set(key, waiting.lsn)
        return { kind: 'cursor-put', databaseId, name, lsn: waiting.lsn }
      })
      this.#forgetAppended(key, waiting.lsn)
    } catch (error) {
      leave()
      this.#forgetAppended(key, waiting.lsn)
      if (error instanceof EngineError && error.code === 'feed_cursor_not_found') return
      this.#host.onTrouble(`the place of cursor "${name}" was not written: ${(error as Error).message}`)
    }
  }

  /** The catalog has the place, or the record was refused. A later record may be on its way. */
  #forgetAppended(key: string, lsn: number): void {
    if ((this.#appended.get(key) ?? 0) <= lsn) this.#appended.delete(key)
  }
}

/** Throws feed_cursor_not_found. */
function refuseCursor(name: string): never {
  const details = { field: 'cursor', value: shownValue(name) }
  throw new EngineError('feed_cursor_not_found', `there is no cursor ${printed(name)}`, details)
}

function keyOf(databaseId: number, name: string): string {
  return `${databaseId}/${nameInKey(name)}`
}
