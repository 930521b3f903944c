// Whose originals there are, in which files they are, and which files nobody has any more.
import { join } from 'node:path'
import type { Vfs } from '@annal/wal'
import type { CollectionSchema, FieldSchema } from '../model/schema.ts'

export interface OriginalsPlace {
  readonly vfs: Vfs
  /** `<data>/originals` */
  readonly dir: string
  /** The uuid of the data directory: who writes the files that are made. */
  directory(): string
}

/** Whose vectors they are: this names the files. */
export interface OriginalsOf {
  readonly collectionId: number
  /** How often the collection was rebuilt: the rows of each time are in files of their own. */
  readonly generation: number
  /** Position of the field. */
  readonly field: number
  readonly dimension: number
  /** Whether an object may have several vectors in it. */
  readonly several: boolean
  /** Whether the vectors are compared at unit length, and may have come with any other. */
  readonly scales?: boolean
  /** Whether it has only those vectors that the rows in memory do not give back. */
  readonly isPartial?: boolean
}

/** How many vectors of an upsert are kept, by what they are kept for. */
export function keptOf({ several, isPartial }: OriginalsOf): keyof OriginalsRoom {
  if (several) return 'members'
  return isPartial ? 'scaled' : 'objects'
}

/** How many vectors of a kind there are. */
export interface OriginalsRoom {
  /** One of each object. */
  readonly objects: number
  /** As many as each object has in a multi-vector field. */
  readonly members: number
  /** Those that are not of unit length in a field of cosine. */
  readonly scaled: number
}

/**
 * Whose originals the field at a position has; undefined where its rows in memory are the vectors themselves, and where none are to
 * be kept.
 */
export function originalsOf(
  collectionId: number,
  { fields }: CollectionSchema,
  field: number,
  generation: number,
): OriginalsOf | undefined {
  const definition = fields[field]
  if (definition === undefined || definition.kind === 'sparse') return undefined
  const { dimension, spaceType, precision, keepOriginals } = definition.params
  const scales = definition.kind === 'dense' && spaceType === 'cosine'
  const several = definition.kind === 'multi'
  const kept = { collectionId, generation, field, dimension, several, scales }
  if (several) return kept
  if (keepOriginals === false) return undefined
  if (precision !== 'float32') return kept
  return scales ? { ...kept, isPartial: true } : undefined
}

/** Numbers of each vector in a field's files; 0 for a field that has none. */
export function dimensionOf(field: FieldSchema | undefined): number {
  return field === undefined || field.kind === 'sparse' ? 0 : field.params.dimension
}

/** What the names of a collection's files begin with. */
export function prefixOf({ collectionId, generation }: Pick<OriginalsOf, 'collectionId' | 'generation'>): string {
  return `collection-${collectionId}-generation-${generation}-`
}

const nameForm = /^collection-\d+-generation-(\d+)-field-(\d+)-chunk-(\d+)\.f32$/

/** What the name of a file says; undefined when it is not such a name. */
export function parseOriginalsName(
  name: string,
): { readonly generation: number; readonly field: number; readonly chunk: number } | undefined {
  const found = nameForm.exec(name)?.slice(1).map(Number)
  if (found === undefined) return undefined
  const [generation = 0, field = 0, chunk = 0] = found
  return { generation, field, chunk }
}

/** Removes the files of collections that are no more, and those of before a rebuild. */
export async function sweepOriginals(
  { vfs, dir }: Pick<OriginalsPlace, 'vfs' | 'dir'>,
  kept: readonly Pick<OriginalsOf, 'collectionId' | 'generation'>[],
): Promise<void> {
  if (!(await vfs.exists(dir))) return
  const prefixes = new Set(kept.map(prefixOf))
  for (const name of await vfs.list(dir)) {
    const prefix = /^collection-\d+-generation-\d+-/.exec(name)?.[0] ?? ''
    // A copy that a crash cut short has a name of its own until it is whole.
    if (!prefixes.has(prefix) || name.endsWith('.tmp')) await vfs.remove(join(dir, name))
  }
}
