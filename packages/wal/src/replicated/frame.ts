// One message of a replicated log. Little endian; docs/formats/replicated-frame.md.
//
//    0       4         5       6      8       16      24         32        40    48
//   +-------+---------+-------+------+-------+-------+----------+---------+-----+------+
//   | magic | version | flags | zero | logId | epoch | lsnFirst | prevSum | sum | body |
//   +-------+---------+-------+------+-------+-------+----------+---------+-----+------+
//
// sum is the xxh64 of bytes 0..39 and the body. prevSum is the sum of the previous frame that counts. The body of a
// fence is the id of its writer, 16 bytes. The body of a data frame is records: u32 length, u8 type, u8 zero, u16
// version, payload. A body too large for one message continues in the next frames.
import type { BatchRecord } from '../batch.ts'
import { xxh64Pieces } from '../checksum.ts'
import { assert, WalError } from '../errors.ts'
import { readCount, recordType, writeCount } from '../frame.ts'
import { payloadBytesMax } from '../limits.ts'
import type { LogRecord, Lsn } from '../log.ts'

/** Size of the header of a frame. */
const replicatedHeaderBytes = 48
const magic = 0x46524e41
const formatVersion = 1
const recordHeaderBytes = 8
/** `more`: the body continues in the next frame. `fence`: the frame begins an epoch; it has no LSN and no records. */
const flag = { more: 1, fence: 2 } as const

/** Size of the id of a writer, in bytes. */
export const writerBytes = 16

/** A frame of the log. */
export interface ReplicatedFrame {
  readonly kind: 'fence' | 'data'
  /** The body continues in the next frame. Never true of a fence. */
  readonly more: boolean
  readonly epoch: number
  /** LSN of the first record of the body that begins or continues here; 0 for a fence. */
  readonly lsnFirst: number
  /** Sum of the previous frame that counts; 0 for the first one and for a fence. */
  readonly prevSum: bigint
  readonly sum: bigint
  readonly body: Uint8Array
}

/** The fields of a frame before it is encoded. */
export type NewFrame = Omit<ReplicatedFrame, 'sum' | 'body'> & { readonly pieces: readonly Uint8Array[] }

/** A frame as bytes, with its sum. */
export interface EncodedFrame {
  readonly bytes: Buffer
  readonly sum: bigint
}

/** Encodes one frame. */
export function encodeFrame(logId: bigint, frame: NewFrame): EncodedFrame {
  let length = replicatedHeaderBytes
  for (const piece of frame.pieces) length += piece.length
  const bytes = Buffer.allocUnsafeSlow(length)
  bytes.writeUInt32LE(magic, 0)
  bytes[4] = formatVersion
  bytes[5] = (frame.more ? flag.more : 0) | (frame.kind === 'fence' ? flag.fence : 0)
  bytes.writeUInt16LE(0, 6)
  bytes.writeBigUInt64LE(logId, 8)
  writeCount(bytes, frame.epoch, 16)
  writeCount(bytes, frame.lsnFirst, 24)
  bytes.writeBigUInt64LE(frame.prevSum, 32)
  let to = replicatedHeaderBytes
  for (const piece of frame.pieces) {
    bytes.set(piece, to)
    to += piece.length
  }
  const sum = sumOf(bytes)
  bytes.writeBigUInt64LE(sum, 40)
  return { bytes, sum }
}

/** Returns the frame in a message. Throws `log_damaged` when the bytes are no intact frame of this log. */
export function decodeFrame(
  logId: bigint,
  message: { readonly seq: number; readonly bytes: Uint8Array },
): ReplicatedFrame {
  const { seq } = message
  const bytes = Buffer.from(message.bytes.buffer, message.bytes.byteOffset, message.bytes.byteLength)
  const damaged = (evidence: string) =>
    new WalError('log_damaged', `message ${seq} of the replicated log is not an intact frame: ${evidence}`, {
      seq,
      evidence,
    })
  if (bytes.length < replicatedHeaderBytes) throw damaged(`it has ${bytes.length} bytes, a header has 48`)
  if (bytes.readUInt32LE(0) !== magic) throw damaged('the magic number is wrong')
  const sum = bytes.readBigUInt64LE(40)
  if (sumOf(bytes) !== sum) throw damaged('the checksum does not match')
  if (bytes[4] !== formatVersion) {
    throw new WalError(
      'format_too_new',
      `message ${seq} has format version ${bytes[4]}; this version reads ${formatVersion}`,
      {
        seq,
      },
    )
  }
  if (bytes.readBigUInt64LE(8) !== logId) throw damaged('it belongs to another log')
  const flags = bytes.readUInt8(5)
  const epoch = readCount(bytes, 16)
  const lsnFirst = readCount(bytes, 24)
  const kind = (flags & flag.fence) === 0 ? 'data' : 'fence'
  const body = bytes.subarray(replicatedHeaderBytes)
  if (epoch === undefined || epoch === 0 || lsnFirst === undefined) throw damaged('an epoch or LSN is out of range')
  if (kind === 'fence' && (flags !== flag.fence || body.length !== writerBytes)) throw damaged('the fence is malformed')
  if (kind === 'data' && (lsnFirst === 0 || body.length === 0)) throw damaged('the data frame is empty')
  return { kind, more: (flags & flag.more) !== 0, epoch, lsnFirst, prevSum: bytes.readBigUInt64LE(32), sum, body }
}

/** Where a batch begins: its epoch, first LSN, and the sum of the frame before it. */
export interface FrameStart {
  readonly logId: bigint
  readonly epoch: number
  readonly lsnFirst: number
  readonly prevSum: bigint
}

/** Encodes records as frames of at most `messageBytesMax` bytes each. */
export function encodeBatch(
  records: readonly BatchRecord[],
  start: FrameStart,
  messageBytesMax: number,
): readonly EncodedFrame[] {
  const room = messageBytesMax - replicatedHeaderBytes
  assert(room > 0, 'a message has room for a body')
  const bodies = splitPieces(bodyPieces(records), room)
  let prevSum = start.prevSum
  return bodies.map((pieces, i) => {
    const more = i < bodies.length - 1
    const { epoch, lsnFirst } = start
    const encoded = encodeFrame(start.logId, { kind: 'data', more, epoch, lsnFirst, prevSum, pieces })
    prevSum = encoded.sum
    return encoded
  })
}

/** Returns the records of a whole body. */
export function decodeRecords(parts: readonly Uint8Array[], lsnFirst: number, seq: number): LogRecord[] {
  const only = parts.length === 1 ? parts[0] : undefined
  const body = only === undefined ? Buffer.concat(parts) : Buffer.from(only.buffer, only.byteOffset, only.byteLength)
  const records: LogRecord[] = []
  for (let offset = 0; offset < body.length; ) {
    const length = offset + recordHeaderBytes <= body.length ? body.readUInt32LE(offset) : undefined
    const end = offset + recordHeaderBytes + (length ?? 0)
    if (length === undefined || length > payloadBytesMax || end > body.length) {
      throw new WalError('log_damaged', `the records that end in message ${seq} are cut short`, { seq })
    }
    const type = body.readUInt8(offset + 4)
    if (type < recordType.userMin)
      throw new WalError('log_damaged', `message ${seq} has a record of type ${type}`, { seq })
    records.push({
      // The frame's number and the count of its records give the LSN, so the brand is applied here.
      lsn: (lsnFirst + records.length) as Lsn,
      type,
      version: body.readUInt16LE(offset + 6),
      payload: body.subarray(offset + recordHeaderBytes, end),
    })
    offset = end
  }
  return records
}

function bodyPieces(records: readonly BatchRecord[]): Uint8Array[] {
  const pieces: Uint8Array[] = []
  for (const record of records) {
    const header = Buffer.alloc(recordHeaderBytes)
    header.writeUInt32LE(record.length, 0)
    header[4] = record.type
    header.writeUInt16LE(record.version, 6)
    pieces.push(header, ...record.pieces)
  }
  return pieces
}

/** Divides the pieces into groups of at most `room` bytes, cutting pieces where necessary. */
function splitPieces(pieces: readonly Uint8Array[], room: number): Uint8Array[][] {
  const groups: Uint8Array[][] = [[]]
  let free = room
  for (const piece of pieces) {
    for (let offset = 0; offset < piece.length; ) {
      if (free === 0) {
        groups.push([])
        free = room
      }
      const taken = Math.min(free, piece.length - offset)
      groups.at(-1)?.push(piece.subarray(offset, offset + taken))
      offset += taken
      free -= taken
    }
  }
  return groups
}

function sumOf(bytes: Buffer): bigint {
  return xxh64Pieces([bytes.subarray(0, 40), bytes.subarray(replicatedHeaderBytes)])
}
