// The first 64 bytes of a segment file, and its name. Little endian; specified in docs/formats/wal-segment.md.
//
//    0        8     10    12      16        24         32      40             48         52      56        64
//   +--------+-----+-----+-------+---------+----------+-------+--------------+----------+-------+---------+
//   | magic  | ver | min | 64    | id      | lsnFirst | epoch | chain before | timeline | flags | xxh64   |
//   +--------+-----+-----+-------+---------+----------+-------+--------------+----------+-------+---------+
import { xxh64 } from './checksum.ts'
import { readCount, writeCount } from './frame.ts'

/** Size of a segment header. */
export const segmentHeaderBytes = 64
/** Version of the segment format that this package writes. */
export const formatVersion = 1
const magic = Buffer.from('ANNLWAL1', 'latin1')

/** The fields of a segment header. */
export interface SegmentHeader {
  /** Exactly one more than the segment before. */
  readonly id: number
  readonly lsnFirst: number
  /** Random per file, so that bytes of an older file or of a copy never verify here. */
  readonly epoch: bigint
  /** Checksum of the last frame of the segment before; 0 for the first. */
  readonly chainBefore: bigint
  readonly timeline: number
}

/** A decoded header, or why it cannot be used. */
export type HeaderFinding =
  | { readonly kind: 'header'; readonly header: SegmentHeader }
  | { readonly kind: 'damaged'; readonly why: string }
  | { readonly kind: 'too-new'; readonly version: number; readonly versionMin: number }

/** The bytes of a header. */
export function encodeSegmentHeader(header: SegmentHeader): Buffer {
  const bytes = Buffer.alloc(segmentHeaderBytes)
  magic.copy(bytes, 0)
  bytes.writeUInt16LE(formatVersion, 8)
  bytes.writeUInt16LE(formatVersion, 10)
  bytes.writeUInt32LE(segmentHeaderBytes, 12)
  writeCount(bytes, header.id, 16)
  writeCount(bytes, header.lsnFirst, 24)
  bytes.writeBigUInt64LE(header.epoch, 32)
  bytes.writeBigUInt64LE(header.chainBefore, 40)
  bytes.writeUInt32LE(header.timeline, 48)
  bytes.writeUInt32LE(0, 52)
  bytes.writeBigUInt64LE(xxh64(bytes.subarray(0, 56)), 56)
  return bytes
}

/** Decodes the first bytes of a segment file. */
export function decodeSegmentHeader(bytes: Buffer): HeaderFinding {
  if (bytes.length < segmentHeaderBytes) return { kind: 'damaged', why: `only ${bytes.length} of 64 header bytes` }
  if (!bytes.subarray(0, 8).equals(magic)) return { kind: 'damaged', why: 'not a segment: wrong magic' }
  if (xxh64(bytes.subarray(0, 56)) !== bytes.readBigUInt64LE(56)) return { kind: 'damaged', why: 'header checksum' }
  const versionMin = bytes.readUInt16LE(10)
  if (versionMin > formatVersion) return { kind: 'too-new', version: bytes.readUInt16LE(8), versionMin }
  if (bytes.readUInt32LE(12) !== segmentHeaderBytes) return { kind: 'damaged', why: 'header length' }
  const id = readCount(bytes, 16)
  const lsnFirst = readCount(bytes, 24)
  if (id === undefined || lsnFirst === undefined) return { kind: 'damaged', why: 'number beyond 2^53' }
  const epoch = bytes.readBigUInt64LE(32)
  const chainBefore = bytes.readBigUInt64LE(40)
  return { kind: 'header', header: { id, lsnFirst, epoch, chainBefore, timeline: bytes.readUInt32LE(48) } }
}

/** Numbers have leading zeros, so that names sort in numeric order. */
export function segmentName(id: number, lsnFirst: number): string {
  return `${String(id).padStart(20, '0')}-${String(lsnFirst).padStart(20, '0')}.wal`
}

/** Parses the name of a segment; undefined for any other name. */
export function parseSegmentName(name: string): { readonly id: number; readonly lsnFirst: number } | undefined {
  const found = /^(\d{20})-(\d{20})\.wal$/.exec(name)
  if (found === null) return undefined
  const id = Number(found[1])
  const lsnFirst = Number(found[2])
  return Number.isSafeInteger(id) && Number.isSafeInteger(lsnFirst) ? { id, lsnFirst } : undefined
}

/** The name of a file with bytes that a start removed from an unclean end. */
export interface TornName {
  readonly name: string
  /** Name of the segment whose end was removed. */
  readonly segment: string
  /** Number of this removal from the segment, from 1. */
  readonly number: number
}

/** Returns the name of the file for the given removal from a segment: SEGMENT.torn, SEGMENT.torn-2, ... */
export function tornName(segment: string, number: number): string {
  return `${segment}.torn${number === 1 ? '' : `-${number}`}`
}

/** Parses the name of a torn file; undefined for any other name. */
export function parseTornName(name: string): TornName | undefined {
  const [, segment, number = '1'] = /^(\d{20}-\d{20}\.wal)\.torn(?:-(\d{1,9}))?$/.exec(name) ?? []
  return segment === undefined ? undefined : { name, segment, number: Number(number) }
}
