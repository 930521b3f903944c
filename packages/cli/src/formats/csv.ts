// CSV and TSV with a header line, as in RFC 4180; see columns.ts for the column names.
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import type { JsonValue, ObjectInput, StoredObject } from '@annal/client'
import { CsvError, parse } from 'csv-parse'
import { dataError } from '../exit-code.ts'
import { type Column, columnsOf, objectOf, type Renames } from './columns.ts'
import { jsonText } from './json-text.ts'
import { expiryText, fieldsOfObject, keptMeta, type PlainValue } from './object-parts.ts'

export interface CsvOptions {
  readonly delimiter: string
  readonly renames: Renames
  /** Fields of type text. */
  readonly texts: ReadonlySet<string>
}

export async function* readCsv(
  file: string,
  { delimiter, renames, texts }: CsvOptions,
  firstRow: number,
): AsyncGenerator<ObjectInput> {
  const parser = parse({ bom: true, delimiter, skip_empty_lines: true, max_record_size: rowCharactersMax })
  // The parser reports the failure of either stream.
  pipeline(createReadStream(file), parser, () => undefined)
  let columns: readonly Column[] | undefined
  let number = -1
  try {
    for await (const cells of parser as AsyncIterable<readonly string[]>) {
      columns ??= columnsOf(cells, renames, file)
      if (number >= firstRow) yield objectOf({ values: valuesOf(cells, columns), number }, columns, file, texts)
      number += 1
    }
  } catch (error) {
    if (error instanceof CsvError) throw dataError(`${file}: ${error.message}`)
    throw error
  }
}

/** Room for 10,000 numbers, and for meta and filter values at their limits. */
const rowCharactersMax = 4 * 1024 * 1024

/** All CSV values are text. Under a meta or filter key, a value that reads as a number, true or false becomes one. */
function valuesOf(cells: readonly string[], columns: readonly Column[]): readonly unknown[] {
  return columns.map(({ purpose }, i) => {
    const cell = cells[i]
    if (cell === undefined || cell === '') return undefined
    return purpose.kind === 'meta key' || purpose.kind === 'filter key' ? typed(cell) : cell
  })
}

/** A number only if no information is lost: 007 and 1.50 stay text. */
function typed(cell: string): JsonValue {
  if (cell === 'true' || cell === 'false') return cell === 'true'
  const number = Number(cell)
  return Number.isFinite(number) && String(number) === cell ? number : cell
}

/** The header line for a collection with these fields. */
export function csvHead(fields: readonly string[]): string {
  return csvLine(['id', 'meta', 'meta_base64', 'filter', 'expires_at', ...fields.map((name) => `fields.${name}`)])
}

export function csvObject(object: StoredObject, fields: readonly string[]): string {
  const { meta, meta_base64: bytes } = keptMeta(object)
  const values = fieldsOfObject(object)
  const cells = [
    bytes === undefined && !isEmpty(meta) ? JSON.stringify(meta) : '',
    bytes ?? '',
    isEmpty(object.filter) ? '' : JSON.stringify(object.filter),
    expiryText(object) ?? '',
  ]
  return csvLine([object.id, ...cells, ...fields.map((name) => cellOf(values[name]))])
}

/** A text stands as it is, so that other programs read it. */
function cellOf(value: PlainValue | undefined): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : jsonText(value)
}

function isEmpty(value: object | undefined): boolean {
  return value === undefined || Object.keys(value).length === 0
}

function csvLine(cells: readonly string[]): string {
  return `${cells.map((cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')}\n`
}
