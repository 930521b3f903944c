// The possible bases of an image: a collection in a checkpoint, or another image.

import type { FieldSchema } from '../model/schema.ts'
import { listedOriginals, type ManifestCollection } from '../snapshot/manifest.ts'
import { type ImageOriginals, type ImagePart, originalsName, partName, type StoredImage } from './image.ts'

export interface ImageBase {
  readonly dir: string
  /** As its snapshot files state it. */
  readonly collectionId: number
  readonly lsn: number
  readonly fields: readonly FieldSchema[]
  readonly parts: readonly (Omit<ImagePart, 'sha256'> & { readonly name: string })[]
  readonly originals: readonly (Omit<ImageOriginals, 'sha256'> & { readonly name: string })[]
}

export function bytesOf({ parts, originals }: ImageBase): number {
  return [...parts, ...originals].reduce((sum, { bytes }) => sum + bytes, 0)
}

/** Whether a checkpoint records the size of its files of original vectors; those of earlier versions do not. */
export function saysLengths({ originals, originalBytes }: ManifestCollection): boolean {
  return originals.length === (originalBytes?.length ?? 0)
}

export function baseOfCheckpoint(dir: string, collection: ManifestCollection): ImageBase {
  const { id, lsn, fields, files } = collection
  return { dir, collectionId: id, lsn, fields, parts: files, originals: originalsOwner(collection) }
}

export function baseOfImage({ dir, image }: StoredImage): ImageBase {
  return {
    dir,
    collectionId: image.source.collectionId,
    lsn: image.snapshotLsn,
    fields: image.fields,
    parts: image.parts.map((file) => ({ ...file, name: partName(file.part) })),
    originals: image.originals.map((file) => ({ ...file, name: originalsName(file) })),
  }
}

function originalsOwner(collection: ManifestCollection): ImageBase['originals'] {
  const files = listedOriginals(collection).map(({ bytes = 0, proof, ...file }) => ({
    ...file,
    bytes,
    ...(proof && { proof }),
  }))
  // The files of one field are filled in order: only the last one may still grow.
  return files.map((file) => ({
    ...file,
    full: files.some((other) => other.field === file.field && other.chunk > file.chunk),
  }))
}
