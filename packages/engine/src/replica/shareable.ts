// What readers in other threads get of a replica: its chunks by number of the list, its arenas, its inverted lists, and the files of original
// vectors.
import type { SharedBytes } from '../memory/chunks.ts'
import { termNamesLists } from '../memory/term-table.ts'
import type { CollectionSchema } from '../model/schema.ts'
import type { Originals } from '../originals/originals.ts'
import { originalsLists } from '../originals/originals-rows.ts'
import { chunkList, fieldListOf, termNamesList } from '../sharing/messages.ts'
import type { Shareable } from '../sharing/shared-replica.ts'
import { type DenseField, type SparseField, termsLists } from '../vector/field.ts'
import type { ObjectStore } from './object-store.ts'
import type { TextTerms } from './text-terms.ts'

interface SharedParts {
  readonly lsnCreated: number
  readonly definition: CollectionSchema
  readonly dense: readonly (DenseField | undefined)[]
  readonly sparse: readonly (SparseField | undefined)[]
  readonly originals: readonly (Originals | undefined)[]
  readonly terms: TextTerms
}

/** The memory of a replica as of now. */
export function shareableOf(parts: SharedParts, objects: ObjectStore): Shareable {
  const { definition, dense, sparse, originals, lsnCreated } = parts
  const fields = definition.fields.map((_, index) => {
    const field = dense[index]
    const files = originals[index]
    return {
      segmentRows: field?.segmentRows ?? 0,
      segments: field?.segments ?? [],
      hasOriginals: files !== undefined && !files.owner.isPartial,
      originals: files?.shared,
      lists: sparse[index]?.shared,
    }
  })
  const { seed: idSeed, shape: idShape } = objects.idLookup
  const chunks = sharedChunks(parts, objects)
  return { definition, chunks, fields, idSeed, idShape, terms: parts.terms.shared, lsnCreated }
}

/** By number of the list. */
function sharedChunks(
  { originals, sparse, terms }: SharedParts,
  { chunks }: ObjectStore,
): readonly (readonly SharedBytes[])[] {
  const lists: (readonly SharedBytes[])[] = []
  for (const [name, list] of Object.entries(chunkList)) lists[list] = chunks[name as keyof typeof chunkList]
  for (const list of termNamesLists) lists[termNamesList[list]] = terms.chunks[list]
  for (const [index, files] of originals.entries())
    for (const list of originalsLists) lists[fieldListOf(index, list)] = files?.chunks[list] ?? []
  for (const [index, field] of sparse.entries())
    for (const list of termsLists) lists[fieldListOf(index, list)] = field?.chunks[list] ?? []
  return lists
}
