// Decides which fields keep original vectors and how their files are named, and removes files without an owner.
import { join } from 'node:path'
import type { Vfs } from '@annal/wal'
import { type CollectionSchema, type FieldSchema, hasLists } from '../model/schema.ts'

/** Where the files of original vectors are, and who writes them. */
export interface OriginalsPlace {
  readonly vfs: Vfs
  /** `<data>/originals` */
  readonly dir: string
  /** The uuid of the data directory, which new files contain. */
  directory(): string
  /** Called for every read of a vector that does not match its checksum. */
  onDamaged?(file: string, message: string): void
}

/** The owner of original vectors; determines the names of their files. */
export interface OriginalsOwner {
  readonly collectionId: number
  /** Number of rebuilds of the collection: each has its own files. */
  readonly generation: number
  /** Position of the field. */
  readonly field: number
  readonly dimension: number
  /** Whether an object can have several vectors in the field. */
  readonly several: boolean
  /** Whether vectors are compared at unit length, and may be given with another length. */
  readonly scales?: boolean
  /** Whether it has only the vectors that the rows in memory do not reproduce. */
  readonly isPartial?: boolean
}

/** Which count of OriginalsRoom an owner uses. */
export function keptOf({ several, isPartial }: OriginalsOwner): keyof OriginalsRoom {
  if (several) return 'members'
  return isPartial ? 'scaled' : 'objects'
}

/** Number of vectors that an upsert adds, by kind. */
export interface OriginalsRoom {
  /** One for each object. */
  readonly objects: number
  /** All members of the objects in multi-vector fields. */
  readonly members: number
  /** Those of cosine fields that are not unit vectors. */
  readonly scaled: number
}

/** The owner of the originals of a field; undefined if its rows in memory are the vectors themselves, or if none are kept. */
export function originalsOwner(
  collectionId: number,
  { fields }: CollectionSchema,
  field: number,
  generation: number,
): OriginalsOwner | undefined {
  const definition = fields[field]
  if (definition === undefined || hasLists(definition)) return undefined
  const { dimension, spaceType, precision, keepOriginals } = definition.params
  const scales = definition.kind === 'dense' && spaceType === 'cosine'
  const several = definition.kind === 'multi'
  const kept = { collectionId, generation, field, dimension, several, scales }
  if (several) return kept
  if (keepOriginals === false) return undefined
  if (precision !== 'float32') return kept
  return scales ? { ...kept, isPartial: true } : undefined
}

/** Dimension of the vectors in the files of a field; 0 if it has none. */
export function dimensionOf(field: FieldSchema | undefined): number {
  return field === undefined || hasLists(field) ? 0 : field.params.dimension
}

/** Prefix of the names of a collection's files. */
export function prefixOf({ collectionId, generation }: Pick<OriginalsOwner, 'collectionId' | 'generation'>): string {
  return `collection-${collectionId}-generation-${generation}-`
}

const nameForm = /^collection-\d+-generation-(\d+)-field-(\d+)-chunk-(\d+)\.f32$/

/** Parses the name of a file; undefined if it does not have this form. */
export function parseOriginalsName(
  name: string,
): { readonly generation: number; readonly field: number; readonly chunk: number } | undefined {
  const found = nameForm.exec(name)?.slice(1).map(Number)
  if (found === undefined) return undefined
  const [generation = 0, field = 0, chunk = 0] = found
  return { generation, field, chunk }
}

/** Removes the files of deleted collections, and those from before a rebuild. */
export async function sweepOriginals(
  { vfs, dir }: Pick<OriginalsPlace, 'vfs' | 'dir'>,
  kept: readonly Pick<OriginalsOwner, 'collectionId' | 'generation'>[],
): Promise<void> {
  if (!(await vfs.exists(dir))) return
  const prefixes = new Set(kept.map(prefixOf))
  for (const name of await vfs.list(dir)) {
    const prefix = /^collection-\d+-generation-\d+-/.exec(name)?.[0] ?? ''
    // A copy that a crash interrupted has a temporary name.
    if (!prefixes.has(prefix) || name.endsWith('.tmp')) await vfs.remove(join(dir, name))
  }
}
