// The words of one replica that its owner writes and readers read. The facts of a version stand in one of two records, by the last bit of
// the version, and the version is stored after them. A reader loads the version, the record, and the version again: if it is the same,
// the record is whole, because the record is written again only for the version after the next. So neither side ever waits.
//
//   words    version | state | filter epoch | id epoch | .. | record of even versions | record of odd versions
//   record   LSN low | LSN high | objects | rows of each field

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

const record = { lsnLow: 0, lsnHigh: 1, count: 2, rows: 3 } as const

/** V8 computes a power each time. */
const wordRange = 2 ** 32

/** What is known of a version of a replica. */
export interface VersionFacts {
  readonly version: number
  readonly lsn: number
  /** Number of objects. */
  readonly count: number
  /** Rows of each field. */
  readonly rows: readonly number[]
}

export class BoardWords {
  readonly words: Int32Array<SharedArrayBuffer>
  readonly #recordWords: number

  /** `shared` are the words of the owner, in a reader. */
  constructor(fields: number, shared?: Int32Array<SharedArrayBuffer>) {
    this.#recordWords = Math.ceil((record.rows + fields) / line) * line
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

  lsn(version: number): number {
    const at = this.#recordAt(version)
    const high = Atomics.load(this.words, at + record.lsnHigh) >>> 0
    return high * wordRange + (Atomics.load(this.words, at + record.lsnLow) >>> 0)
  }

  count(version: number): number {
    return Atomics.load(this.words, this.#recordAt(version) + record.count) >>> 0
  }

  rows(version: number, field: number): number {
    return Atomics.load(this.words, this.#recordAt(version) + record.rows + field) >>> 0
  }

  /** Resolves to false after `timeoutMs`; otherwise when the version may have changed. */
  async changed(version: number, timeoutMs: number): Promise<boolean> {
    const wait = Atomics.waitAsync(this.words, words.version, version | 0, timeoutMs)
    return !wait.async || (await wait.value) !== 'timed-out'
  }

  /** Lets those that wait for another version look again. */
  wake(): void {
    Atomics.notify(this.words, words.version)
  }

  // The owner's part.

  publish({ version, lsn, count, rows }: VersionFacts): void {
    const at = this.#recordAt(version)
    Atomics.store(this.words, at + record.lsnLow, lsn | 0)
    Atomics.store(this.words, at + record.lsnHigh, Math.floor(lsn / wordRange))
    Atomics.store(this.words, at + record.count, count)
    for (const [field, number] of rows.entries()) Atomics.store(this.words, at + record.rows + field, number)
    Atomics.store(this.words, words.version, version)
    Atomics.notify(this.words, words.version)
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
    Atomics.notify(this.words, words.version)
  }

  #recordAt(version: number): number {
    return words.records + (version & 1) * this.#recordWords
  }
}
