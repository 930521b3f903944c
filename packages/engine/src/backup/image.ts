// An image: files from which one collection can be built as of one record, wherever they are carried. A snapshot, the records
// after it (the tail), the vectors as they came, and a manifest written last. Backups, imports and clones are images.
// Specified in docs/formats/backup.md.
import { join } from 'node:path'
import type { Vfs } from '@annal/wal'
import type { HashSeed } from '../memory/id-hash.ts'
import type { FieldSchema } from '../model/schema.ts'
import type { OriginalsProof } from '../replica/originals-file.ts'
import { parseSealed, readSealed, type Seal, sealedText, writeSealed } from '../snapshot/sealed-json.ts'

export const imageManifestName = 'manifest.json'
/**
 * 2 since files of vectors have a header, which a reader of format 1 would take for a vector; 3 since vectors of cosine fields are
 * there as they were given, which a reader of format 2 would take for ones of unit length.
 */
const seal: Seal = { format: 3, key: 'image' }

/** The part number of the tail, where fields have theirs. */
export const tailPart = 0xffff_ffff

interface FileFacts {
  readonly bytes: number
  /** Empty in the image of a clone, which only links what is checked by other sums when it is read. */
  readonly sha256: string
}

export interface ImagePart extends FileFacts {
  readonly part: number
  /** As snapshot files say it of themselves. */
  readonly sum: string
}

export interface ImageOriginals extends FileFacts {
  readonly generation: number
  readonly field: number
  readonly chunk: number
  /** By whom it was written, and the chain of its rows; absent for files of the first version. */
  readonly proof?: OriginalsProof
  /** Nothing will ever be written to a file of that number again, so that others may link it. */
  readonly full: boolean
}

export interface ImageTail extends FileFacts {
  readonly records: number
  readonly sum: string
}

export interface Image {
  /** What the user calls the backup; empty for an image that is none. */
  readonly name: string
  /** The folder of `backups/` it was written to; absent in imports and in manifests of format 1. */
  readonly folder?: string
  readonly takenAtMs: number
  readonly database: string
  readonly collection: string
  /** The data directory it was made in, and what it is of there. */
  readonly source: { readonly uuid: string; readonly collectionId: number }
  /** The collection's newest record in it, and the time of the newest record of the log then. */
  readonly lsn: number
  readonly timeMs: number
  readonly hashSeed: HashSeed
  /** As the snapshot begins with; the tail may change them. */
  readonly fields: readonly FieldSchema[]
  /** 0 when there is no snapshot: then the tail holds every record. */
  readonly snapshotLsn: number
  readonly parts: readonly ImagePart[]
  readonly originals: readonly ImageOriginals[]
  readonly tail: ImageTail
  readonly objects: number
  /** As of `lsn`, with the number of vectors in each. */
  readonly fieldsNow: readonly (FieldSchema & { readonly elements: number })[]
  /** Hash of the state; empty when it was not known when the image was made. */
  readonly digest: string
}

export interface StoredImage {
  readonly dir: string
  readonly image: Image
  /** Checksum of the manifest's text. */
  readonly sha256: string
}

/** One file of an image; names are made of numbers and never stored. */
export interface NamedFile extends FileFacts {
  readonly name: string
}

export function filesOf({ parts, originals, tail }: Image): NamedFile[] {
  return [
    ...parts.map((file) => ({ ...file, name: partName(file.part) })),
    ...originals.map((file) => ({ ...file, name: originalsName(file) })),
    { ...tail, name: partName(tailPart) },
  ]
}

export function partName(part: number): string {
  return part === tailPart ? 'tail.snap' : `part-${part}.snap`
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

/** Of files that whoever begins with the image goes on writing, so that they are copied. */
export function growingBytes({ originals }: Image): number {
  return originals.reduce((sum, { full, bytes }) => sum + (full ? 0 : bytes), 0)
}

/** Gives the checksum of the manifest. */
export function writeImageManifest(vfs: Vfs, dir: string, image: Image): Promise<string> {
  return writeSealed(vfs, join(dir, imageManifestName), { ...seal, value: image })
}

/** Throws snapshot_damaged or format_too_new. What it says is believed only of directories that this Annal keeps itself. */
export async function readImage(vfs: Vfs, dir: string): Promise<StoredImage> {
  const { value, sum } = await readSealed(vfs, join(dir, imageManifestName), seal)
  return { dir, image: value as Image, sha256: sum }
}

export function imageText(image: Image): string {
  return sealedText({ ...seal, value: image }).text
}

export function parseImageText(text: string, path: string): unknown {
  return parseSealed(text, path, seal).value
}
