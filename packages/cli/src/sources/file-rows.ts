// The objects of a file in a known format.
import type { ObjectInput } from '@annal/client'
import { dataError, usageError } from '../exit-code.ts'
import type { Renames } from '../formats/columns.ts'
import { readCsv } from '../formats/csv.ts'
import { readJson } from '../formats/json-values.ts'
import { readJsonl } from '../formats/jsonl.ts'
import { linesOf } from '../formats/lines.ts'
import { importFormats } from '../formats/names.ts'
import { openNpy, openVecs, type RowFile } from '../formats/rows.ts'

export interface RowOptions {
  readonly format: string
  /** The field for the vectors of a file that contains only vectors. */
  readonly field: string
  /** A file with the ids of these vectors, one per line. */
  readonly ids?: string | undefined
  /** The matrix of an HDF5 file. */
  readonly dataset?: string | undefined
  readonly renames: Renames
  /** Fields of type text; complete when the rows are read. */
  readonly texts: ReadonlySet<string>
}

export interface Opened {
  readonly total?: number | undefined
  rows(firstRow: number): AsyncIterable<ObjectInput>
  readonly close?: () => Promise<void>
}

export async function openRows(file: string, options: RowOptions): Promise<Opened> {
  const { format, renames, texts } = options
  if (format === 'jsonl') return { rows: (first) => readJsonl(file, first) }
  if (format === 'json') return { rows: (first) => readJson(file, first) }
  if (format === 'csv') return { rows: (first) => readCsv(file, { delimiter: ',', renames, texts }, first) }
  if (format === 'tsv') return { rows: (first) => readCsv(file, { delimiter: '\t', renames, texts }, first) }
  if (format === 'parquet') {
    const { openParquet } = await import('../formats/parquet.ts')
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
function vectorRows(vectors: RowFile, { field, ids }: RowOptions) {
  return {
    total: vectors.rows,
    async *rows(firstRow: number): AsyncGenerator<ObjectInput> {
      const named = ids === undefined ? undefined : linesFrom(ids, firstRow)
      let number = firstRow
      for await (const vector of vectors.read(firstRow)) {
        const line = await named?.next()
        if (line?.done) throw dataError(`${ids} has only ${number} ids for ${vectors.rows} vectors`)
        yield { id: line?.value ?? String(number), fields: { [field]: vector } }
        number += 1
      }
      const more = await named?.next()
      if (more?.done === false) throw dataError(`${ids} has more ids than the ${vectors.rows} vectors`)
    },
  }
}

/** A server takes shorter ids. */
const idCharactersMax = 65_536

async function* linesFrom(file: string, firstLine: number): AsyncGenerator<string, undefined> {
  let number = 0
  for await (const line of linesOf(file, idCharactersMax)) {
    if (number >= firstLine) yield line
    number += 1
  }
  return undefined
}
