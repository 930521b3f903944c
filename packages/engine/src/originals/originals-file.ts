// The bytes of a chunk file of original vectors. Checksums cover who wrote the file, and that its rows are those that were written one after
// another. Specified in docs/formats/originals.md.
//
//   version 2, 3: | header, 64 bytes | rows, each | f32 x dimension | u64 sum | |
//   header:     | "ANNLVECS" | u16 version | u16 oldest reader | u16 kind | u16 field | directory uuid, 16 bytes | u32 collection
//               | u32 generation | u32 chunk | u32 dimension | u64 sum of the last row of the previous chunk | u64 xxh64 of bytes 0..55 |
//               version 3 is version 2 with rows whose forms are in the snapshot, which a reader of version 2 would take for unit vectors
//   sum:        xxh64 of the vector, seed = the previous sum + the sum of the header, modulo 2^64
//   version 1:  no header; rows, each | u64 xxh64 of the vector, seed = slot | f32 x dimension |
//
// Little endian. The sum before the first row is the sum of the header, its last 8 bytes. So the 8 bytes before every row are the sum that the
// row is chained to, and the sum of a row depends on everything before it and on who wrote the file.
import { EngineError } from '../errors.ts'
import { xxh64 } from '../memory/xxh64.ts'

const magic = 0x534345564c4e4e41n // "ANNLVECS" read as a little-endian number
/** The newest version. A file has the oldest version that can express its rows. */
const formatVersion = 3
/** Bytes of a header. */
export const headBytes = 64
/** Bytes of the checksum of a row. */
export const sumBytes = 8
const mask = (1n << 64n) - 1n

/**
 * Kinds of rows: vectors of a dense field (unit vectors for cosine), members of a multi-vector field as given, or vectors of a dense cosine
 * field in the forms that the snapshot lists.
 */
export const rowKind = { vectors: 1, members: 2, given: 3 } as const

/** Identifies who wrote a file. A clone, a restored collection, and a restored directory continue with files that others wrote. */
export interface OriginalsWriter {
  /** The uuid of the data directory in which the file was written, and the id of the collection in it. */
  readonly directory: string
  readonly collectionId: number
}

/** A decoded header. */
export interface OriginalsHead extends OriginalsWriter {
  readonly kind: number
  readonly generation: number
  readonly field: number
  readonly chunk: number
  readonly dimension: number
  /** Sum of the last row of the previous chunk; 0 in the first chunk. */
  readonly before: bigint
}

/** Facts about a file in a manifest: who wrote it, and the sum of the last valid row. */
export interface ChainProof extends OriginalsWriter {
  readonly chain: string
}

/** Fact about a file of version 1 in a manifest: a checksum of the checksums of some rows. */
export interface MarksProof {
  readonly marks: string
}

/** Facts about a file in a manifest, by which it is identified. */
export type OriginalsProof = ChainProof | MarksProof

/** The 64 bytes of a header. */
export function encodeHead(head: OriginalsHead): Uint8Array {
  const bytes = new Uint8Array(headBytes)
  const view = new DataView(bytes.buffer)
  view.setBigUint64(0, magic, true)
  const version = head.kind === rowKind.given ? 3 : 2
  view.setUint16(8, version, true)
  view.setUint16(10, version, true)
  view.setUint16(12, head.kind, true)
  view.setUint16(14, head.field, true)
  bytes.set(uuidBytes(head.directory), 16)
  view.setUint32(32, head.collectionId, true)
  view.setUint32(36, head.generation, true)
  view.setUint32(40, head.chunk, true)
  view.setUint32(44, head.dimension, true)
  view.setBigUint64(48, head.before, true)
  view.setBigUint64(56, xxh64(bytes.subarray(0, 56)), true)
  return bytes
}

/** Decodes a header. Returns undefined if the bytes are not one, as in a file of version 1. Throws format_too_new. */
export function decodeHead(bytes: Uint8Array, path: string): OriginalsHead | undefined {
  if (bytes.length < headBytes) return undefined
  const view = new DataView(bytes.buffer, bytes.byteOffset)
  if (view.getBigUint64(0, true) !== magic || headSum(bytes) !== xxh64(bytes.subarray(0, 56))) return undefined
  if (view.getUint16(10, true) > formatVersion) {
    const version = view.getUint16(8, true)
    throw new EngineError('format_too_new', `${path} has format ${version}, which requires a newer version of Annal`, {
      file: path,
      version,
    })
  }
  return {
    kind: view.getUint16(12, true),
    field: view.getUint16(14, true),
    directory: uuidText(bytes.subarray(16, 32)),
    collectionId: view.getUint32(32, true),
    generation: view.getUint32(36, true),
    chunk: view.getUint32(40, true),
    dimension: view.getUint32(44, true),
    before: view.getBigUint64(48, true),
  }
}

/** The checksum of a header, which starts the chain of rows. */
export function headSum(head: Uint8Array): bigint {
  return sumAt(head, 56)
}

/** Reads a checksum, little endian. */
export function sumAt(bytes: Uint8Array, offset: number): bigint {
  return new DataView(bytes.buffer, bytes.byteOffset).getBigUint64(offset, true)
}

/** The sum of a row of version 2 or later. */
export function chainSum(vector: Uint8Array, before: bigint, head: bigint): bigint {
  return xxh64(vector, (before + head) & mask)
}

/** A checksum as 16 hexadecimal digits, as manifests have it. */
export function hex(sum: bigint): string {
  return sum.toString(16).padStart(16, '0')
}

/** Names the owner of a file, for error messages. */
export function describeHead({ field, chunk, generation, collectionId, directory }: OriginalsHead): string {
  return `chunk ${chunk} of field ${field}, generation ${generation}, of collection ${collectionId} of directory ${directory}`
}

function uuidBytes(uuid: string): Uint8Array {
  return Uint8Array.from(uuid.replaceAll('-', '').match(/../g) ?? [], (digits) => Number.parseInt(digits, 16))
}

function uuidText(bytes: Uint8Array): string {
  const digits = Buffer.from(bytes).toString('hex')
  return [digits.slice(0, 8), digits.slice(8, 12), digits.slice(12, 16), digits.slice(16, 20), digits.slice(20)].join(
    '-',
  )
}
