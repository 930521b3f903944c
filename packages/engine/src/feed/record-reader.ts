// Reads the records that a consumer behind the newest ones needs, in bounded steps, and keeps no file open between two of them.
import {
  type HistoryPlace,
  historySegments,
  type Log,
  type LogPosition,
  type LogRecord,
  type Lsn,
  positionBefore,
  readPiece,
  WalError,
} from '@annal/wal'
import { EngineError } from '../errors.ts'
import { feedStepBytesMax } from '../limits.ts'

/** Records that follow one another. */
export interface ReadStep {
  readonly records: readonly LogRecord[]
  /** Every record up to this LSN was read. */
  readonly lsn: number
}

/** Reads steps of the log; `lsn_not_held` becomes feed_position_lost. */
export interface RecordReader {
  /** Reads records from `from` up to `to` at most. Throws feed_position_lost, log_damaged. */
  read(from: number, to: number): Promise<ReadStep>
}

/** A segment may move to the archive between listing and reading. */
const attempts = 3

/** Reads the files of the log and of its archive. */
export class FileReader implements RecordReader {
  readonly #place: () => HistoryPlace
  #position: LogPosition | undefined

  constructor(place: () => HistoryPlace) {
    this.#place = place
  }

  async read(from: number, to: number): Promise<ReadStep> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#read(from, to)
      } catch (error) {
        this.#position = undefined
        const isRemoved = error instanceof WalError && error.code === 'lsn_not_held'
        if (!isRemoved || attempt === attempts) throw error
      }
    }
  }

  async #read(from: number, to: number): Promise<ReadStep> {
    let position = this.#position
    // A consumer that fell behind again has skipped what it got from memory.
    if (position?.lsnNext !== from) position = await this.#find(from)
    for (;;) {
      const records: LogRecord[] = []
      const onRecord = (record: LogRecord) => {
        if (record.lsn >= from) records.push(record)
      }
      const piece = await readPiece(this.#place(), position, { to, bytesMax: feedStepBytesMax, onRecord })
      if (piece === undefined) return { records, lsn: to }
      position = piece.next
      this.#position = position
      if (piece.lsnLast >= from) return { records, lsn: piece.lsnLast }
    }
  }

  async #find(lsn: number): Promise<LogPosition> {
    const segments = await historySegments(this.#place())
    const segment = segments.findLast(({ lsnFirst }) => lsnFirst <= lsn)
    if (segment === undefined) throw positionLost(lsn, segments[0]?.lsnFirst ?? 0)
    return positionBefore(segment)
  }
}

/** Reads the log of a node, which has no files. */
export class LogReader implements RecordReader {
  readonly #log: () => Log

  constructor(log: () => Log) {
    this.#log = log
  }

  async read(from: number, to: number): Promise<ReadStep> {
    const log = this.#log()
    const { lsnFirst } = log.state()
    if (from < lsnFirst) throw positionLost(from, lsnFirst)
    const records: LogRecord[] = []
    let bytes = 0
    for await (const record of log.read(from as Lsn)) {
      if (record.lsn > to) break
      records.push(record)
      bytes += record.payload.length
      if (bytes >= feedStepBytesMax) return { records, lsn: record.lsn }
    }
    return { records, lsn: to }
  }
}

/** The error for a consumer whose records were removed. */
export function positionLost(lsn: number, lsnFirst: number): EngineError {
  const message = `changes from LSN ${lsn} on are no longer held: the log and its archive begin with LSN ${lsnFirst}`
  return new EngineError('feed_position_lost', message, { field: 'from', value: lsn, lsn_first: lsnFirst })
}
