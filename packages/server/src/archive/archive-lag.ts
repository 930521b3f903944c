// How late a bucket is: since when it lacks records, and which callers wait until it has them.

/** The records that a bucket lacks. */
export class ArchiveLag {
  /** When records were first seen that are not in the bucket yet, oldest first. Milliseconds of performance.now(). */
  #seen: readonly { readonly lsn: number; readonly sinceMs: number }[] = []
  #lsnRestorable = 0
  readonly #waiting = new Set<{ readonly lsn: number; readonly end: (isReached: boolean) => void }>()

  /** Notes what is durable now, and to which record the bucket can be restored. */
  note(lsnDurable: number, lsnRestorable: number): void {
    this.#lsnRestorable = lsnRestorable
    this.#seen = this.#seen.filter(({ lsn }) => lsn > lsnRestorable)
    if (lsnDurable > Math.max(lsnRestorable, this.#seen.at(-1)?.lsn ?? 0))
      this.#seen = [...this.#seen, { lsn: lsnDurable, sinceMs: performance.now() }]
    for (const { lsn, end } of this.#waiting) if (lsn <= lsnRestorable) end(true)
  }

  /** Whether the bucket lacks nothing that is durable. */
  get isEmpty(): boolean {
    return this.#seen.length === 0
  }

  /** Age of the oldest record that is missing, in milliseconds; 0 if none is. */
  get ms(): number {
    const [oldest] = this.#seen
    return oldest === undefined ? 0 : performance.now() - oldest.sinceMs
  }

  /** Whether a caller waits for a record after `from` and up to `to`. */
  isAwaited(from: number, to: number): boolean {
    for (const { lsn } of this.#waiting) if (lsn > from && lsn <= to) return true
    return false
  }

  /** Resolves to true when the bucket can be restored to a record, and to false when the signal aborts or `giveUp` is called. */
  whenRestorable(lsn: number, signal: AbortSignal): Promise<boolean> {
    if (this.#lsnRestorable >= lsn) return Promise.resolve(true)
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const abort = () => end(false)
    const end = (isReached: boolean) => {
      this.#waiting.delete(entry)
      signal.removeEventListener('abort', abort)
      resolve(isReached)
    }
    const entry = { lsn, end }
    this.#waiting.add(entry)
    signal.addEventListener('abort', abort)
    if (signal.aborted) abort()
    return promise
  }

  /** Ends every wait: the bucket will not get the records. */
  giveUp(): void {
    for (const { end } of this.#waiting) end(false)
  }
}
