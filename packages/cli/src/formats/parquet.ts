// Parquet: columns as in CSV, but typed. A dense field is a list of floats, a sparse field a group of two lists, a multi-vector field a
// list of lists; meta and filter are JSON, and the expiry is a timestamp. See sources/columns.ts for the column names.
import type { FieldDescription, ObjectInput, StoredObject } from '@annal/client'
import {
  type AsyncBuffer,
  asyncBufferFromFile,
  type FileMetaData,
  parquetMetadataAsync,
  parquetReadObjects,
  parquetSchema,
  type SchemaElement,
} from 'hyparquet'
import { compressors } from 'hyparquet-compressors'
import { fileWriter, ParquetWriter } from 'hyparquet-writer'
import { dataError } from '../exit-code.ts'
import { columnsOf, objectOf, type Renames } from './columns.ts'
import { fieldsOfObject, keptMeta } from './object-parts.ts'

export interface ParquetFile {
  readonly rows: number
  read(firstRow: number): AsyncGenerator<ObjectInput>
}

export async function openParquet(file: string, renames: Renames, texts: ReadonlySet<string>): Promise<ParquetFile> {
  const bytes = await asyncBufferFromFile(file)
  const metadata = await parquetMetadataAsync(bytes).catch((error: Error) => {
    throw dataError(`${file} is not a Parquet file: ${reasonOf(error)}`)
  })
  const names = parquetSchema(metadata).children.map(({ element }) => element.name)
  const columns = columnsOf(names, renames, file)
  return {
    rows: Number(metadata.num_rows),
    async *read(firstRow) {
      for (const { from, to } of stretches(metadata, firstRow)) {
        const rows = await readStretch({ file, bytes, metadata, from, to })
        for (const [i, row] of rows.entries()) {
          yield objectOf({ values: names.map((name) => row[name]), number: from + i }, columns, file, texts)
        }
      }
    },
  }
}

interface Stretch {
  readonly from: number
  readonly to: number
}

const rowsOfStretch = 1_000

/** The unit of reading: some rows if the file has a page index, otherwise a row group, the smallest unit that can be located. */
function* stretches({ row_groups: groups }: FileMetaData, firstRow: number): Generator<Stretch> {
  let groupStart = 0
  for (const group of groups) {
    const groupEnd = groupStart + Number(group.num_rows)
    const indexed = group.columns.every(({ offset_index_offset: offset }) => offset !== undefined)
    const step = indexed ? rowsOfStretch : groupEnd - groupStart
    for (let from = Math.max(groupStart, firstRow); from < groupEnd; from += step) {
      yield { from, to: Math.min(groupEnd, from + step) }
    }
    groupStart = groupEnd
  }
}

interface Reading extends Stretch {
  readonly file: string
  readonly bytes: AsyncBuffer
  readonly metadata: FileMetaData
}

async function readStretch({ file, bytes, metadata, from, to }: Reading): Promise<readonly Record<string, unknown>[]> {
  const reading = { file: bytes, metadata, compressors, rowStart: from, rowEnd: to, useOffsetIndex: true }
  const rows = await parquetReadObjects(reading).catch((error: Error) => {
    throw dataError(`${file}, rows ${from + 1} to ${to}: ${reasonOf(error)}`)
  })
  if (rows.length !== to - from)
    throw dataError(`${file}, rows ${from + 1} to ${to}: the file has only ${rows.length} of them`)
  return rows
}

/** The library stumbles over what it does not expect, and reports its own expressions. */
function reasonOf(error: Error): string {
  const isOwn = error instanceof TypeError || error instanceof RangeError
  return isOwn ? 'the file is damaged' : (error.message.split('\n', 1)[0] as string)
}

const groupBytes = 16 * 1024 * 1024

/** Writes row groups of a few megabytes each, and their index after the last object. */
export async function writeParquet(
  file: string,
  fields: readonly FieldDescription[],
  objects: AsyncIterable<StoredObject>,
) {
  const writer = new ParquetWriter({
    writer: fileWriter(file),
    schema: schemaOf(fields),
    // Minimum and maximum are useless for vectors.
    statistics: false,
  })
  const numbersOfRow = fields.reduce((sum, field) => sum + numbersIn(field), 0)
  const rowsOfGroup = Math.min(10_000, Math.max(100, Math.floor(groupBytes / 4 / numbersOfRow)))
  let group: StoredObject[] = []
  for await (const object of objects) {
    group.push(object)
    if (group.length < rowsOfGroup) continue
    await writeGroup(writer, fields, group)
    group = []
  }
  await writeGroup(writer, fields, group)
  await writer.finish()
}

async function writeGroup(
  writer: ParquetWriter,
  fields: readonly FieldDescription[],
  objects: readonly StoredObject[],
) {
  if (objects.length === 0) return
  const metas = objects.map(keptMeta)
  const values = objects.map(fieldsOfObject)
  await writer.write({
    rowGroupSize: objects.length,
    columnData: [
      { name: 'id', data: objects.map(({ id }) => id) },
      { name: 'meta', data: metas.map(({ meta }) => meta) },
      { name: 'meta_base64', data: metas.map(({ meta_base64: bytes }) => bytes) },
      { name: 'filter', data: objects.map(({ filter }) => filter) },
      {
        name: 'expires_at',
        data: objects.map(({ expiresAt }) => (expiresAt === undefined ? undefined : new Date(expiresAt))),
      },
      ...fields.map(({ name }) => ({
        name: `fields.${name}`,
        data: values.map((columns) => columns[name]),
        // Floats hardly ever repeat, so searching for repetitions costs more than everything else.
        encoding: 'PLAIN' as const,
      })),
    ],
  })
}

function schemaOf(fields: readonly FieldDescription[]): SchemaElement[] {
  return [
    { name: 'root', num_children: 5 + fields.length },
    { name: 'id', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'REQUIRED' },
    { name: 'meta', type: 'BYTE_ARRAY', converted_type: 'JSON', repetition_type: 'OPTIONAL' },
    { name: 'meta_base64', type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' },
    { name: 'filter', type: 'BYTE_ARRAY', converted_type: 'JSON', repetition_type: 'OPTIONAL' },
    { name: 'expires_at', type: 'INT64', converted_type: 'TIMESTAMP_MILLIS', repetition_type: 'OPTIONAL' },
    ...fields.flatMap(({ name, type }) => columnOf(`fields.${name}`, type)),
  ]
}

function columnOf(name: string, type: FieldDescription['type']): SchemaElement[] {
  const float: SchemaElement = { name: 'element', type: 'FLOAT', repetition_type: 'REQUIRED' }
  if (type === 'vector') return listOf(name, [float])
  if (type === 'text') return [{ name, type: 'BYTE_ARRAY', converted_type: 'UTF8', repetition_type: 'OPTIONAL' }]
  if (type === 'multi_vector') return listOf(name, listOf('element', [float]))
  // An index fits into 32 unsigned bits, which every reader represents as a double.
  const index: SchemaElement = { name: 'element', type: 'DOUBLE', repetition_type: 'REQUIRED' }
  const lists = [...listOf('indices', [index]), ...listOf('values', [float])]
  return [{ name, repetition_type: 'OPTIONAL', num_children: 2 }, ...lists]
}

function listOf(name: string, element: readonly SchemaElement[]): SchemaElement[] {
  return [
    { name, repetition_type: 'OPTIONAL', num_children: 1, converted_type: 'LIST' },
    { name: 'list', repetition_type: 'REPEATED', num_children: 1 },
    ...element,
  ]
}

/** Numbers of a value, or what takes as many bytes. */
function numbersIn(field: FieldDescription): number {
  return field.type === 'sparse' || field.type === 'text' ? 100 : field.params.dimension
}
