// A file as a source, by its format or its file name extension.
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import path from 'node:path'
import { createInterface } from 'node:readline'
import type { ObjectInput } from '@annal/client'
import { usageError } from '../exit-code.ts'
import { readCsv } from '../formats/csv.ts'
import { readJson } from '../formats/json-values.ts'
import { readJsonl } from '../formats/jsonl.ts'
import { importFormats } from '../formats/names.ts'
import { openParquet } from '../formats/parquet.ts'
import { openNpy, openVecs, type RowFile } from '../formats/rows.ts'
import type { Renames } from './columns.ts'
import { piecesOfRows, type Source } from './source.ts'

export interface FileOptions {
  readonly format?: string | undefined
  /** The field for the vectors of a file that contains only vectors. */
  readonly field: string
  /** A file with the ids of these vectors, one per line. */
  readonly ids?: string | undefined
  /** The matrix of an HDF5 file. */
  readonly dataset?: string | undefined
  readonly renames: Renames
  /** Fields of type text; complete when the source is read. */
  readonly texts: ReadonlySet<string>
}

type Rows = (firstRow: number) => AsyncIterable<ObjectInput>

export async function openFile(file: string, options: FileOptions): Promise<Source> {
  const { size } = await stat(file)
  const { total, rows, close } = await openRows(file, options)
  const name = `${path.resolve(file)}, ${size} bytes`
  return { name, total, pieces: (from) => piecesOfRows(from, rows), ...(close && { close }) }
}

interface Opened {
  readonly total?: number
  readonly rows: Rows
  readonly close?: () => Promise<void>
}

/** Extensions that are not the name of a format. */
const endings: Readonly<Record<string, string>> = { ndjson: 'jsonl', feather: 'arrow', arrows: 'arrow', h5: 'hdf5' }

async function openRows(file: string, options: FileOptions): Promise<Opened> {
  const ending = path.extname(file).slice(1).toLowerCase()
  const format = options.format ?? endings[ending] ?? ending
  const { renames, texts } = options
  if (format === 'jsonl') return { rows: (first) => readJsonl(file, first) }
  if (format === 'json') return { rows: (first) => readJson(file, first) }
  if (format === 'csv') return { rows: (first) => readCsv(file, { delimiter: ',', renames, texts }, first) }
  if (format === 'tsv') return { rows: (first) => readCsv(file, { delimiter: '\t', renames, texts }, first) }
  if (format === 'parquet') {
    const parquet = await openParquet(file, renames, texts)
    return { total: parquet.rows, rows: parquet.read }
  }
  if (format === 'arrow') {
    const { readArrow } = await import('../formats/arrow.ts')
    return { rows: (first) => readArrow(file, renames, first, texts) }
  }
  if (format === 'hdf5') {
    const { openHdf5 } = await import('../formats/hdf5.ts')
    const matrix = await openHdf5(file, options.dataset)
    return { ...vectorRows(matrix, options), close: async () => matrix.close() }
  }
  if (format === 'npy') return vectorRows(await openNpy(file), options)
  if (format === 'fvecs' || format === 'bvecs') return vectorRows(await openVecs(file, format), options)
  throw usageError(`${file}: --format must be one of ${importFormats.join(', ')}`)
}

/** The id is the row number unless a file provides ids. */
function vectorRows(vectors: RowFile, { field, ids }: FileOptions) {
  return {
    total: vectors.rows,
    async *rows(firstRow: number): AsyncGenerator<ObjectInput> {
      const named = ids === undefined ? undefined : linesFrom(ids, firstRow)
      let number = firstRow
      for await (const vector of vectors.read(firstRow)) {
        const line = await named?.next()
        if (line?.done) throw usageError(`${ids} has only ${number} ids for ${vectors.rows} vectors`)
        yield { id: line?.value ?? String(number), fields: { [field]: vector } }
        number += 1
      }
      const more = await named?.next()
      if (more?.done === false) throw usageError(`${ids} has more ids than the ${vectors.rows} vectors`)
    },
  }
}

async function* linesFrom(file: string, firstLine: number): AsyncGenerator<string, undefined> {
  let number = 0
  for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Number.POSITIVE_INFINITY })) {
    if (number >= firstLine) yield line
    number += 1
  }
  return undefined
}
