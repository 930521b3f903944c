// Reads the query of one field: a vector, the vectors of a multi-vector field, the terms of a sparse field, a text, or a stored object.
import type { FieldQuery } from '@annal/engine'
import { queryMembersMax } from '@annal/engine/reader'
import type { BodyCursor } from './body-cursor.ts'
import type { ReadKey } from './read-keys.ts'
import type { FieldDraft } from './search-draft.ts'

/** A vector, the vectors of a multi-vector field, the terms of a sparse field, a text, or a stored object. */
export const readQuery: ReadKey<FieldDraft> = (cursor, draft) => {
  const { field, context } = draft
  if (context.outside !== undefined) return false
  if (field.kind === 'text') {
    // Queries in clauses have many forms, and the owner runs them.
    draft.query = cursor.next() === 'text' ? cursor.text() : undefined
    return draft.query !== undefined
  }
  const { dimension } = field.params
  if (field.kind === 'sparse') draft.query = readTerms(cursor)
  else if (cursor.next() === 'object') draft.query = readStored(cursor)
  else if (field.kind === 'dense') draft.query = cursor.vector(dimension)
  else draft.query = cursor.nests() ? readMembers(cursor, dimension) : cursor.vector(dimension)
  return draft.query !== undefined
}

/** The query `{"id": ...}`. */
function readStored(cursor: BodyCursor): FieldQuery['query'] | undefined {
  let id: string | undefined
  const isRead = cursor.members((key) => {
    if (key !== 'id' || id !== undefined) return false
    id = cursor.text()
    return id !== undefined
  })
  return isRead && id !== undefined ? { id } : undefined
}

/** The query `{"indices": [...], "values": [...]}`, also with the long names of the keys, or `{"id": ...}`. */
function readTerms(cursor: BodyCursor): FieldQuery['query'] | undefined {
  let id: string | undefined
  let indices: Uint32Array | undefined
  let values: Float32Array | undefined
  const isRead = cursor.members((key) => {
    const isIndices = key === 'indices' || key === 'sparse_indices'
    if (isIndices && indices === undefined) indices = cursor.indices()
    else if ((key === 'values' || key === 'sparse_values') && values === undefined) values = cursor.floats()
    else if (key === 'id' && id === undefined) id = cursor.text()
    else return false
    return (isIndices ? indices : key === 'id' ? id : values) !== undefined
  })
  if (!isRead) return undefined
  if (id !== undefined) return indices === undefined && values === undefined ? { id } : undefined
  return indices === undefined || values === undefined ? undefined : { indices, values }
}

function readMembers(cursor: BodyCursor, dimension: number): FieldQuery['query'] | undefined {
  const members: Float32Array[] = []
  const isRead = cursor.entries(() => {
    const member = members.length < membersMax ? cursor.vector(dimension) : undefined
    if (member !== undefined) members.push(member)
    return member !== undefined
  })
  return isRead && members.length > 0 ? members : undefined
}

/** As many vectors as a query of a multi-vector field may have. */
const membersMax = queryMembersMax
