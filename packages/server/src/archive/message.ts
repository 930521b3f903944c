// One object of the log in a bucket archive: frames of one segment of one data directory, as they are on its disk. Each names the checksum
// of the one before it. Little endian; specified in docs/formats/bucket-archive.md.
//
//    0       4     5       6       8      24         28    32               40       48              56           64
//   +-------+-----+-------+-------+------+----------+-----+----------------+--------+---------------+------------+----
//   | magic | ver | flags | zeros | uuid | timeline | 0   | forkedAfterLsn | number | segment began | segment id |
//   +-------+-----+-------+-------+------+----------+-----+----------------+--------+---------------+------------+----
//    64                  72       80         88        96                 128       160
//   +-------------------+--------+----------+---------+------------------+---------+------+
//   | LSN of segment    | offset | LSN next | LSN last| sha256 of before | sha256  | body |
//   +-------------------+--------+----------+---------+------------------+---------+------+
//
// "LSN next" is that of the first frame of the body. "Segment began" is the number of the object with the first bytes of the segment.
import { createHash } from 'node:crypto'
import type { Identity, LogPosition } from '@annal/wal'
import { ArchiveError } from './archive-error.ts'

/** Size of the header of a message. */
const messageHeaderBytes = 160
/** Version of the format of messages. */
const version = 1
const magic = Buffer.from('ANBA', 'latin1')
const flagGap = 1
const flagTakeover = 2
const sumBytes = 32
const sumAt = 128
const numberMax = 2 ** 53

/** Whose log it is. */
export type Line = Pick<Identity, 'uuid' | 'timeline' | 'forkedAfterLsn'>

/** A message without its checksum. */
export interface Message {
  readonly line: Line
  /** Its number, from 1. */
  readonly number: number
  /** The number of the message with the beginning of the segment. */
  readonly segmentNumber: number
  /** Records between the message before and this one are not in the archive. */
  readonly isAfterGap: boolean
  /** It has no body: from here on, the directory of its line writes, and none before it. */
  readonly isTakeover?: boolean
  readonly from: Omit<LogPosition, 'chain'>
  readonly lsnLast: number
  /** Checksum of the message before; zeros in the first one. */
  readonly before: Buffer
  readonly body: Uint8Array
}

/** A message that was read, with its checksum. */
export interface ReadMessage extends Message {
  readonly sum: Buffer
}

/** What the first message has in the place of a checksum. */
export const nothingBefore = Buffer.alloc(sumBytes)

/** The bytes of a message, and its checksum. */
export function encodeMessage(message: Message): { readonly bytes: Buffer; readonly sum: Buffer } {
  const { line, from, body } = message
  const bytes = Buffer.alloc(messageHeaderBytes + body.length)
  magic.copy(bytes)
  bytes[4] = version
  bytes[5] = (message.isAfterGap ? flagGap : 0) | (message.isTakeover ? flagTakeover : 0)
  bytes.write(line.uuid.replaceAll('-', ''), 8, 'hex')
  bytes.writeUInt32LE(line.timeline, 24)
  const numbers = [
    ...[line.forkedAfterLsn, message.number, message.segmentNumber],
    ...[from.segmentId, from.segmentLsn, from.offset, from.lsnNext, message.lsnLast],
  ]
  for (const [i, number] of numbers.entries()) bytes.writeBigUInt64LE(BigInt(number), 32 + 8 * i)
  message.before.copy(bytes, 96)
  bytes.set(body, messageHeaderBytes)
  const sum = sumOf(bytes)
  sum.copy(bytes, sumAt)
  return { bytes, sum }
}

/** Decodes a message. Throws archive_damaged. `name` names the object in the error. */
export function decodeMessage(given: Uint8Array, name: string): ReadMessage {
  const bytes = Buffer.from(given.buffer, given.byteOffset, given.byteLength)
  if (bytes.length < messageHeaderBytes || !bytes.subarray(0, 4).equals(magic))
    throw damaged(name, 'it is not a part of a log')
  if (bytes[4] !== version) throw damaged(name, `it has version ${bytes[4]}, and this program reads version ${version}`)
  const sum = Buffer.from(bytes.subarray(sumAt, sumAt + sumBytes))
  if (!sumOf(bytes).equals(sum)) throw damaged(name, 'its checksum does not match')
  const number = (i: number) => Number(bytes.readBigUInt64LE(32 + 8 * i))
  const numbers = Array.from({ length: 8 }, (_, i) => number(i))
  if (numbers.some((value) => value >= numberMax)) throw damaged(name, 'it has a number beyond 2^53')
  const [forkedAfterLsn = 0, own = 0, segmentNumber = 0, segmentId = 0, segmentLsn = 0, offset = 0, lsnNext = 0] =
    numbers
  return {
    line: { uuid: uuidOf(bytes.toString('hex', 8, 24)), timeline: bytes.readUInt32LE(24), forkedAfterLsn },
    number: own,
    segmentNumber,
    isAfterGap: ((bytes[5] ?? 0) & flagGap) !== 0,
    isTakeover: ((bytes[5] ?? 0) & flagTakeover) !== 0,
    from: { segmentId, segmentLsn, offset, lsnNext },
    lsnLast: numbers[7] ?? 0,
    before: Buffer.from(bytes.subarray(96, 96 + sumBytes)),
    body: bytes.subarray(messageHeaderBytes),
    sum,
  }
}

/** The checksum of everything but its own bytes. */
function sumOf(bytes: Buffer): Buffer {
  return createHash('sha256').update(bytes.subarray(0, sumAt)).update(bytes.subarray(messageHeaderBytes)).digest()
}

function uuidOf(hex: string): string {
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-')
}

function damaged(name: string, why: string): ArchiveError {
  return new ArchiveError('archive_damaged', `${name} cannot be used: ${why}`)
}
