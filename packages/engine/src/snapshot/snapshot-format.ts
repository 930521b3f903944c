// The layout of one snapshot file: a header, chunks that each carry a checksum, and a footer, so that a truncated file
// is detected like a changed one. Every chunk except the last is full. Specified in docs/formats/snapshot.md.
//
//   header, 64 bytes:  | "ANNLSNAP" | u16 version | u16 oldest reader | u32 64 | u32 collection | u32 part | u64 LSN | u64 since | zeros | u64 xxh64 of bytes 0..55 |
//   chunk:             | u32 bytes, 1..1 Mi | u32 number, 0 first | u64 xxh64 of bytes, seed = number | bytes |
//   footer:            | u32 0 | u32 chunks | u64 total bytes | u64 xxh64 of all chunk sums in order |
//
// Little endian.
import { EngineError } from '../errors.ts'
import { xxh64 } from '../memory/xxh64.ts'

const magic = 0x50414e534c4e4e41n // "ANNLSNAP" read as a little-endian number
/** The part with the LSNs of the objects. Images do not have it, because their LSNs mean nothing in another log. */
export const lsnsPart = 0xffff_fffe
/** Version 1 has all of a part. Versions 2 and 3 have what changed in it since an earlier file: 2 in a field, 3 in sections. */
const wholeVersion = 1
const fieldChangesVersion = 2
export const formatVersion = 3
export const headerBytes = 64
export const chunkHeadBytes = 16
export const footerBytes = 24
export const chunkBytesMax = 1 << 20

export interface SnapshotHead {
  readonly collectionId: number
  /** 0 for the objects, 1 + position for a field, or `lsnsPart`. */
  readonly part: number
  readonly lsn: number
  /** The file has only what changed since the file of this LSN. */
  readonly since?: number
}

export interface SnapshotFileFacts {
  readonly bytes: number
  /** xxh64 of all chunk sums, in hexadecimal. */
  readonly sum: string
}

export function headerOf({ collectionId, part, lsn, since }: SnapshotHead): Uint8Array {
  const bytes = new Uint8Array(headerBytes)
  const view = new DataView(bytes.buffer)
  view.setBigUint64(0, magic, true)
  const hasSections = part === 0 || part === lsnsPart
  const version = since === undefined ? wholeVersion : hasSections ? formatVersion : fieldChangesVersion
  view.setUint16(8, version, true)
  view.setUint16(10, version, true)
  view.setUint32(12, headerBytes, true)
  view.setUint32(16, collectionId, true)
  view.setUint32(20, part, true)
  view.setBigUint64(24, BigInt(lsn), true)
  if (since !== undefined) view.setBigUint64(32, BigInt(since), true)
  view.setBigUint64(56, xxh64(bytes.subarray(0, 56)), true)
  return bytes
}

/** Whether the bytes are an intact header of any version. */
export function isHeader(bytes: Uint8Array): boolean {
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  return view.getBigUint64(0, true) === magic && view.getBigUint64(56, true) === xxh64(bytes.subarray(0, 56))
}

export function footerOf({ chunks, total, sum }: { chunks: number; total: number; sum: bigint }): Uint8Array {
  const footer = new Uint8Array(footerBytes)
  const view = new DataView(footer.buffer)
  view.setUint32(4, chunks, true)
  view.setBigUint64(8, BigInt(total), true)
  view.setBigUint64(16, sum, true)
  return footer
}

export function damagedFile(path: string, offset: number, why: string): EngineError {
  return new EngineError('snapshot_damaged', `snapshot file ${path} is damaged at byte ${offset}: ${why}`, {
    file: path,
    offset,
  })
}
