// Files that somebody drops or chooses, as one table.
import { bytes } from '../../show.ts'
import { bytesMax, endingOf, type Table, tableOf, tableOfObjects, tableOfTexts } from './table.ts'

export const accepted = '.txt,.md,.markdown,.csv,.tsv,.json,.jsonl,.ndjson,.parquet'

const tables = new Set(['csv', 'tsv', 'json', 'jsonl', 'ndjson', 'parquet'])

/** Resolves to the rows of a Parquet file. */
export type ReadParquet = (file: ArrayBuffer) => Promise<readonly object[]>

/** Several texts make one table; a table comes alone. Throws a readable error. */
export async function tableOfFiles(files: readonly File[], readParquet: ReadParquet): Promise<Table> {
  const size = files.reduce((total, file) => total + file.size, 0)
  if (size > bytesMax) {
    throw new Error(`${bytes(size)} are more than ${bytes(bytesMax)}; load larger files with annal import`)
  }
  const [first] = files
  if (first === undefined) throw new Error('there is no file')
  const table = files.find(({ name }) => tables.has(endingOf(name)))
  if (table !== undefined && files.length > 1) throw new Error(`${table.name} is a table; load it alone`)
  if (endingOf(first.name) === 'parquet') return tableOfObjects(first.name, await rowsOf(first, readParquet))
  const sources = await Promise.all(files.map(async (file) => ({ name: file.name, text: await textOf(file) })))
  return sources.length === 1 ? tableOf(sources[0]!) : tableOfTexts(sources)
}

async function textOf(file: File): Promise<string> {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(await file.arrayBuffer())
  } catch {
    throw new Error(`${file.name} is not text in UTF-8`)
  }
}

async function rowsOf(file: File, readParquet: ReadParquet): Promise<readonly object[]> {
  try {
    return await readParquet(await file.arrayBuffer())
  } catch (cause) {
    throw new Error(`${file.name} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}
