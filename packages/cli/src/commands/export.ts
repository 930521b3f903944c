// `annal export`: writes a collection to a file that `annal import` reads.
import { createWriteStream } from 'node:fs'
import { open } from 'node:fs/promises'
import path from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Collection, FieldDescription, ScrollRequest, StoredObject } from '@annal/client'
import { objectsText } from '../amounts.ts'
import { type ConnectionOptions, withClient } from '../connection.ts'
import { exitCode, usageError } from '../exit-code.ts'
import { filterOf, matchOf } from '../filter-option.ts'
import { csvHead, csvObject } from '../formats/csv.ts'
import { jsonLine } from '../formats/jsonl.ts'
import { exportFormats } from '../formats/names.ts'
import { writeVectors } from '../formats/vectors-out.ts'
import type { Terminal } from '../terminal.ts'
import { wholly } from '../whole-files.ts'

type Format = (typeof exportFormats)[number]

export interface ExportOptions extends ConnectionOptions {
  readonly output?: string
  readonly format?: string
  readonly field?: string
  readonly ids?: string
  readonly filter?: string
  readonly match?: string
  /** False with --no-vectors. */
  readonly vectors?: boolean
  /** False with --no-texts. */
  readonly texts?: boolean
  readonly json?: boolean
}

/** The output file appears only when it is complete. Without --output the lines go to standard output. */
export function exportCollection(name: string, options: ExportOptions, terminal: Terminal) {
  const filter = options.filter === undefined ? undefined : filterOf(options.filter)
  const match = options.match === undefined ? undefined : matchOf(options.match)
  const { vectors: includeVectors = true, texts: includeTexts = true } = options
  const conditions = { filter, match, includeVectors, includeTexts }
  const format = formatOf(options)
  return withClient(options, async (client) => {
    const collection = client.collection(name)
    const fields = writtenFields((await collection.describe()).fields, options)
    const { output } = options
    if (output === undefined) {
      if (format !== 'jsonl' && format !== 'csv') throw usageError(`--format ${format} requires --output FILE`)
      for await (const line of linesOf(objectsOf(collection, conditions), format, fields))
        terminal.line(line.slice(0, -1))
      return exitCode.good
    }
    const total = await collection.count(match ? { filter, match } : filter)
    let written = 0
    const objects = objectsOf(collection, conditions, () => {
      written += 1
      terminal.bar.show(`exporting ${name}`, written, total)
    })
    await wholly([output, ...(options.ids === undefined ? [] : [options.ids])], ([part = '', ids]) =>
      write(part, { format, fields, field: options.field, ids }, objects),
    )
    terminal.line(
      options.json ? JSON.stringify({ file: output, objects: written }) : `${objectsText(written)} in ${output}`,
    )
    return exitCode.good
  })
}

function formatOf({ format, output, ids, vectors }: ExportOptions): Format {
  const ending = output === undefined ? '' : path.extname(output).slice(1).toLowerCase()
  const known = exportFormats.find((one) => one === (format ?? ending)) ?? 'jsonl'
  if (vectors === false && isOfVectors(known))
    throw usageError(`--no-vectors: a file of format ${known} has nothing else`)
  if (ids !== undefined && !isOfVectors(known))
    throw usageError(`--ids applies to npy, fvecs and bvecs only; ${known} already contains the ids`)
  return known
}

/** The fields that the file has. */
function writtenFields(fields: readonly FieldDescription[], { vectors = true, texts = true }: ExportOptions) {
  return fields.filter(({ type }) => (type === 'text' ? texts : vectors))
}

function isOfVectors(format: Format): format is 'npy' | 'fvecs' | 'bvecs' {
  return format === 'npy' || format === 'fvecs' || format === 'bvecs'
}

interface Writing {
  readonly format: Format
  readonly fields: readonly FieldDescription[]
  readonly field: string | undefined
  readonly ids: string | undefined
}

async function write(
  file: string,
  { format, fields, field, ids }: Writing,
  objects: AsyncIterable<StoredObject>,
): Promise<void> {
  if (isOfVectors(format)) {
    await writeVectors(file, { format, ids, ...denseOf(fields, field, format) }, objects)
  } else if (format === 'parquet') {
    const { writeParquet } = await import('../formats/parquet.ts')
    await writeParquet(file, fields, objects)
    await using handle = await open(file, 'r+')
    await handle.sync()
  } else {
    await pipeline(Readable.from(linesOf(objects, format, fields)), createWriteStream(file, { flush: true }))
  }
}

/** The named dense field, or the only one. */
function denseOf(fields: readonly FieldDescription[], wanted: string | undefined, format: Format) {
  const dense = fields.filter(({ type }) => type === 'vector')
  const names = dense.map(({ name }) => name).join(', ')
  const field = dense.find(({ name }) => name === (wanted ?? dense[0]?.name))
  if (field?.type !== 'vector')
    throw usageError(
      `--format ${format}: no dense field${wanted === undefined ? '' : ` ${wanted}`}; dense fields: ${names || 'none'}`,
    )
  if (wanted === undefined && dense.length > 1)
    throw usageError(`--format ${format} holds one field; choose it with --field (${names})`)
  return { field: field.name, dimension: field.params.dimension }
}

async function* linesOf(
  objects: AsyncIterable<StoredObject>,
  format: 'jsonl' | 'csv',
  fields: readonly FieldDescription[],
): AsyncGenerator<string> {
  const names = fields.map(({ name }) => name)
  if (format === 'csv') yield csvHead(names)
  for await (const object of objects) yield format === 'csv' ? csvObject(object, names) : jsonLine(object)
}

async function* objectsOf(
  collection: Collection,
  conditions: Omit<ScrollRequest, 'cursor' | 'limit'>,
  onObject?: () => void,
): AsyncGenerator<StoredObject> {
  for await (const object of collection.objects({ ...conditions, limit: 500 })) {
    onObject?.()
    yield object
  }
}
