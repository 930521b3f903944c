// A trace as a file: frames one after another, each with its own checksum that depends on its place, and a last one that makes a
// short file as wrong as a changed one. Specified in docs/formats/trace.md.
//
//   start:  | "ANNALTRC" | u16 version | u16 oldest reader | u32 0 |
//   frame:  | u32 payload bytes | u8 kind | u8 record version | u16 record type | u64 LSN | u64 xxh64 of the 16 bytes before and the payload, seed = number of the frame | payload |
//
// Kinds: 0 head (JSON), 1 event (the record's payload), 2 query (JSON), 255 end (JSON). Little endian.
import { type FileHandle, open, rename, rm } from 'node:fs/promises'
import { decodeEvent, encodeEvent } from '@annal/engine/events'
import xxhash from 'xxhash-wasm'
import { ReplayError, type TraceEntry, type TraceHead, type TraceSummary } from './trace.ts'

const hasher = await xxhash()
const magic = Buffer.from('ANNALTRC', 'latin1')
const formatVersion = 1
const startBytes = 16
const headBytes = 24
const payloadBytesMax = 256 * 1024 * 1024
const flushBytes = 1024 * 1024
const kinds = { head: 0, event: 1, query: 2, end: 255 } as const

/** Writes to a temporary file and renames it at the end, so that a file with the final name is complete. */
export class TraceWriter {
  readonly #file: FileHandle
  readonly #path: string
  #frames = 0n
  #pieces: Buffer[] = []
  #pending = 0
  #summary: TraceSummary = { events: 0, queries: 0, lsnFirst: 0, lsnLast: 0, timeFirst: 0, timeLast: 0 }

  private constructor(file: FileHandle, path: string) {
    this.#file = file
    this.#path = path
  }

  /** Throws `file_exists` if there is a file at the path. The file appears there when it is finished. */
  static async create(path: string, head: TraceHead): Promise<TraceWriter> {
    const exists = await open(path, 'r').then(
      (file) => file.close().then(() => true),
      () => false,
    )
    if (exists) throw new ReplayError('file_exists', `${path} already exists`, { field: 'out', value: path })
    const writer = new TraceWriter(await open(temporary(path), 'w'), path)
    const start = Buffer.alloc(startBytes)
    magic.copy(start)
    start.writeUInt16LE(formatVersion, 8)
    start.writeUInt16LE(formatVersion, 10)
    writer.#pieces.push(start)
    await writer.#frame(kinds.head, json(head))
    return writer
  }

  /** Entries are written in the order of their LSNs; a query has the LSN of the record before it. */
  async write(entry: TraceEntry): Promise<void> {
    const { events, queries, lsnFirst, lsnLast, timeFirst } = this.#summary
    if (entry.kind === 'query') {
      const { lsn, timeMs, collectionId, request } = entry
      this.#summary = { ...this.#summary, queries: queries + 1 }
      return this.#frame(kinds.query, json({ timeMs, collectionId, request }), { lsn })
    }
    const { type, version, payload } = encodeEvent(entry.event)
    const { timeMs } = entry.event
    this.#summary = {
      events: events + 1,
      queries,
      lsnFirst: lsnFirst === 0 ? entry.lsn : lsnFirst,
      lsnLast: Math.max(lsnLast, entry.lsn),
      timeFirst: events === 0 ? timeMs : timeFirst,
      timeLast: timeMs,
    }
    // encodeEvent returns the payload in one piece.
    await this.#frame(kinds.event, Buffer.from(payload as Uint8Array), { lsn: entry.lsn, type, version })
  }

  /** Makes the file durable and gives it its name. Resolves to counts and bounds of the entries. */
  async finish(): Promise<TraceSummary> {
    await this.#frame(kinds.end, json(this.#summary))
    await this.#flush()
    await this.#file.datasync()
    await this.#file.close()
    await rename(temporary(this.#path), this.#path)
    return this.#summary
  }

  /** Leaves no file behind. */
  async abandon(): Promise<void> {
    await this.#file.close()
    await rm(temporary(this.#path), { force: true })
  }

  async #frame(
    kind: number,
    payload: Buffer,
    { lsn = 0, type = 0, version = 0 }: { lsn?: number; type?: number; version?: number } = {},
  ): Promise<void> {
    const head = Buffer.alloc(headBytes)
    head.writeUInt32LE(payload.length, 0)
    head.writeUInt8(kind, 4)
    head.writeUInt8(version, 5)
    head.writeUInt16LE(type, 6)
    head.writeBigUInt64LE(BigInt(lsn), 8)
    head.writeBigUInt64LE(sumOf(head, payload, this.#frames++), 16)
    this.#pieces.push(head, payload)
    this.#pending += headBytes + payload.length
    if (this.#pending >= flushBytes) await this.#flush()
  }

  async #flush(): Promise<void> {
    const bytes = Buffer.concat(this.#pieces)
    this.#pieces = []
    this.#pending = 0
    for (let done = 0; done < bytes.length; ) done += (await this.#file.write(bytes, done)).bytesWritten
  }
}

/** A trace file that was verified. */
export interface OpenTrace {
  readonly head: TraceHead
  readonly summary: TraceSummary
  /** Bytes of the file, for progress. */
  readonly bytes: number
  /** Every entry, verified while it is read. Can be called again. Throws ReplayError trace_damaged. */
  entries(onProgress?: (bytesDone: number) => void): AsyncGenerator<TraceEntry, void>
}

/** Reads the whole trace once, so that a damaged trace is refused before any work is done. */
export async function openTrace(path: string): Promise<OpenTrace> {
  let head: TraceHead | undefined
  let summary: TraceSummary | undefined
  let events = 0
  let queries = 0
  let bytes = 0
  for await (const frame of frames(path)) {
    bytes = frame.end
    if (frame.kind === kinds.head) head = JSON.parse(frame.payload.toString()) as TraceHead
    else if (frame.kind === kinds.end) summary = JSON.parse(frame.payload.toString()) as TraceSummary
    else if (frame.kind === kinds.event) events++
    else if (frame.kind === kinds.query) queries++
  }
  if (head === undefined || summary?.events !== events || summary.queries !== queries)
    throw damaged(path, bytes, 'its last frame does not match the frames before it')
  return { head, summary, bytes, entries: (onProgress) => entriesOf(path, onProgress) }
}

async function* entriesOf(path: string, onProgress?: (bytesDone: number) => void): AsyncGenerator<TraceEntry, void> {
  for await (const { kind, type, version, lsn, payload, end } of frames(path)) {
    onProgress?.(end)
    if (kind === kinds.event) yield { kind: 'event', lsn, event: decodeEvent({ type, version, payload }) }
    else if (kind === kinds.query) yield { kind: 'query', lsn, ...JSON.parse(payload.toString()) }
  }
}

interface Frame {
  readonly kind: number
  readonly type: number
  readonly version: number
  readonly lsn: number
  readonly payload: Buffer
  /** The file offset of the next frame. */
  readonly end: number
}

async function* frames(path: string): AsyncGenerator<Frame, void> {
  const file = await open(path, 'r')
  try {
    const { size } = await file.stat()
    const reader = new BlockReader(file, size)
    const start = await reader.take(startBytes)
    if (start === undefined || !start.subarray(0, 8).equals(magic) || start.readUInt32LE(12) !== 0)
      throw damaged(path, 0, 'it does not begin with the magic bytes of a trace')
    if (start.readUInt16LE(10) > formatVersion) {
      const version = start.readUInt16LE(8)
      throw new ReplayError(
        'format_too_new',
        `${path} has trace format ${version}, which requires a newer version of Annal`,
        {
          file: path,
          version,
        },
      )
    }
    let last = -1
    for (let number = 0n; last !== kinds.end; number++) {
      const position = reader.position
      const head = await reader.take(headBytes)
      const length = head?.readUInt32LE(0) ?? 0
      const payload = length > payloadBytesMax ? undefined : await reader.take(length)
      if (head === undefined || payload === undefined) throw damaged(path, position, 'a frame is cut off')
      if (sumOf(head, payload, number) !== head.readBigUInt64LE(16))
        throw damaged(path, position, 'a checksum is wrong')
      last = head.readUInt8(4)
      const [version, type, lsn] = [head.readUInt8(5), head.readUInt16LE(6), Number(head.readBigUInt64LE(8))]
      yield { kind: last, type, version, lsn, payload, end: reader.position }
    }
    if (reader.position !== size) throw damaged(path, reader.position, 'there is data after its end')
  } finally {
    await file.close()
  }
}

/** Reads bytes in order in large blocks. Returned bytes do not change later. */
class BlockReader {
  readonly #file: FileHandle
  readonly #size: number
  #block = Buffer.alloc(0)
  #offset = 0
  position = 0

  constructor(file: FileHandle, size: number) {
    this.#file = file
    this.#size = size
  }

  async take(bytes: number): Promise<Buffer | undefined> {
    if (this.position + bytes > this.#size) return undefined
    if (this.#offset + bytes > this.#block.length) {
      const block = Buffer.allocUnsafeSlow(Math.min(this.#size - this.position, Math.max(bytes, flushBytes)))
      const { bytesRead } = await this.#file.read(block, 0, block.length, this.position)
      if (bytesRead < bytes) return undefined
      this.#block = block.subarray(0, bytesRead)
      this.#offset = 0
    }
    const taken = this.#block.subarray(this.#offset, this.#offset + bytes)
    this.#offset += bytes
    this.position += bytes
    return taken
  }
}

function sumOf(head: Buffer, payload: Buffer, number: bigint): bigint {
  return hasher.create64(number).update(head.subarray(0, 16)).update(payload).digest()
}

/** Typed arrays as plain arrays for JSON. */
function json(value: unknown): Buffer {
  const text = JSON.stringify(value, (_key, inner: unknown) =>
    ArrayBuffer.isView(inner) ? Array.from(inner as unknown as ArrayLike<number>) : inner,
  )
  return Buffer.from(text)
}

function temporary(path: string): string {
  return `${path}.part`
}

function damaged(path: string, offset: number, why: string): ReplayError {
  return new ReplayError('trace_damaged', `the trace ${path} is damaged at byte ${offset}: ${why}`, {
    file: path,
    offset,
  })
}
