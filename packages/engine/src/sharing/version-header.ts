// The words of one replica that its owner writes and readers read. The facts of a version stand in one of two records, by the last bit of
// the version, and the version is stored after them. A reader loads the version, copies the record, and loads the version again: if it is
// the same, the copy is whole, because the record is written again only for the version after the next. So neither side ever waits. A pin
// does not keep a record, so a reader uses only its copy.
//
//   words    version | state | filter epoch | id epoch | .. | record of even versions | record of odd versions
//   record   LSN low | LSN high | objects | first expiry low | high | rows of each field

const line = 16

const words = {
  version: 0,
  /** 0: the replica serves. 1: another replica has replaced it, or none does. */
  state: 1,
  /** Odd while filters are replaced. */
  filterEpoch: 2,
  /** Odd while the table of ids changes. */
  idEpoch: 3,
  records: line,
} as const

const record = { lsnLow: 0, lsnHigh: 1, count: 2, expiryLow: 3, expiryHigh: 4, rows: 5 } as const

/** High word of an expiry where no object has one. */
const noExpiry = -1

/** V8 computes a power each time. */
const wordRange = 2 ** 32

/** What is known of a version of a replica. */
export interface VersionFacts {
  readonly version: number
  readonly lsn: number
  /** Number of objects. */
  readonly count: number
  /** The earliest expiry of an object, in milliseconds since 1970; Infinity if there is none. */
  readonly expiryFirst: number
  /** Rows of each field. */
  readonly rows: readonly number[]
}

export class VersionHeader {
  readonly words: Int32Array<SharedArrayBuffer>
  readonly #recordWords: number
  /** The copy of the record of the pinned version. */
  readonly #pinned: Int32Array

  /** `shared` are the words of the owner, in a reader. */
  constructor(fields: number, shared?: Int32Array<SharedArrayBuffer>) {
    this.#recordWords = Math.ceil((record.rows + fields) / line) * line
    this.#pinned = new Int32Array(record.rows + fields)
    this.words = shared ?? new Int32Array(new SharedArrayBuffer((words.records + 2 * this.#recordWords) * 4))
  }

  get version(): number {
    return Atomics.load(this.words, words.version) >>> 0
  }

  get isServing(): boolean {
    return Atomics.load(this.words, words.state) === 0
  }

  get filterEpoch(): number {
    return Atomics.load(this.words, words.filterEpoch)
  }

  get idEpoch(): number {
    return Atomics.load(this.words, words.idEpoch)
  }

  /** Copies the facts of a version. False: the version is not the newest any more, and the copy is of no version. */
  pin(version: number): boolean {
    const at = this.#recordAt(version)
    const pinned = this.#pinned
    for (let i = 0; i < pinned.length; i++) pinned[i] = Atomics.load(this.words, at + i)
    return this.version === version
  }

  /** The LSN of the pinned version. */
  get pinnedLsn(): number {
    return (
      ((this.#pinned[record.lsnHigh] as number) >>> 0) * wordRange + ((this.#pinned[record.lsnLow] as number) >>> 0)
    )
  }

  /** The earliest expiry in the pinned version; Infinity if no object has one. */
  get pinnedExpiry(): number {
    const high = this.#pinned[record.expiryHigh] as number
    if (high === noExpiry) return Number.POSITIVE_INFINITY
    return high * wordRange + ((this.#pinned[record.expiryLow] as number) >>> 0)
  }

  /** Rows of a field in the pinned version. */
  pinnedRows(field: number): number {
    return (this.#pinned[record.rows + field] as number) >>> 0
  }

  // The owner's part.

  publish({ version, lsn, count, expiryFirst, rows }: VersionFacts): void {
    const at = this.#recordAt(version)
    Atomics.store(this.words, at + record.lsnLow, lsn | 0)
    Atomics.store(this.words, at + record.lsnHigh, Math.floor(lsn / wordRange))
    Atomics.store(this.words, at + record.count, count)
    const expires = expiryFirst < Number.POSITIVE_INFINITY
    Atomics.store(this.words, at + record.expiryLow, expires ? expiryFirst | 0 : 0)
    Atomics.store(this.words, at + record.expiryHigh, expires ? Math.floor(expiryFirst / wordRange) : noExpiry)
    for (const [field, number] of rows.entries()) Atomics.store(this.words, at + record.rows + field, number)
    Atomics.store(this.words, words.version, version)
  }

  /** Filters are about to be replaced, or were. After the end, the version that has them must already be published. */
  turnFilterEpoch(): void {
    Atomics.add(this.words, words.filterEpoch, 1)
  }

  /** Ids are about to be added or removed, or were. After the end, the version that has the change must already be published. */
  turnIdEpoch(): void {
    Atomics.add(this.words, words.idEpoch, 1)
  }

  serve(): void {
    Atomics.store(this.words, words.state, 0)
  }

  withdraw(): void {
    Atomics.store(this.words, words.state, 1)
  }

  #recordAt(version: number): number {
    return words.records + (version & 1) * this.#recordWords
  }
}
