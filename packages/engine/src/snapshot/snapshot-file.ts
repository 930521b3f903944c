// One file of a snapshot: a header, chunks of at most 1 MiB that each carry their own checksum, and a footer that makes a
// short file as wrong as a changed one. It does not know what the bytes mean. Specified in docs/formats/snapshot.md.
//
//   header, 64 bytes:  | "ANNLSNAP" | u16 version | u16 oldest reader | u32 64 | u32 collection | u32 part | u64 LSN | zeros | u64 xxh64 of bytes 0..55 |
//   chunk:             | u32 bytes, 1..1 Mi | u32 number, 0 first | u64 xxh64 of bytes, seed = number | bytes |
//   footer:            | u32 0 | u32 chunks | u64 bytes in all | u64 xxh64 of all chunk sums in order |
//
// Little endian.
import { readFully, type Vfs, type VfsFile, writeFully } from '@annal/wal'
import { EngineError } from '../errors.ts'
import { xxh64, xxh64Stream } from '../memory/xxh64.ts'

const magic = 0x50414e534c4e4e41n // "ANNLSNAP" read as a little-endian number
const formatVersion = 1
const headerBytes = 64
const chunkHeadBytes = 16
const footerBytes = 24
const chunkBytesMax = 1 << 20

export interface SnapshotHead {
  readonly collectionId: number
  /** 0 for the objects, 1 + position for a field. */
  readonly part: number
  readonly lsn: number
}

export interface SnapshotFileFacts {
  readonly bytes: number
  /** xxh64 of all chunk sums, as hexadecimal digits. */
  readonly sum: string
}

/** Writes a new file and makes its bytes durable; the name becomes durable with the directory. */
export async function writeSnapshotFile(
  vfs: Vfs,
  path: string,
  head: SnapshotHead,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
): Promise<SnapshotFileFacts> {
  const file = await vfs.open(path, 'create')
  try {
    const out = new ChunkWriter(file)
    await out.header(head)
    for await (const piece of pieces) await out.write(piece)
    const facts = await out.finish()
    await file.datasync()
    return facts
  } finally {
    await file.close()
  }
}

class ChunkWriter {
  readonly #file: VfsFile
  readonly #chunk = new Uint8Array(chunkHeadBytes + chunkBytesMax)
  readonly #sums = xxh64Stream()
  #position = 0
  #filled = 0
  #chunks = 0
  #total = 0

  constructor(file: VfsFile) {
    this.#file = file
  }

  async header(head: SnapshotHead): Promise<void> {
    await this.#put(headerOf(head))
  }

  async write(piece: Uint8Array): Promise<void> {
    for (let at = 0; at < piece.length; ) {
      const taken = Math.min(piece.length - at, chunkBytesMax - this.#filled)
      this.#chunk.set(piece.subarray(at, at + taken), chunkHeadBytes + this.#filled)
      this.#filled += taken
      at += taken
      if (this.#filled === chunkBytesMax) await this.#flush()
    }
  }

  async finish(): Promise<SnapshotFileFacts> {
    if (this.#filled > 0) await this.#flush()
    const sum = this.#sums.digest()
    const footer = new Uint8Array(footerBytes)
    const view = new DataView(footer.buffer)
    view.setUint32(4, this.#chunks, true)
    view.setBigUint64(8, BigInt(this.#total), true)
    view.setBigUint64(16, sum, true)
    await this.#put(footer)
    return { bytes: this.#position, sum: sum.toString(16).padStart(16, '0') }
  }

  async #flush(): Promise<void> {
    const bytes = this.#chunk.subarray(0, chunkHeadBytes + this.#filled)
    const view = new DataView(bytes.buffer)
    view.setUint32(0, this.#filled, true)
    view.setUint32(4, this.#chunks, true)
    view.setBigUint64(8, chunkSum(this.#chunks, bytes.subarray(chunkHeadBytes)), true)
    this.#sums.update(bytes.subarray(8, 16))
    this.#chunks++
    this.#total += this.#filled
    this.#filled = 0
    await this.#put(bytes)
  }

  async #put(bytes: Uint8Array): Promise<void> {
    await writeFully(this.#file, bytes, this.#position)
    this.#position += bytes.length
  }
}

/** Reads the chunks of a file in order, each checked before it is given out. The piece given is used again for the next. */
export async function* readSnapshotFile(
  vfs: Vfs,
  path: string,
  expected: SnapshotHead & SnapshotFileFacts,
): AsyncGenerator<Uint8Array, void, undefined> {
  const file = await vfs.open(path, 'read')
  try {
    const size = await file.size()
    if (size !== expected.bytes) throw damaged(path, 0, `it has ${size} bytes, its manifest says ${expected.bytes}`)
    checkHeader(await readAt(file, path, 0, new Uint8Array(headerBytes)), path, expected)
    const buffer = new Uint8Array(chunkBytesMax)
    const head = new Uint8Array(footerBytes)
    const view = new DataView(head.buffer)
    const sums = xxh64Stream()
    let position = headerBytes
    let total = 0
    for (let number = 0; ; number++) {
      await readAt(file, path, position, head.subarray(0, chunkHeadBytes))
      const length = view.getUint32(0, true)
      if (view.getUint32(4, true) !== number || length > chunkBytesMax)
        throw damaged(path, position, `chunk ${number} does not start here`)
      if (length === 0) break
      const chunk = await readAt(file, path, position + chunkHeadBytes, buffer.subarray(0, length))
      if (chunkSum(number, chunk) !== view.getBigUint64(8, true))
        throw damaged(path, position, `the checksum of chunk ${number} is wrong`)
      sums.update(head.subarray(8, 16))
      position += chunkHeadBytes + length
      total += length
      yield chunk
    }
    await readAt(file, path, position, head)
    const sum = sums.digest()
    const claimed = { total: view.getBigUint64(8, true), sum: view.getBigUint64(16, true) }
    if (claimed.total !== BigInt(total) || claimed.sum !== sum || sum !== BigInt(`0x${expected.sum}`))
      throw damaged(path, position, 'its chunks are not those of its manifest')
  } finally {
    await file.close()
  }
}

function headerOf({ collectionId, part, lsn }: SnapshotHead): Uint8Array {
  const bytes = new Uint8Array(headerBytes)
  const view = new DataView(bytes.buffer)
  view.setBigUint64(0, magic, true)
  view.setUint16(8, formatVersion, true)
  view.setUint16(10, formatVersion, true)
  view.setUint32(12, headerBytes, true)
  view.setUint32(16, collectionId, true)
  view.setUint32(20, part, true)
  view.setBigUint64(24, BigInt(lsn), true)
  view.setBigUint64(56, xxh64(bytes.subarray(0, 56)), true)
  return bytes
}

function checkHeader(bytes: Uint8Array, path: string, expected: SnapshotHead): void {
  const view = new DataView(bytes.buffer)
  if (view.getBigUint64(0, true) !== magic || view.getBigUint64(56, true) !== xxh64(bytes.subarray(0, 56)))
    throw damaged(path, 0, 'its header is wrong')
  if (view.getUint16(10, true) > formatVersion) {
    throw new EngineError(
      'format_too_new',
      `${path} is of snapshot format ${view.getUint16(8, true)}, which needs a newer Annal`,
      { file: path },
    )
  }
  const wanted = headerOf(expected)
  if (bytes.some((byte, i) => byte !== wanted[i]))
    throw damaged(path, 0, 'it belongs to another collection, part or LSN')
}

function chunkSum(number: number, bytes: Uint8Array): bigint {
  // The number is the seed, so that chunks that change places are wrong, too.
  return xxh64(bytes, BigInt(number))
}

async function readAt(file: VfsFile, path: string, position: number, into: Uint8Array): Promise<Uint8Array> {
  const read = await readFully(file, into, position)
  if (read < into.length) throw damaged(path, position + read, 'it ends too early')
  return into
}

function damaged(path: string, offset: number, why: string): EngineError {
  return new EngineError('snapshot_damaged', `snapshot file ${path} is damaged at byte ${offset}: ${why}`, {
    file: path,
    offset,
  })
}
