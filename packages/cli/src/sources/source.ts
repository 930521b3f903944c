// The source of an import: a file or another database, read in pieces from the position where an earlier import ended.
import type { FieldDefinition, JsonValue, ObjectInput, SpaceType } from '@annal/client'

export interface Piece {
  readonly objects: readonly ObjectInput[]
  /** The position after these objects, in the source's own format. */
  readonly next: JsonValue
}

export interface Source {
  /** The name in messages and in the resume file; never contains a password. */
  readonly name: string
  /** The number of objects; undefined if it is known only at the end. */
  readonly total: number | undefined
  /** The fields that the source reports; undefined if they are derived from the first object. */
  readonly fields?: readonly SourceField[] | undefined
  /** Reads from a position that the source returned, or from the beginning for null or undefined. */
  pieces(from: JsonValue | undefined): AsyncGenerator<Piece>
  close?(): Promise<void>
}

export type SourceField =
  | { readonly name: string; readonly type: 'sparse' }
  | { readonly name: string; readonly type: 'text' }
  | {
      readonly name: string
      readonly type: 'vector' | 'multi_vector'
      readonly dimension: number
      /** Undefined if the source has no type that Annal supports. */
      readonly space: SpaceType | undefined
    }

const objectsOfPiece = 500

/** A source that can be read only from its beginning or from a row: its positions are row numbers. */
export async function* piecesOfRows(
  from: JsonValue | undefined,
  read: (firstRow: number) => AsyncIterable<ObjectInput>,
): AsyncGenerator<Piece> {
  let row = typeof from === 'number' ? from : 0
  let objects: ObjectInput[] = []
  for await (const object of read(row)) {
    row += 1
    objects.push(object)
    if (objects.length < objectsOfPiece) continue
    yield { objects, next: row }
    objects = []
  }
  if (objects.length > 0) yield { objects, next: row }
}

/** The fields of a collection like the source. Values that only the server can validate are passed on. */
export function definitionsOf(
  fields: readonly SourceField[],
  {
    space,
    precision,
    recall,
    languages = new Map(),
  }: {
    readonly space: string | undefined
    readonly precision: string
    readonly recall?: number | undefined
    /** Of text fields. */
    readonly languages?: ReadonlyMap<string, string | undefined>
  },
): readonly FieldDefinition[] {
  return fields.map((field) => {
    if (field.type === 'sparse') return { name: field.name, type: 'sparse' }
    if (field.type === 'text') return textDefinition(field.name, languages.get(field.name))
    const params = {
      dimension: field.dimension,
      spaceType: (space ?? field.space ?? 'cosine') as SpaceType,
      precision: precision as 'int8',
    }
    if (field.type === 'vector') return { name: field.name, type: 'vector', params: { ...params, recall } }
    return { name: field.name, type: field.type, params }
  })
}

function textDefinition(name: string, language: string | undefined): FieldDefinition {
  return { name, type: 'text', ...(language !== undefined && { params: { language } }) }
}

/** The field as an object shows it. */
export function fieldsOf({ fields }: ObjectInput): readonly SourceField[] {
  return Object.entries(fields).map(([name, value = []]): SourceField => {
    if (typeof value === 'string') return { name, type: 'text' }
    if ('indices' in value) return { name, type: 'sparse' }
    const first = value[0]
    if (typeof first === 'number') return { name, type: 'vector', dimension: value.length, space: undefined }
    return { name, type: 'multi_vector', dimension: first?.length ?? 0, space: undefined }
  })
}
