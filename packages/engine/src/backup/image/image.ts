// An image: files from which one collection can be built as of one record, on any machine. It consists of a snapshot,
// the records after it (the tail), the original vectors, and a manifest that is written last. Backups, imports and
// clones are images. Specified in docs/formats/backup.md.
import { join } from 'node:path'
import type { Vfs } from '@annal/wal'
import { memoryPerImageByte } from '../../limits.ts'
import type { HashSeed } from '../../memory/id-hash.ts'
import { type FieldSchema, hasPackedCodes, hasText } from '../../model/schema.ts'
import type { OriginalsProof } from '../../originals/originals-file.ts'
import { type ListedFile, listedFiles } from '../../snapshot/manifest.ts'
import {
  parseSealed,
  readSealed,
  type Seal,
  sealedText,
  type Unsealed,
  writeSealed,
} from '../../snapshot/sealed-json.ts'

export const imageManifestName = 'manifest.json'
/**
 * Format 2 added a header to files of original vectors, which a reader of format 1 would take for a vector. Format 3 stores vectors of
 * cosine fields unchanged, which a reader of format 2 would take for unit vectors. Format 4 has files with later changes of a part, which a
 * reader of format 3 would not find. Format 5 has them of the objects as well. Format 6 has fields of int4
 * and int2, which a reader of format 5 does not know. Format 7 has the aliases of the collection, which a reader of format 6 refuses in an
 * upload. Format 8 has objects that expire, which a reader of format 7 would return for ever. Format 9 has
 * text fields, which a reader of format 8 does not know. An image has the oldest format that can express it.
 */
const seal: Seal = { format: 9, key: 'image' }
const formatWithExpiries = 8
const formatWithAliases = 7
const formatWithPackedCodes = 6
const formatWithObjectDeltas = 5
const formatWithFieldDeltas = 4
const formatWithoutDeltas = 3

/** The part number of the tail, in the numbering of the fields. */
export const tailPart = 0xffff_ffff

interface FileFacts {
  readonly bytes: number
  /** Empty in the image of a clone, whose linked files are checked by other checksums when they are read. */
  readonly sha256: string
}

/** What changed in a part since the file before it. */
export interface ImageDelta extends FileFacts {
  readonly lsn: number
  readonly sum: string
}

export interface ImagePart extends FileFacts {
  readonly part: number
  /** As its snapshot files state it. */
  readonly sum: string
  /** The newest record that the file reflects; absent where it is that of the snapshot. */
  readonly lsn?: number
  /** Later changes, in order. The last reflects the newest record of the snapshot. */
  readonly deltas?: readonly ImageDelta[]
}

export interface ImageOriginals extends FileFacts {
  readonly generation: number
  readonly field: number
  readonly chunk: number
  /** Its writer and the checksum chain of its rows; absent for files of the first version. */
  readonly proof?: OriginalsProof
  /** The file of that number will never be written again, so that other directories may link it. */
  readonly full: boolean
}

export interface ImageTail extends FileFacts {
  readonly records: number
  readonly sum: string
}

export interface Image {
  /** The name of the backup; empty for an image that is not a backup. */
  readonly name: string
  /** The folder of `backups/` it was written to; absent in imports and in manifests of format 1. */
  readonly folder?: string
  readonly takenAtMs: number
  readonly database: string
  readonly collection: string
  /** Aliases that led to the collection. A restore does not create them. Absent if there were none. */
  readonly aliases?: readonly string[]
  /** The data directory it was made in, and its collection there. */
  readonly source: { readonly uuid: string; readonly collectionId: number }
  /**
   * The newest record of the collection that it reflects, and the time of the newest record of the log at that moment.
   */
  readonly lsn: number
  readonly timeMs: number
  readonly hashSeed: HashSeed
  /** The fields at the beginning of the snapshot; the tail may change them. */
  readonly fields: readonly FieldSchema[]
  /** The default expiry at the beginning of the snapshot. */
  readonly ttlSeconds?: number
  /** Objects of the snapshot may have an expiry. */
  readonly expires?: true
  /** 0 without a snapshot: then the tail holds every record. */
  readonly snapshotLsn: number
  readonly parts: readonly ImagePart[]
  readonly originals: readonly ImageOriginals[]
  readonly tail: ImageTail
  readonly objects: number
  /** The fields as of `lsn`, with the number of vectors in each. */
  readonly fieldsNow: readonly (FieldSchema & { readonly elements: number })[]
  /** Hash of the state; empty when it was unknown when the image was made. */
  readonly digest: string
}

export interface StoredImage {
  readonly dir: string
  readonly image: Image
  /** Checksum of the manifest's text. */
  readonly sha256: string
}

/** One file of an image; names are derived from numbers and never stored. */
export interface NamedFile extends FileFacts {
  readonly name: string
}

export function filesOf({ parts, originals, tail }: Image): NamedFile[] {
  return [
    ...parts.flatMap((file) => [
      { ...file, name: partName(file.part) },
      ...(file.deltas ?? []).map((delta) => ({ ...delta, name: deltaName(file.part, delta.lsn) })),
    ]),
    ...originals.map((file) => ({ ...file, name: originalsName(file) })),
    { ...tail, name: partName(tailPart) },
  ]
}

export function partName(part: number): string {
  return part === tailPart ? 'tail.snap' : `part-${part}.snap`
}

export function deltaName(part: number, lsn: number): string {
  return `part-${part}-changes-${lsn}.snap`
}

/** The snapshot files of one part, with their names in the image. */
export function listedParts(
  { source, snapshotLsn }: Image,
  { part, bytes, sum, lsn, deltas }: ImagePart,
): ListedFile[] {
  const named = deltas?.map((delta) => ({ ...delta, name: deltaName(part, delta.lsn) }))
  const file = {
    part,
    bytes,
    sum,
    name: partName(part),
    ...(lsn !== undefined && { lsn }),
    ...(named && { deltas: named }),
  }
  return listedFiles({ id: source.collectionId, lsn: snapshotLsn }, file)
}

export function originalsName({
  generation,
  field,
  chunk,
}: Pick<ImageOriginals, 'generation' | 'field' | 'chunk'>): string {
  return `originals-${generation}-${field}-${chunk}.f32`
}

export function imageBytes(image: Image): number {
  return filesOf(image).reduce((sum, { bytes }) => sum + bytes, 0)
}

/** Bytes of memory that the collection may take when it is built. */
export function imageMemory(image: Image): number {
  const onDisk = image.originals.reduce((sum, { bytes }) => sum + bytes, 0)
  return memoryPerImageByte * (imageBytes(image) - onDisk)
}

/** Whether the collection that begins with the image writes to this file, so that it must be copied. */
export function growingBytes({ originals }: Image): number {
  return originals.reduce((sum, { full, bytes }) => sum + (full ? 0 : bytes), 0)
}

/** Returns the checksum of the manifest. */
export function writeImageManifest(vfs: Vfs, dir: string, image: Image): Promise<string> {
  return writeSealed(vfs, join(dir, imageManifestName), sealed(image))
}

/** Throws snapshot_damaged or format_too_new. Its content is trusted only in directories that this engine owns. */
export async function readImage(vfs: Vfs, dir: string): Promise<StoredImage> {
  const { value, sum } = await readSealed(vfs, join(dir, imageManifestName), seal)
  return { dir, image: value as Image, sha256: sum }
}

export function imageText(image: Image): string {
  return sealedText(sealed(image)).text
}

function sealed(image: Image): Seal & { readonly value: Image } {
  const changed = image.parts.filter(({ deltas }) => deltas?.length)
  const hasObjects = changed.some(({ part }) => part === 0)
  const ofFiles = hasObjects ? formatWithObjectDeltas : changed.length > 0 ? formatWithFieldDeltas : formatWithoutDeltas
  const ofFields = image.fields.some(hasPackedCodes) ? formatWithPackedCodes : ofFiles
  const ofAliases = image.aliases?.length ? formatWithAliases : ofFields
  const ofExpiries = image.expires || image.ttlSeconds !== undefined ? formatWithExpiries : ofAliases
  const format = image.fields.some(hasText) ? seal.format : ofExpiries
  return { ...seal, format, value: image }
}

export function parseImageText(text: string, path: string): Pick<Unsealed, 'value' | 'sum'> {
  return parseSealed(text, path, seal)
}
