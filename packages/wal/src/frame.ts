// One record on disk: a 48-byte header, the payload, zeros up to a multiple of 8. Little endian; docs/formats/wal-segment.md.
//
//    0          8           12      16       20     21      22        24    32           40        48
//   +----------+-----------+-------+--------+------+-------+---------+-----+------------+---------+---------+------+
//   | frameSum | headerSum | magic | length | type | flags | version | lsn | durableLsn | prevSum | payload | 0..7 |
//   +----------+-----------+-------+--------+------+-------+---------+-----+------------+---------+---------+------+
//
// frameSum is xxh64 of everything after it. headerSum is xxh32 of bytes 12..47, seeded with the segment's epoch: the
// length is verified before it is used. durableLsn is the highest LSN known to be synced when the frame was made.
import { xxh32, xxh64, xxh64Pieces } from './checksum.ts'
import { payloadBytesMax } from './limits.ts'

export const frameHeaderBytes = 48
const magic = 0x52464e41

/** Types of the log's own records; 16..255 are its user's. Zero is invalid. */
export const recordType = { marker: 1, cleanClose: 2, userMin: 16, userMax: 255 } as const

/** An own record type that a reader does not know may be passed over when this flag is set. */
export const flagSkippable = 1

export interface FrameHeader {
  readonly length: number
  readonly type: number
  readonly flags: number
  readonly version: number
  readonly lsn: number
  readonly durableLsn: number
  readonly prevSum: bigint
}

/** Bytes a record of this payload length takes on disk. */
export function frameBytes(length: number): number {
  return frameHeaderBytes + length + paddingOf(length)
}

export function paddingOf(length: number): number {
  return (8 - (length & 7)) & 7
}

/** Writes all of the header but frameSum. */
export function writeFrameHeader(into: Buffer, at: number, header: FrameHeader, seed: number): void {
  into.writeUInt32LE(magic, at + 12)
  into.writeUInt32LE(header.length, at + 16)
  into[at + 20] = header.type
  into[at + 21] = header.flags
  into.writeUInt16LE(header.version, at + 22)
  writeCount(into, header.lsn, at + 24)
  writeCount(into, header.durableLsn, at + 32)
  into.writeBigUInt64LE(header.prevSum, at + 40)
  into.writeUInt32LE(xxh32(into.subarray(at + 12, at + frameHeaderBytes), seed), at + 8)
}

/** Writes frameSum of a frame that lies in one piece, and returns it. */
export function sealFrame(into: Buffer, at: number, length: number): bigint {
  const sum = xxh64(into.subarray(at + 8, at + frameBytes(length)))
  into.writeBigUInt64LE(sum, at)
  return sum
}

/** Writes frameSum of a frame whose payload stays where it is, and returns it. */
export function sealFrameInPieces(into: Buffer, at: number, rest: readonly Uint8Array[]): bigint {
  const sum = xxh64Pieces([into.subarray(at + 8, at + frameHeaderBytes), ...rest])
  into.writeBigUInt64LE(sum, at)
  return sum
}

/** The header at `at`, or undefined when the bytes there are not one of this epoch. Needs 48 bytes. */
export function readFrameHeader(bytes: Buffer, at: number, seed: number): FrameHeader | undefined {
  if (bytes.readUInt32LE(at + 12) !== magic) return undefined
  if (xxh32(bytes.subarray(at + 12, at + frameHeaderBytes), seed) !== bytes.readUInt32LE(at + 8)) return undefined
  const length = bytes.readUInt32LE(at + 16)
  const type = bytes.readUInt8(at + 20)
  const lsn = readCount(bytes, at + 24)
  const durableLsn = readCount(bytes, at + 32)
  if (length > payloadBytesMax || type === 0 || lsn === undefined || durableLsn === undefined) return undefined
  const flags = bytes.readUInt8(at + 21)
  return {
    length,
    type,
    flags,
    version: bytes.readUInt16LE(at + 22),
    lsn,
    durableLsn,
    prevSum: bytes.readBigUInt64LE(at + 40),
  }
}

/** The frame's checksum when the whole frame at `at` is as it was written, else undefined. */
export function verifyFrame(bytes: Buffer, at: number, length: number): bigint | undefined {
  const end = at + frameBytes(length)
  const sum = bytes.readBigUInt64LE(at)
  if (xxh64(bytes.subarray(at + 8, end)) !== sum) return undefined
  for (let pad = at + frameHeaderBytes + length; pad < end; pad++) if (bytes[pad] !== 0) return undefined
  return sum
}

/** Numbers of 64 bits on disk are plain numbers inside, so those beyond 2^53-1 are refused. */
export function readCount(bytes: Buffer, at: number): number | undefined {
  const high = bytes.readUInt32LE(at + 4)
  return high > 0x1fffff ? undefined : high * 0x100000000 + bytes.readUInt32LE(at)
}

export function writeCount(bytes: Buffer, value: number, at: number): void {
  bytes.writeUInt32LE(value % 0x100000000, at)
  bytes.writeUInt32LE(Math.floor(value / 0x100000000), at + 4)
}

/** What headerSum is seeded with: the low half of the epoch. */
export function seedOf(epoch: bigint): number {
  return Number(epoch & 0xffffffffn)
}
