// One record on disk: a 48-byte header, the payload, zeros up to a multiple of 8. Little endian;
// docs/formats/wal-segment.md.
//
//    0          8           12      16       20     21      22        24    32           40        48
//   +----------+-----------+-------+--------+------+-------+---------+-----+------------+---------+---------+------+
//   | frameSum | headerSum | magic | length | type | flags | version | lsn | durableLsn | prevSum | payload | 0..7 |
//   +----------+-----------+-------+--------+------+-------+---------+-----+------------+---------+---------+------+
//
// frameSum is the xxh64 of everything after it. headerSum is the xxh32 of bytes 12..47, seeded with the segment's
// epoch, so the length is verified before it is used. durableLsn is the highest LSN known to be synced when the frame
// was encoded.
import { xxh32, xxh64, xxh64Pieces } from './checksum.ts'
import { payloadBytesMax } from './limits.ts'

/** Size of the header of a frame. */
export const frameHeaderBytes = 48
const magic = 0x52464e41

/** Types below 16 are records of the log itself; 16..255 belong to its user. Zero is invalid. */
export const recordType = { marker: 1, cleanClose: 2, userMin: 16, userMax: 255 } as const

/** The fields of a header, without its checksums. */
export interface FrameHeader {
  readonly length: number
  readonly type: number
  readonly flags: number
  readonly version: number
  readonly lsn: number
  readonly durableLsn: number
  readonly prevSum: bigint
}

/** Bytes on disk of a record with this payload length. */
export function frameBytes(length: number): number {
  return frameHeaderBytes + length + paddingOf(length)
}

/** Number of zeros after a payload of this length. */
export function paddingOf(length: number): number {
  return (8 - (length & 7)) & 7
}

/** Writes the header except frameSum. */
export function writeFrameHeader(into: Buffer, offset: number, header: FrameHeader, seed: number): void {
  into.writeUInt32LE(magic, offset + 12)
  into.writeUInt32LE(header.length, offset + 16)
  into[offset + 20] = header.type
  into[offset + 21] = header.flags
  into.writeUInt16LE(header.version, offset + 22)
  writeCount(into, header.lsn, offset + 24)
  writeCount(into, header.durableLsn, offset + 32)
  into.writeBigUInt64LE(header.prevSum, offset + 40)
  into.writeUInt32LE(xxh32(into.subarray(offset + 12, offset + frameHeaderBytes), seed), offset + 8)
}

/** Writes frameSum of a contiguous frame and returns it. */
export function sealFrame(into: Buffer, offset: number, length: number): bigint {
  const sum = xxh64(into.subarray(offset + 8, offset + frameBytes(length)))
  into.writeBigUInt64LE(sum, offset)
  return sum
}

/** Writes frameSum of a frame whose payload is in other buffers, and returns it. */
export function sealFrameInPieces(into: Buffer, offset: number, rest: readonly Uint8Array[]): bigint {
  const sum = xxh64Pieces([into.subarray(offset + 8, offset + frameHeaderBytes), ...rest])
  into.writeBigUInt64LE(sum, offset)
  return sum
}

/** Returns the header at `offset`; undefined when the bytes there are no header of this epoch. Needs 48 bytes. */
export function readFrameHeader(bytes: Buffer, offset: number, seed: number): FrameHeader | undefined {
  if (bytes.readUInt32LE(offset + 12) !== magic) return undefined
  if (xxh32(bytes.subarray(offset + 12, offset + frameHeaderBytes), seed) !== bytes.readUInt32LE(offset + 8))
    return undefined
  const length = bytes.readUInt32LE(offset + 16)
  const type = bytes.readUInt8(offset + 20)
  const lsn = readCount(bytes, offset + 24)
  const durableLsn = readCount(bytes, offset + 32)
  if (length > payloadBytesMax || type === 0 || lsn === undefined || durableLsn === undefined) return undefined
  const flags = bytes.readUInt8(offset + 21)
  return {
    length,
    type,
    flags,
    version: bytes.readUInt16LE(offset + 22),
    lsn,
    durableLsn,
    prevSum: bytes.readBigUInt64LE(offset + 40),
  }
}

/** Returns the frame's checksum when the whole frame at `offset` is intact; otherwise undefined. */
export function verifyFrame(bytes: Buffer, offset: number, length: number): bigint | undefined {
  const end = offset + frameBytes(length)
  const sum = bytes.readBigUInt64LE(offset)
  if (xxh64(bytes.subarray(offset + 8, end)) !== sum) return undefined
  for (let pad = offset + frameHeaderBytes + length; pad < end; pad++) if (bytes[pad] !== 0) return undefined
  return sum
}

/** Returns a 64-bit number on disk as a plain number; undefined when it exceeds 2^53-1. */
export function readCount(bytes: Buffer, offset: number): number | undefined {
  const high = bytes.readUInt32LE(offset + 4)
  return high > 0x1fffff ? undefined : high * 0x100000000 + bytes.readUInt32LE(offset)
}

/** Writes a whole number of up to 2^53-1 as 64 bits. */
export function writeCount(bytes: Buffer, value: number, offset: number): void {
  bytes.writeUInt32LE(value % 0x100000000, offset)
  bytes.writeUInt32LE(Math.floor(value / 0x100000000), offset + 4)
}

/** The seed of headerSum: the low half of the epoch. */
export function seedOf(epoch: bigint): number {
  return Number(epoch & 0xffffffffn)
}
