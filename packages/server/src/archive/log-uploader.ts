// Uploads the log piece by piece. The bucket holds one chain of messages: each is written only under a number that does not exist, and
// continues the one before it byte for byte. So it never has a gap that it does not name, and two servers cannot both write to it: the
// one whose message comes second finds a message that is not of its own log, and stops.
import {
  type HistoryPlace,
  type LogPiece,
  type LogPosition,
  type LogRecord,
  positionAfter,
  readPiece,
} from '@annal/wal'
import { type FrameStore, StoreUnavailable } from '@annal/wal/replicated'
import { ArchiveError } from './archive-error.ts'
import { decodeMessage, encodeMessage, type Line, nothingBefore, type ReadMessage } from './message.ts'

/** Bytes of the log in one message. */
const pieceBytesMax = 4 * 1024 * 1024

/** What an uploader works on. */
export interface LogUploaderParts {
  readonly store: FrameStore
  readonly place: HistoryPlace
  readonly line: Line
  /** Name of the archive in errors. */
  readonly at: string
  /** Called with the records of a piece before it is uploaded; it is uploaded when the promise resolves. */
  readonly prepare: (records: readonly LogRecord[]) => Promise<void>
}

/** Where an archive began or continued. */
export type Beginning = 'new' | 'continued' | 'after-gap'

/** Uploads the log of one directory to one bucket. */
export class LogUploader {
  readonly #parts: LogUploaderParts
  #position: LogPosition
  #number = 0
  #segmentNumber = 1
  #before: Buffer = nothingBefore
  #isAfterGap = false
  #lsnPassed = 0
  #bytes = 0

  private constructor(parts: LogUploaderParts, position: LogPosition) {
    this.#parts = parts
    this.#position = position
  }

  /**
   * Finds the end of the archive in the bucket. `findStart` returns the position with which a new archive begins, and one that continues
   * after a gap. Throws archive_in_use, archive_diverged, archive_damaged.
   */
  static async open(
    parts: LogUploaderParts,
    findStart: () => Promise<LogPosition>,
  ): Promise<{ readonly uploader: LogUploader; readonly beginning: Beginning }> {
    const { store, line, at } = parts
    const { first, last } = await store.range()
    if (last < first) return { uploader: new LogUploader(parts, await findStart()), beginning: 'new' }
    const message = await readMessage(store, last, at)
    if (isTakenOver(message, line)) throw takenOver(at, message, await lsnBeforeTakeover(message, parts, first))
    if (!isOfLine(message, line))
      throw new ArchiveError(
        'archive_in_use',
        `${at} contains the archive of data directory ${message.line.uuid}; this directory is ${line.uuid}. Use another prefix.`,
      )
    const after = message.isTakeover
      ? { ...message.from, chain: undefined }
      : await positionAfter(parts.place, { ...message, bytes: message.body })
    if (after === 'different') throw diverged(at, message)
    const uploader = new LogUploader(parts, after === 'missing' ? await findStart() : after)
    uploader.#adopt(message)
    uploader.#isAfterGap = after === 'missing'
    if (after === 'missing' && uploader.#position.lsnNext <= message.lsnLast) throw diverged(at, message)
    return { uploader, beginning: after === 'missing' ? 'after-gap' : 'continued' }
  }

  /** Every record up to this LSN is in the bucket, or is one of the log itself, which no restore needs. */
  get lsnUploaded(): number {
    return Math.max(this.#position.lsnNext - 1, this.#lsnPassed)
  }

  /** Records after this LSN must stay in the log. */
  get lsnNeeded(): number {
    return this.#position.lsnNext - 1
  }

  get position(): LogPosition {
    return this.#position
  }

  /** The number of the newest message; 0 if there is none. */
  get number(): number {
    return this.#number
  }

  /** Bytes uploaded since the archive was opened. */
  get bytes(): number {
    return this.#bytes
  }

  /**
   * Uploads the next piece up to a durable record. Returns false if there is none. Throws StoreUnavailable if its outcome is unknown: the
   * next step finds out.
   */
  async step(lsnDurable: number): Promise<boolean> {
    const { place, prepare } = this.#parts
    const records: LogRecord[] = []
    const limits = {
      to: lsnDurable,
      bytesMax: pieceBytesMax,
      onRecord: (record: LogRecord) => void records.push(record),
    }
    const piece = await readPiece(place, this.#position, limits)
    if (piece === undefined) return false
    // Markers at the end of the log: uploaded with the records that follow.
    if (piece.userFrames === 0 && piece.lsnLast === lsnDurable) {
      this.#lsnPassed = lsnDurable
      return false
    }
    await prepare(records)
    await this.#put(piece)
    return true
  }

  /** Whether the newest message is still in the bucket. */
  async isEndThere(): Promise<boolean> {
    const { store, at } = this.#parts
    if (this.#number === 0) return true
    const found = await store.at(this.#number)
    if (found === undefined) return false
    return decodeMessage(found.bytes, `message ${this.#number} of ${at}`).sum.equals(this.#before)
  }

  /** Throws archive_in_use if another server has written to the archive. */
  async lookForOthers(): Promise<void> {
    const { store } = this.#parts
    if ((await store.at(this.#number + 1)) !== undefined) await this.#meet(this.#number + 1, this.#position)
  }

  /** Returns the number of the message with which the segment of a record begins. */
  async segmentNumberOf(lsn: number): Promise<number> {
    const { store, at } = this.#parts
    let message = await readMessage(store, this.#number, at)
    while (message.from.segmentLsn > lsn && message.segmentNumber > 1) {
      if (message.isAfterGap && message.number === message.segmentNumber) break
      message = await readMessage(store, message.segmentNumber - 1, at)
    }
    return message.segmentNumber
  }

  /** Whether the log in the bucket can be read from a base, or from LSN 1, to its end. */
  async isWhole(messageFirst: number | undefined): Promise<boolean> {
    const { store, at } = this.#parts
    const { first } = await store.range()
    for (let number = this.#number; number >= first && number > 0; ) {
      const { segmentNumber } = await readMessage(store, number, at)
      if (segmentNumber <= (messageFirst ?? 0)) return true
      if (segmentNumber < first) return false
      const begin = await readMessage(store, segmentNumber, at)
      if (begin.from.segmentLsn <= 1) return true
      if (begin.isAfterGap) return false
      number = segmentNumber - 1
    }
    return false
  }

  async #put(piece: LogPiece): Promise<void> {
    const { store, line } = this.#parts
    const number = this.#number + 1
    const isNewSegment = piece.from.offset === 0
    const segmentNumber = isNewSegment ? number : this.#segmentNumber
    const { bytes, sum } = encodeMessage({
      ...{ line, number, segmentNumber, from: piece.from, lsnLast: piece.lsnLast, body: piece.bytes },
      ...{ before: this.#before, isAfterGap: this.#isAfterGap },
    })
    const outcome = await store.append(bytes, this.#number)
    if (outcome.kind === 'unknown')
      throw outcome.cause ?? new StoreUnavailable(`the bucket did not confirm message ${number}`)
    if (outcome.kind === 'conflict') return this.#meet(number, piece.from)
    this.#position = piece.next
    this.#note({ number, segmentNumber, sum })
    this.#bytes += bytes.length
  }

  /** There is a message with the next number: an earlier attempt of this log that arrived late, or one of another server. `own` is where the next piece begins. */
  async #meet(number: number, own: LogPosition): Promise<void> {
    const { store, place, line, at } = this.#parts
    const message = await readMessage(store, number, at)
    if (isTakenOver(message, line)) throw takenOver(at, message, own.lsnNext - 1)
    const isNext =
      isOfLine(message, line) &&
      message.before.equals(this.#before) &&
      message.from.segmentId === own.segmentId &&
      message.from.offset === own.offset
    const after = isNext ? await positionAfter(place, { ...message, bytes: message.body }) : 'different'
    if (typeof after === 'string')
      throw new ArchiveError(
        'archive_in_use',
        `another server writes to ${at}: message ${number} is not of the log of this server. Give each server a prefix of its own.`,
      )
    this.#position = after
    this.#note(message)
  }

  #adopt(message: ReadMessage): void {
    this.#note(message)
    this.#segmentNumber = message.segmentNumber
  }

  #note({ number, segmentNumber, sum }: Pick<ReadMessage, 'number' | 'segmentNumber' | 'sum'>): void {
    this.#number = number
    this.#segmentNumber = segmentNumber
    this.#before = sum
    this.#isAfterGap = false
  }
}

/** Reads one message and checks that it has its number. */
export async function readMessage(store: FrameStore, number: number, at: string): Promise<ReadMessage> {
  const found = await store.at(number)
  if (found === undefined) throw new StoreUnavailable(`${at} does not show message ${number} now`)
  return checkNumber(decodeMessage(found.bytes, `message ${number} of ${at}`), number, at)
}

/** Throws archive_damaged if a message is not the one with this number. */
export function checkNumber(message: ReadMessage, number: number, at: string): ReadMessage {
  if (message.number === number) return message
  throw new ArchiveError('archive_damaged', `message ${number} of ${at} is a copy of message ${message.number}`)
}

function isOfLine({ line }: ReadMessage, { uuid, timeline }: Line): boolean {
  return line.uuid === uuid && line.timeline === timeline
}

/** Another directory continued the archive of this one. */
function isTakenOver(message: ReadMessage, { uuid, timeline }: Line): boolean {
  return message.line.uuid === uuid && message.line.timeline !== timeline
}

/** The last record that a directory uploaded before another one took over; undefined if that message was removed. */
async function lsnBeforeTakeover(
  last: ReadMessage,
  { store, line, at }: LogUploaderParts,
  first: number,
): Promise<number | undefined> {
  // A takeover begins a segment.
  for (let message = last; message.segmentNumber > first; ) {
    message = await readMessage(store, message.segmentNumber - 1, at)
    if (isOfLine(message, line)) return message.lsnLast
  }
  return undefined
}

function takenOver(at: string, { number, line }: ReadMessage, lsn: number | undefined): ArchiveError {
  return new ArchiveError(
    'archive_taken_over',
    `another server took over ${at} after LSN ${line.forkedAfterLsn} and writes to it since message ${number} or before. This server takes no more writes: remove its directory, or follow the archive with an empty one.`,
    lsn === undefined ? {} : { lsn },
  )
}

function diverged(at: string, { lsnLast, number }: ReadMessage): ArchiveError {
  return new ArchiveError(
    'archive_diverged',
    `${at} ends with LSN ${lsnLast} in message ${number}, which is not in the log of this directory: this is an older copy of the directory, or another copy wrote to the archive. Restore from the archive, or use another prefix.`,
  )
}
