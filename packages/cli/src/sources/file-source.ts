// A file as a source, by its format or its file name extension.
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { type Opened, openRows, type RowOptions } from './file-rows.ts'
import { type GuardLimits, openGuarded } from './guarded-file.ts'
import { piecesOfRows, type Source } from './source.ts'

/** The format is that of the file name extension if it is absent. */
export type FileOptions = Omit<RowOptions, 'format'> & { readonly format?: string | undefined }

/** `limits` are those of a file that a library reads. */
export async function openFile(file: string, options: FileOptions, limits?: Partial<GuardLimits>): Promise<Source> {
  const { size } = await stat(file)
  const { total, rows, close } = await open(file, options, limits)
  const name = `${path.resolve(file)}, ${size} bytes`
  return { name, total, pieces: (from) => piecesOfRows(from, rows), ...(close && { close }) }
}

/** Extensions that are not the name of a format. */
const endings: Readonly<Record<string, string>> = { ndjson: 'jsonl', feather: 'arrow', arrows: 'arrow', h5: 'hdf5' }
/** Formats that libraries read. */
const guarded = ['arrow', 'hdf5', 'parquet']

function open(file: string, options: FileOptions, limits: Partial<GuardLimits> | undefined): Promise<Opened> {
  const { field, ids, dataset, renames, texts } = options
  const ending = path.extname(file).slice(1).toLowerCase()
  const format = options.format ?? endings[ending] ?? ending
  const known: RowOptions = { format, field, ids, dataset, renames, texts }
  return guarded.includes(format) ? openGuarded(file, known, limits) : openRows(file, known)
}
