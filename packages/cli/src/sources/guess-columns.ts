// Guesses what the columns of a CSV file are, for files of programs that do not name them as Annal does: the ids, the vectors, and the texts of
// named text fields. The first rows decide.
import { createReadStream } from 'node:fs'
import { pipeline } from 'node:stream'
import { CsvError, parse } from 'csv-parse'
import { dataError, usageError } from '../exit-code.ts'
import type { Renames } from '../formats/columns.ts'
import { numberList } from '../formats/field-value.ts'

export interface Guess {
  readonly renames: Renames
  /** Each column, what it becomes, and its first value that is not empty. */
  readonly preview: readonly { readonly column: string; readonly becomes: string; readonly first: string }[]
}

const rowsRead = 100
const lineCharactersMax = 4 * 1024 * 1024
const shownCharacters = 40
const idNames = ['id', '_id', 'uuid', 'key', 'doc_id', 'document_id']

/**
 * Undefined if the columns say what they are, or if there is nothing to guess. `field` is the name of the vector field, `texts` those of the text
 * fields. Throws a usage error if several columns have vectors.
 */
export async function guessColumns(
  file: string,
  {
    delimiter,
    field,
    texts,
  }: { readonly delimiter: string; readonly field: string; readonly texts: ReadonlySet<string> },
): Promise<Guess | undefined> {
  const [names = [], ...rows] = await firstRows(file, delimiter)
  if (names.some((name) => name.startsWith('fields.'))) return undefined
  const cellsOf = (i: number) => rows.flatMap((row) => (row[i] ? [row[i]] : []))
  const vectors = names.filter((_, i) => isVectors(cellsOf(i)))
  if (vectors.length > 1) {
    const message = `${file}: the columns ${vectors.join(' and ')} have vectors; choose with --column NAME=fields.FIELD`
    throw usageError(message)
  }
  const uses = new Map<string, string>()
  for (const name of vectors) uses.set(name, `fields.${field}`)
  for (const name of names) if (texts.has(name)) uses.set(name, `fields.${name}`)
  if (uses.size === 0) return undefined
  const id = idNames.map((one) => names.findIndex((name) => name.toLowerCase() === one)).find((i) => i >= 0)
  if (id !== undefined && isDistinct(cellsOf(id), rows.length)) uses.set(names[id] as string, 'id')
  const preview = names.map((column, i) => ({
    column,
    becomes: uses.get(column) ?? `meta.${column}`,
    first: shortened(cellsOf(i)[0] ?? ''),
  }))
  return { renames: uses, preview }
}

async function firstRows(file: string, delimiter: string): Promise<readonly (readonly string[])[]> {
  const parser = parse({
    bom: true,
    delimiter,
    skip_empty_lines: true,
    to: rowsRead + 1,
    max_record_size: lineCharactersMax,
  })
  pipeline(createReadStream(file), parser, () => undefined)
  const rows: (readonly string[])[] = []
  try {
    for await (const row of parser as AsyncIterable<readonly string[]>) rows.push(row)
  } catch (error) {
    if (error instanceof CsvError) throw dataError(`${file}: ${error.message}`)
    throw error
  }
  return rows
}

/** Lists of at least two numbers, all of the same length. */
function isVectors(cells: readonly string[]): boolean {
  const lengths = new Set(cells.map((cell) => numberList(cell)?.length ?? 0))
  const [length = 0] = lengths
  return lengths.size === 1 && length > 1
}

function isDistinct(cells: readonly string[], rows: number): boolean {
  return cells.length === rows && new Set(cells).size === rows
}

function shortened(text: string): string {
  const line = text.replaceAll(/\s+/g, ' ')
  return line.length > shownCharacters ? `${line.slice(0, shownCharacters)}...` : line
}
