// The messages of an Arrow file or stream, each checked before a reader gets it: metadata inside its bytes, buffers inside the body, and as
// many values as the buffers can have.
//
//   stream: messages, until one without metadata or the end
//   message: 0xFFFFFFFF | bytes of metadata i32 | metadata | body      (before version 0.15 without the first four bytes)
//   file: "ARROW1" 00 00 | stream | footer | bytes of the footer i32 | "ARROW1"
import type { FileHandle } from 'node:fs/promises'
import { checkedTable, type FlatTable, type Layout } from './flat-table.ts'

const text = { kind: 'text' } as const
const keyValue: Layout = [text, text]
const int: Layout = [4, 1]
const dictionaryEncoding: Layout = [8, { kind: 'table', of: () => int }, 1, 2]

/** By the number of the type; all others have no values. */
const types: Readonly<Record<number, Layout>> = {
  2: int,
  3: [2],
  7: [4, 4, 4],
  8: [2],
  9: [2, 4],
  10: [2, text],
  11: [2],
  14: [2, { kind: 'list', bytes: 4 }],
  15: [4],
  16: [4],
  17: [1],
  18: [2],
}

const everyType = Object.fromEntries(Array.from({ length: 27 }, (_, type) => [type, types[type] ?? []]))

const field: Layout = [
  ...[text, 1, 1, { kind: 'choice', layouts: everyType } as const],
  { kind: 'table', of: () => dictionaryEncoding },
  { kind: 'tables', of: () => field },
  { kind: 'tables', of: () => keyValue },
]
const schema: Layout = [
  2,
  { kind: 'tables', of: () => field },
  { kind: 'tables', of: () => keyValue },
  { kind: 'list', bytes: 8 },
]
const compression: Layout = [1, 1]
const recordBatch: Layout = [
  ...[8, { kind: 'list', bytes: 16 } as const, { kind: 'list', bytes: 16 } as const],
  ...[{ kind: 'table', of: () => compression } as const, { kind: 'list', bytes: 8 } as const],
]
const dictionaryBatch: Layout = [8, { kind: 'table', of: () => recordBatch }, 1]
const message: Layout = [
  ...[2, 1, { kind: 'choice', layouts: { 1: schema, 2: dictionaryBatch, 3: recordBatch } } as const, 8],
  { kind: 'tables', of: () => keyValue },
]
const footer: Layout = [
  ...[2, { kind: 'table', of: () => schema } as const],
  ...[{ kind: 'list', bytes: 24 } as const, { kind: 'list', bytes: 24 } as const],
  { kind: 'tables', of: () => keyValue },
]

const kinds = { schema: 1, dictionaryBatch: 2, recordBatch: 3 } as const
/** Version 4 of the format, of 2017, and version 5. Earlier buffers have another layout. */
const versions = [3, 4]
const magic = 'ARROW1'
/** No writer has more in one part; a reader needs all of it in memory. */
const bodyBytesMax = 2 ** 31

/** The bytes of a stream with the messages of the file. Throws an Error that says what is wrong. */
export async function* arrowMessages(file: FileHandle): AsyncGenerator<Uint8Array> {
  const { size } = await file.stat()
  const input = { file, size }
  const head = await bytesOf(input, 0, Math.min(size, magic.length))
  const isFile = Buffer.from(head).toString('latin1') === magic
  if (Buffer.from(head).toString('latin1').startsWith('FEA1')) {
    throw new Error('it is Feather version 1; write it as version 2')
  }
  for await (const { metadata, body } of isFile ? messagesOfFile(input) : messagesOfStream(input, 0)) {
    const before = Buffer.alloc(8)
    before.writeInt32LE(-1, 0)
    before.writeInt32LE(metadata.length, 4)
    yield before
    yield metadata
    if (body.length > 0) yield body
  }
}

interface Input {
  readonly file: FileHandle
  readonly size: number
}

interface Message {
  readonly metadata: Uint8Array
  readonly body: Uint8Array
  /** The place after it. */
  readonly end: number
}

async function* messagesOfStream(input: Input, start: number): AsyncGenerator<Message> {
  let found: Message | undefined
  for (let place = start; place < input.size; place = found.end) {
    found = await messageAt(input, place)
    if (found === undefined) return
    yield found
  }
}

/** The footer says where the parts are. Dictionaries may come after the rows that refer to them. */
async function* messagesOfFile(input: Input): AsyncGenerator<Message> {
  const end = Buffer.from(await bytesOf(input, input.size - 10, 10))
  if (end.toString('latin1', 4) !== magic) throw new Error('it ends too early: its footer is missing')
  const length = end.readInt32LE(0)
  if (length < 0 || length > input.size - 20) throw new Error(`its footer has ${length} bytes`)
  const bytes = await bytesOf(input, input.size - 10 - length, length)
  const table = checkedTable(bytes, footer)
  yield { metadata: schemaMessage(bytes, table), body: new Uint8Array(), end: input.size }
  const blocks = [...table.numbers(2, 3), ...table.numbers(3, 3)].map(([offset = 0]) => offset)
  const next = nextPlaces(blocks)
  for (const from of blocks) {
    const found = from < 8 ? undefined : await messageAt(input, from)
    if (found === undefined) throw new Error(`its footer names a part at byte ${from}, where none is`)
    if (found.end > (next.get(from) as number)) throw new Error(`its parts at byte ${from} overlap`)
    yield found
  }
}

/**
 * The schema of a footer as a message. Not every writer puts one in front of the other parts. A table for the message goes before the footer:
 *
 *   16 u32 | 10 u16 | 12 u16 | 8 u16, 10 u16, 4 u16 | 00 00 | 12 i32 | distance of the schema u32 | version i16 | kind u8 | zeros to 32
 */
function schemaMessage(bytes: Uint8Array, table: FlatTable): Uint8Array {
  const found = table.table(1)
  if (found === undefined) throw new Error('its footer has no schema')
  checkSchema(found, table.number(0, 2))
  const before = Buffer.alloc(32)
  before.writeUInt32LE(16, 0)
  for (const [i, number] of [10, 12, 8, 10, 4].entries()) before.writeUInt16LE(number, 4 + i * 2)
  before.writeInt32LE(12, 16)
  before.writeUInt32LE(32 + found.start - 20, 20)
  before.writeInt16LE(table.number(0, 2), 24)
  before.writeUInt8(kinds.schema, 26)
  return new Uint8Array(Buffer.concat([before, bytes]))
}

function checkSchema(found: FlatTable, version: number): void {
  if (!versions.includes(version)) throw new Error(`it has version ${version + 1} of the format; supported: 4, 5`)
  if (found.number(0, 2) !== 0) throw new Error('its numbers are big-endian')
}

/** The place of the next part by each place. Parts that overlap would be read again and again. */
function nextPlaces(places: readonly number[]): ReadonlyMap<number, number> {
  const sorted = places.toSorted((a, b) => a - b)
  return new Map(
    sorted.map((place, i) => [place, sorted[i + 1] ?? Number.POSITIVE_INFINITY]).reverse() as [number, number][],
  )
}

/** Undefined where the stream ends. */
async function messageAt(input: Input, place: number): Promise<Message | undefined> {
  const head = Buffer.alloc(8)
  head.set(await bytesOf(input, place, Math.min(8, input.size - place)))
  const isNew = head.readInt32LE(0) === -1
  const length = head.readInt32LE(isNew ? 4 : 0)
  if (length === 0) return undefined
  const start = place + (isNew ? 8 : 4)
  const metadata = await bytesOf(input, start, length)
  const table = checkedTable(metadata, message)
  const bodyLength = table.number(3, 8)
  if (bodyLength > bodyBytesMax) throw new Error(`a part has ${bodyLength} bytes; the limit is ${bodyBytesMax}`)
  const body = await bytesOf(input, start + length, bodyLength)
  const header = table.table(2)
  if (header === undefined) throw new Error('a part has no header')
  const kind = table.number(1, 1)
  if (kind === kinds.schema) checkSchema(header, table.number(0, 2))
  const batch = kind === kinds.recordBatch ? header : kind === kinds.dictionaryBatch ? header.table(1) : undefined
  if (kind === kinds.dictionaryBatch && batch === undefined) throw new Error('a dictionary has no values')
  if (batch !== undefined) checkBatch(batch, body)
  return { metadata, body, end: start + length + bodyLength }
}

/** Buffers are inside the body, and values take at least a bit. */
function checkBatch(batch: FlatTable, body: Uint8Array): void {
  const view = new DataView(body.buffer, body.byteOffset, body.byteLength)
  const isCompressed = batch.table(3) !== undefined
  let bytes = 0
  for (const [offset = 0, length = 0] of batch.numbers(2, 2)) {
    if (offset < 0 || length < 0 || offset + length > body.length) {
      throw new Error(`a buffer of ${length} bytes at ${offset} is outside its part of ${body.length} bytes`)
    }
    if (!isCompressed || length === 0) bytes += length
    else bytes += contentBytes(view, offset, length)
  }
  const counts = [batch.number(0, 8), ...batch.numbers(1, 2).flat()]
  const wrong = counts.find((count) => count < -1 || count > bytes * 8)
  if (wrong !== undefined) throw new Error(`a part of ${bytes} bytes claims to have ${wrong} values`)
}

/** The content of a compressed buffer has its length before it, or -1 if it is not compressed. */
function contentBytes(view: DataView, offset: number, length: number): number {
  if (length < 8) throw new Error('a compressed buffer ends too early')
  const content = Number(view.getBigInt64(offset, true))
  if (content < -1 || content > bodyBytesMax) {
    throw new Error(`a compressed buffer has ${content} bytes; the limit is ${bodyBytesMax}`)
  }
  return content === -1 ? length - 8 : content
}

async function bytesOf({ file, size }: Input, place: number, length: number): Promise<Uint8Array> {
  if (length < 0 || place < 0 || place + length > size) {
    throw new Error(`${length} bytes at ${place} are not in its ${size} bytes`)
  }
  // Memory of its own, because the library has views of numbers in it.
  const bytes = new Uint8Array(length)
  const { bytesRead } = await file.read(bytes, 0, length, place)
  if (bytesRead < length) throw new Error('it became shorter while it was read')
  return bytes
}
