// What an import reads from: a file or another database, piece by piece, from a place where an earlier import ended.
import type { FieldDefinition, Json, ObjectRecord, SpaceType } from '@annal/client'

export interface Piece {
  readonly objects: readonly ObjectRecord[]
  /** Where reading goes on after these objects; the source's own words. */
  readonly next: Json
}

export interface Source {
  /** Names it in messages, and in the file that an import can be resumed from; never holds a password. */
  readonly name: string
  /** Undefined where only reading to the end would tell. */
  readonly total: number | undefined
  /** What the source says of its fields; undefined where the first object has to tell. */
  readonly fields?: readonly SourceField[] | undefined
  /** From a place that it gave, or with null or undefined from its beginning. */
  pieces(from: Json | undefined): AsyncGenerator<Piece>
  close?(): Promise<void>
}

export type SourceField =
  | { readonly name: string; readonly type: 'sparse' }
  | {
      readonly name: string
      readonly type: 'vector' | 'multi_vector'
      readonly dimension: number
      /** Undefined where it says nothing that Annal knows. */
      readonly space: SpaceType | undefined
    }

const objectsOfPiece = 500

/** Of what can only be read from its beginning or from a row: its places are numbers of rows. */
export async function* piecesOfRows(
  from: Json | undefined,
  read: (firstRow: number) => AsyncIterable<ObjectRecord>,
): AsyncGenerator<Piece> {
  let row = typeof from === 'number' ? from : 0
  let objects: ObjectRecord[] = []
  for await (const object of read(row)) {
    row += 1
    objects.push(object)
    if (objects.length < objectsOfPiece) continue
    yield { objects, next: row }
    objects = []
  }
  if (objects.length > 0) yield { objects, next: row }
}

/** The fields of a collection like the source; words that only the server can judge pass as they are. */
export function definitionsOf(
  fields: readonly SourceField[],
  { space, precision }: { readonly space: string | undefined; readonly precision: string },
): readonly FieldDefinition[] {
  return fields.map((field) => {
    if (field.type === 'sparse') return { name: field.name, type: 'sparse' }
    const params = {
      dimension: field.dimension,
      space_type: (space ?? field.space ?? 'cosine') as SpaceType,
      precision: precision as 'int8',
    }
    return { name: field.name, type: field.type, params }
  })
}

/** As an object shows them. */
export function fieldsOf({ fields }: ObjectRecord): readonly SourceField[] {
  return Object.entries(fields).map(([name, value]): SourceField => {
    if ('indices' in value) return { name, type: 'sparse' }
    const first = value[0]
    if (typeof first === 'number') return { name, type: 'vector', dimension: value.length, space: undefined }
    return { name, type: 'multi_vector', dimension: first?.length ?? 0, space: undefined }
  })
}
