// The records of the past, wherever they are: in segments of the data directory and its archive, or in a log that is elsewhere. Both are
// read in pieces; the records of a piece are read in order.
import {
  type HistoryPlace,
  historySegments,
  type Log,
  type LogRecord,
  type Lsn,
  readHistory,
  WalError,
} from '@annal/wal'

/** A stretch of the past. It ends where the next one begins. */
export interface Piece {
  /** Never used for other records. */
  readonly id: number
  readonly lsnFirst: number
}

/** Records from the oldest that is held to the newest durable one. */
export interface PastRecords {
  /** Oldest first. */
  pieces(): Promise<readonly Piece[]>
  /** Every record of the range. Throws lsn_not_held if it is not all held, and log_damaged. */
  records(range: { readonly from: number; readonly to: number }): AsyncIterable<LogRecord>
  /** Whether reading from the middle of a piece costs no more than what is read. */
  readonly isIndexed: boolean
}

/** Records in files: a piece is a segment. */
export function recordsInFiles(place: HistoryPlace): PastRecords {
  return {
    pieces: () => historySegments(place),
    records: (range) => readHistory(place, range),
    isIndexed: false,
  }
}

/** Number of records in a piece of a log without segments. */
const pieceRecords = 16_384

/** Records of a log that other engines append to as well. All its records are events. */
export function recordsInLog(log: Pick<Log, 'state' | 'read'>): PastRecords {
  return {
    async pieces() {
      const { lsnFirst, lsnDurable } = log.state()
      const pieces: Piece[] = []
      // A piece that lost records to a trim is another one.
      for (
        let lsn: number = lsnFirst;
        lsn <= lsnDurable;
        lsn = (Math.floor((lsn - 1) / pieceRecords) + 1) * pieceRecords + 1
      )
        pieces.push({ id: lsn, lsnFirst: lsn })
      return pieces
    },
    async *records({ from, to }) {
      let lsn = from - 1
      for await (const record of log.read(from as Lsn)) {
        if (record.lsn > to) return
        lsn = record.lsn
        yield record
        if (lsn === to) return
      }
      if (lsn < to)
        throw new WalError(
          'lsn_not_held',
          `the log does not have all records from ${from} to ${to}: it ends with LSN ${lsn}`,
          {
            lsn: from,
            limit: to,
          },
        )
    },
    isIndexed: true,
  }
}
