// Arrow files (Feather, version 2) and streams: columns as in Parquet; see columns.ts for their names. One batch of rows is in
// memory at a time. The library gets only messages that were checked, and its columns are checked before they are read.
import { open } from 'node:fs/promises'
import type { ObjectInput } from '@annal/client'
import {
  CompressionType,
  compressionRegistry,
  DataType,
  Precision,
  type RecordBatch,
  RecordBatchReader,
  type Vector,
} from 'apache-arrow'
import { compressors } from 'hyparquet-compressors'
import { dataError } from '../exit-code.ts'
import { checkData } from './arrow-data.ts'
import { arrowMessages } from './arrow-messages.ts'
import { columnsOf, objectOf, type Renames } from './columns.ts'
import { fromHalf } from './half.ts'
import { fromLz4Frame } from './lz4-frame.ts'

compressionRegistry.set(CompressionType.LZ4_FRAME, { decode: (bytes) => aligned(fromLz4Frame(bytes)) })
// Zstandard says itself how long the content is.
compressionRegistry.set(CompressionType.ZSTD, {
  decode: (bytes) => aligned(compressors.ZSTD?.(bytes, 0) as Uint8Array),
})

/** The library reads numbers of 8 bytes in it. */
function aligned(bytes: Uint8Array): Uint8Array {
  return bytes.byteOffset % 8 === 0 ? bytes : bytes.slice()
}

export async function* readArrow(
  file: string,
  renames: Renames,
  firstRow: number,
  texts: ReadonlySet<string>,
): AsyncGenerator<ObjectInput> {
  const handle = await open(file)
  try {
    if ((await handle.read(Buffer.alloc(1), 0, 1, 0)).bytesRead === 0) throw dataError(`${file} is empty`)
    const reader = await naming(file, async () => (await RecordBatchReader.from(arrowMessages(handle))).open())
    if (reader.schema === undefined) throw dataError(`${file} has no columns`)
    const names = reader.schema.fields.map(({ name }) => name)
    const columns = columnsOf(names, renames, file)
    let number = 0
    for await (const batch of batchesOf(reader, file, () => number)) {
      const first = Math.max(0, firstRow - number)
      await naming(`${file}, after row ${number}`, async () => checkData(batch.data))
      const left: ListsLeft = { values: batch.data.byteLength * 8 + listMax }
      for (let row = first; row < batch.numRows; row += 1) {
        const where = `${file}, row ${number + row + 1}`
        const values = names.map((_, i) => namingNow(where, () => cellOf(batch.getChildAt(i), row, left)))
        yield objectOf({ values, number: number + row }, columns, file, texts)
      }
      number += batch.numRows
    }
  } finally {
    await handle.close()
  }
}

async function* batchesOf(reader: RecordBatchReader, file: string, row: () => number): AsyncGenerator<RecordBatch> {
  const batches = (reader as AsyncIterable<RecordBatch>)[Symbol.asyncIterator]()
  for (;;) {
    const { done, value } = await naming(`${file}, after row ${row()}`, () => batches.next())
    if (done) return
    yield value
  }
}

/** Values that lists may still have: each takes at least a bit. Entries of a dictionary may be lists, which rows repeat. */
interface ListsLeft {
  values: number
}

function cellOf(column: Vector | null, row: number, left: ListsLeft): unknown {
  return column === null ? undefined : plain(column.type, column.get(row), left)
}

/** The value of a cell as Parquet files have it: lists are arrays, moments are dates. */
function plain(type: DataType, value: unknown, left: ListsLeft): unknown {
  if (value === null || value === undefined) return undefined
  if (DataType.isDictionary(type)) return plain(type.dictionary, value, left)
  if (DataType.isTimestamp(type) || DataType.isDate(type)) return new Date(Number(value))
  if (DataType.isList(type) || DataType.isFixedSizeList(type) || DataType.isLargeList(type)) {
    return listOf(
      (type as DataType & { readonly children: readonly { readonly type: DataType }[] }).children[0]?.type,
      value as Vector,
      left,
    )
  }
  if (DataType.isStruct(type)) {
    const row = value as { readonly [name: string]: unknown }
    return Object.fromEntries(type.children.map((child) => [child.name, plain(child.type, row[child.name], left)]))
  }
  if (DataType.isMap(type)) return Object.fromEntries(value as Iterable<[string, unknown]>)
  if (DataType.isDecimal(type)) return String(value)
  return value
}

/** No server takes more, in a vector or in meta. */
const listMax = 100_000

function listOf(type: DataType | undefined, list: Vector, left: ListsLeft): unknown {
  if (type === undefined) return undefined
  if (list.length > listMax) throw new Error(`a list of ${list.length} values; the limit is ${listMax}`)
  left.values -= list.length
  if (left.values < 0) throw new Error('its lists have more values than the file')
  if (DataType.isFloat(type) && list.nullCount === 0) {
    // The library has the bits of halves in its arrays.
    const numbers = list.toArray() as ArrayLike<number>
    return type.precision === Precision.HALF ? Float32Array.from(numbers, fromHalf) : Array.from(numbers)
  }
  return Array.from(list, (value) => plain(type, value, left))
}

async function naming<T>(where: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw readable(error, where)
  }
}

function namingNow<T>(where: string, work: () => T): T {
  try {
    return work()
  } catch (error) {
    throw readable(error, where)
  }
}

function readable(error: unknown, where: string): unknown {
  if (!(error instanceof Error) || error.name === 'CommandEnd' || 'syscall' in error) return error
  // The library stumbles over what it does not expect, and reports its own expressions.
  const isOwn = error instanceof TypeError || error instanceof RangeError
  const reason = isOwn ? 'the file is damaged' : error.message.split('\n', 1)[0]
  return dataError(`${where}: not readable as Arrow: ${reason}`)
}
