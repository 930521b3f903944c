// The possible bases of an image: a collection in a checkpoint, or another image.

import { type FieldSchema, ttlOf } from '../../model/schema.ts'
import { type ListedFile, listedFiles, listedOriginals, type ManifestCollection } from '../../snapshot/manifest.ts'
import { lsnsPart } from '../../snapshot/snapshot-format.ts'
import { type ImageOriginals, listedParts, originalsName, type StoredImage } from './image.ts'

export interface ImageBase {
  readonly dir: string
  /** As its snapshot files state it. */
  readonly collectionId: number
  readonly lsn: number
  readonly fields: readonly FieldSchema[]
  readonly ttlSeconds?: number
  readonly expires?: true
  readonly parts: readonly BasePart[]
  readonly originals: readonly (Omit<ImageOriginals, 'sha256'> & { readonly name: string })[]
}

export interface BasePart {
  readonly part: number
  /** All of the part, then its changes in order. */
  readonly files: readonly ListedFile[]
}

export function bytesOf({ parts, originals }: ImageBase): number {
  const snapshot = parts.flatMap(({ files }) => files.map(({ expected }) => expected))
  return [...snapshot, ...originals].reduce((sum, { bytes }) => sum + bytes, 0)
}

/** Whether a checkpoint records the size of its files of original vectors; those of earlier versions do not. */
export function saysLengths({ originals, originalBytes }: ManifestCollection): boolean {
  return originals.length === (originalBytes?.length ?? 0)
}

/** With `keepLsns`, for an image that stays in this log, it has the LSNs of the objects. */
export function baseOfCheckpoint(
  dir: string,
  collection: ManifestCollection,
  { keepLsns = false }: { readonly keepLsns?: boolean } = {},
): ImageBase {
  const { id, lsn, fields, files } = collection
  // The LSNs of its objects mean nothing in another log.
  const content = files.filter(({ part }) => keepLsns || part !== lsnsPart)
  const parts = content.map((file) => ({ part: file.part, files: listedFiles(collection, file) }))
  const { expires } = collection
  const own = { ...ttlOf(collection), ...(expires && { expires }) }
  return { dir, collectionId: id, lsn, fields, ...own, parts, originals: originalsOwner(collection) }
}

export function baseOfImage({ dir, image }: StoredImage): ImageBase {
  return {
    dir,
    collectionId: image.source.collectionId,
    lsn: image.snapshotLsn,
    fields: image.fields,
    ...ttlOf(image),
    ...(image.expires && { expires: image.expires }),
    parts: image.parts.map((file) => ({ part: file.part, files: listedParts(image, file) })),
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
