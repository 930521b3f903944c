// What somebody pastes or drops, as a table: rows of documents with columns.
import type { Json } from '../../api/objects.ts'
import { objectsIn } from '../objects/objects-in.ts'
import { csvRows, type Delimiter, delimiterOf } from './csv.ts'

export interface Table {
  /** Of the file, without its ending. */
  readonly name: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly (Json | undefined)[])[]
  /** Whether the texts are Markdown. */
  readonly isMarkdown: boolean
}

export interface Source {
  /** Of the file; empty if the text was pasted. */
  readonly name: string
  readonly text: string
}

/** More is a matter of `annal import`, which reads files of any size. */
export const bytesMax = 64 * 1024 * 1024

export const documentColumn = 'document'
export const textColumn = 'text'

/** Throws a readable error. */
export function tableOf(source: Source): Table {
  const { name, text } = source
  if (text.trim() === '') throw new Error('there is no text')
  const ending = endingOf(name)
  if (ending === 'csv') return delimited(source, delimiterOf(text) ?? ',')
  if (ending === 'tsv') return delimited(source, '\t')
  if (ending === 'json' || ending === 'jsonl' || ending === 'ndjson') return tableOfObjects(name, objectsIn(text))
  if (name === '' && /^\s*[[{]/.test(text)) return tableOfObjects(name, objectsIn(text))
  const delimiter = name === '' ? delimiterOf(text) : undefined
  return delimiter === undefined ? tableOfTexts([source]) : delimited(source, delimiter)
}

/** One row for each text. */
export function tableOfTexts(sources: readonly Source[]): Table {
  const [first] = sources
  return {
    name: sources.length === 1 ? stemOf(first?.name ?? '') : 'texts',
    columns: [documentColumn, textColumn],
    rows: sources.map(({ name, text }) => [name === '' ? 'pasted' : name, text]),
    isMarkdown: sources.every(({ name, text }) => endingOf(name) === 'md' || (name === '' && /^#{1,6} /m.test(text))),
  }
}

/** The columns are the keys of all objects. */
export function tableOfObjects(name: string, objects: readonly object[]): Table {
  const columns = [...new Set(objects.flatMap((object) => Object.keys(object)))]
  const rows = objects.map((object) => columns.map((key) => jsonOf((object as Record<string, unknown>)[key])))
  return { name: stemOf(name), columns, rows, isMarkdown: false }
}

function delimited({ name, text }: Source, delimiter: Delimiter): Table {
  const [head, ...rows] = csvRows(text, delimiter)
  if (head === undefined || rows.length === 0)
    throw new Error('the first line must name the columns, and rows must follow')
  const columns = distinct(head.map((cell, i) => (cell.trim() === '' ? `column ${i + 1}` : cell.trim())))
  const long = rows.findIndex((row) => row.length > columns.length)
  if (long !== -1)
    throw new Error(`row ${long + 1} has ${rows[long]?.length} cells, and there are ${columns.length} columns`)
  return { name: stemOf(name), columns, rows: rows.map((row) => row.map(typed)), isMarkdown: false }
}

/** A name that stands there twice gets a number, because columns become keys. */
function distinct(names: readonly string[]): readonly string[] {
  const used = new Set<string>()
  return names.map((name) => {
    let free = name
    for (let number = 2; used.has(free); number += 1) free = `${name} ${number}`
    used.add(free)
    return free
  })
}

/** A number only if no information is lost: 007 and 1.50 stay text. An empty cell has no value. */
function typed(cell: string): Json | undefined {
  if (cell === '') return undefined
  if (cell === 'true' || cell === 'false') return cell === 'true'
  const number = Number(cell)
  return Number.isFinite(number) && String(number) === cell ? number : cell
}

/** Parquet has whole numbers of 64 bits, times, and bytes, which JSON has not. */
function jsonOf(value: unknown): Json | undefined {
  if (value === null || value === undefined) return undefined
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : String(value)
  if (value instanceof Date) return value.toISOString()
  if (ArrayBuffer.isView(value)) return undefined
  return value as Json
}

export function endingOf(name: string): string {
  const ending = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  return ending === 'markdown' ? 'md' : ending
}

function stemOf(name: string): string {
  return name.replace(/\.[^.]+$/, '')
}
