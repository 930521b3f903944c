// The records of one collection after its snapshot, in a file with the framing of a snapshot file:
//
//   record: | payload bytes u32 | type u16 | version u16 | LSN f64 | payload |   little endian
import type { LogRecord, Lsn, Vfs } from '@annal/wal'
import { IdlePace, payloadBytesMax, SteadyPace } from '@annal/wal'
import { EngineError } from '../../errors.ts'
import { writeSnapshotFile } from '../../snapshot/snapshot-file.ts'
import type { SnapshotFileFacts } from '../../snapshot/snapshot-format.ts'
import { readSnapshotFile } from '../../snapshot/snapshot-source.ts'
import { tailPart } from './image.ts'

const headBytes = 16

/** Writes records in the given order; returns their number. */
export async function writeTail(
  vfs: Vfs,
  path: string,
  identity: { readonly collectionId: number; readonly lsn: number },
  records: AsyncIterable<LogRecord>,
): Promise<SnapshotFileFacts & { readonly records: number }> {
  let count = 0
  const pace = new IdlePace()
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for await (const { lsn, type, version, payload } of records) {
      const head = new DataView(new ArrayBuffer(headBytes))
      head.setUint32(0, payload.length, true)
      head.setUint16(4, type, true)
      head.setUint16(6, version, true)
      head.setFloat64(8, lsn, true)
      yield new Uint8Array(head.buffer)
      yield payload
      count++
      await pace.spend(headBytes + payload.length)
    }
  }
  const facts = await writeSnapshotFile(
    vfs,
    path,
    { ...identity, part: tailPart },
    pieces(),
    new SteadyPace({ hurried: true }),
  )
  return { ...facts, records: count }
}

/** Throws snapshot_damaged when the file changed. Payload memory is never reused. */
export async function* readTail(
  vfs: Pick<Vfs, 'open'>,
  path: string,
  expected: { readonly collectionId: number; readonly lsn: number } & SnapshotFileFacts,
): AsyncGenerator<LogRecord> {
  const { collectionId, lsn, bytes, sum } = expected
  const source = new ByteQueue(readSnapshotFile(vfs, path, { collectionId, lsn, bytes, sum, part: tailPart }))
  for (;;) {
    const head = await source.take(headBytes)
    if (head === undefined) return
    const view = new DataView(head.buffer, head.byteOffset)
    const length = view.getUint32(0, true)
    const payload = length <= payloadBytesMax ? await source.take(length) : undefined
    if (payload === undefined && length > 0)
      throw new EngineError('snapshot_damaged', `a record of ${length} bytes in ${path} is incomplete`, { file: path })
    // The value was read and checked, so the brand is applied here.
    yield {
      lsn: view.getFloat64(8, true) as Lsn,
      type: view.getUint16(4, true),
      version: view.getUint16(6, true),
      payload: payload ?? new Uint8Array(0),
    }
  }
}

/** Takes exact numbers of bytes from a stream of chunks. */
class ByteQueue {
  readonly #chunks: AsyncIterator<Uint8Array>
  #chunk: Uint8Array = new Uint8Array(0)

  constructor(chunks: AsyncIterable<Uint8Array>) {
    this.#chunks = chunks[Symbol.asyncIterator]()
  }

  /** Undefined at the end. */
  async take(bytes: number): Promise<Uint8Array | undefined> {
    const taken = new Uint8Array(Math.min(bytes, payloadBytesMax))
    for (let done = 0; done < bytes; ) {
      if (this.#chunk.length === 0) {
        const next = await this.#chunks.next()
        if (next.done === true) return undefined
        this.#chunk = next.value
      }
      const part = this.#chunk.subarray(0, bytes - done)
      taken.set(part, done)
      done += part.length
      this.#chunk = this.#chunk.subarray(part.length)
    }
    return taken
  }
}
