// Objects of the rows of a table: one for each chunk of their texts, in batches.
import { chunkText } from '@annal/client'
import type { Json, JsonMap } from '../../api/objects.ts'
import { type Plan, textOf } from './plan.ts'
import { documentColumn, type Table, textColumn } from './table.ts'

/** The field that has the texts. */
export const textField = textColumn
/** The filter key that names the document of a chunk. */
export const documentKey = documentColumn

export interface ChunkObject {
  readonly id: string
  readonly meta: JsonMap
  readonly filter: JsonMap
  readonly fields: { readonly [textField]: string }
}

type Row = Table['rows'][number]

/** The chunks of a row, in order; none if it has no text. */
export function chunksOfRow(table: Table, plan: Plan, number: number): readonly ChunkObject[] {
  const row = table.rows[number] as Row
  const { by, size, overlap, roles } = plan
  const parent = idOf(table, plan, number)
  const chunks = chunkText(textOf(row, roles), { by, size, overlap, parent })
  const filter = { ...valuesOf(table, row, (i) => roles[i] === 'filter'), [documentKey]: parent }
  const meta = valuesOf(table, row, (i) => roles[i] === 'meta')
  return chunks.map(({ text, index, headings }) => ({
    id: chunks.length === 1 ? parent : `${parent}#${index}`,
    meta: { ...meta, ...(headings !== undefined && headings.length > 0 && { headings }) },
    filter,
    fields: { [textField]: text },
  }))
}

function idOf({ name, columns, rows }: Table, { roles }: Plan, number: number): string {
  const value = rows[number]?.[roles.indexOf('id')]
  if (value !== undefined && value !== null && value !== '') return String(value)
  return `${name === '' ? (columns[0] ?? 'row') : name}-${number + 1}`
}

function valuesOf({ columns }: Table, row: Row, isWanted: (column: number) => boolean): JsonMap {
  const found = columns.flatMap((name, i): [string, Json][] => {
    const value = row[i]
    return isWanted(i) && value !== undefined && value !== null ? [[name, value]] : []
  })
  return Object.fromEntries(found)
}

export interface Batch {
  readonly objects: readonly ChunkObject[]
  /** Rows that are complete with this batch, from the beginning. */
  readonly rows: number
}

/** Far below the limits of an upsert, so that progress is visible and a canceled load ends soon. */
const batchObjectsMax = 250
const batchCharactersMax = 1_000_000

export function* batchesOfTable(table: Table, plan: Plan): Generator<Batch> {
  let objects: ChunkObject[] = []
  let characters = 0
  for (let row = 0; row < table.rows.length; row += 1) {
    for (const object of chunksOfRow(table, plan, row)) {
      const length = object.fields[textField].length
      if (objects.length === batchObjectsMax || (objects.length > 0 && characters + length > batchCharactersMax)) {
        yield { objects, rows: row }
        objects = []
        characters = 0
      }
      objects.push(object)
      characters += length
    }
  }
  yield { objects, rows: table.rows.length }
}
