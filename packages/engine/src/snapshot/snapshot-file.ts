// Writes one file of a snapshot (snapshot-format.ts). It does not interpret the bytes.
import { type SteadyPace, type Vfs, type VfsFile, writeFully } from '@annal/wal'
import { xxh64, xxh64Stream } from '../memory/xxh64.ts'
import {
  chunkBytesMax,
  chunkHeadBytes,
  footerOf,
  headerOf,
  type SnapshotFileFacts,
  type SnapshotHead,
} from './snapshot-format.ts'

/** The file is synced in steps of this size, so that a sync of the log never waits behind more of it. */
const unsyncedBytesMax = 4 * 1024 * 1024
/** Size of the first chunk, which grows: most files of small collections never fill one. */
const chunkBytesFirst = 16 * 1024

/**
 * Writes a new file and makes its bytes durable; the name becomes durable with the directory. Pieces may be live
 * memory: each one is copied in the turn that yields it.
 */
export async function writeSnapshotFile(
  vfs: Vfs,
  path: string,
  head: SnapshotHead,
  pieces: Iterable<Uint8Array> | AsyncIterable<Uint8Array>,
  pace: SteadyPace,
): Promise<SnapshotFileFacts> {
  const file = await vfs.open(path, 'create')
  try {
    const out = new ChunkWriter(file, pace)
    await out.header(head)
    if (Symbol.iterator in pieces) {
      // Not `for await`, which would let other work run between a piece and its copy.
      for (const piece of pieces) await out.write(piece)
    } else for await (const piece of pieces) await out.write(piece)
    return await out.finish()
  } finally {
    await file.close()
  }
}

class ChunkWriter {
  readonly #file: VfsFile
  readonly #pace: SteadyPace
  readonly #sums = xxh64Stream()
  readonly #full: Uint8Array[] = []
  readonly #spare: Uint8Array[] = []
  #chunk: Uint8Array = newChunk(chunkBytesFirst)
  #filled = 0
  #position = 0
  #unsynced = 0
  #chunks = 0
  #total = 0

  constructor(file: VfsFile, pace: SteadyPace) {
    this.#file = file
    this.#pace = pace
  }

  async header(head: SnapshotHead): Promise<void> {
    await this.#put(headerOf(head))
  }

  /** Copies the piece before the first await. */
  write(piece: Uint8Array): Promise<void> {
    this.#add(piece)
    return this.#writeFull()
  }

  #add(piece: Uint8Array): void {
    for (let offset = 0; offset < piece.length; ) {
      const taken = Math.min(piece.length - offset, chunkBytesMax - this.#filled)
      this.#makeRoom(this.#filled + taken)
      this.#chunk.set(piece.subarray(offset, offset + taken), chunkHeadBytes + this.#filled)
      this.#filled += taken
      offset += taken
      if (this.#filled < chunkBytesMax) continue
      this.#full.push(this.#chunk)
      this.#chunk = this.#spare.pop() ?? newChunk(chunkBytesMax)
      this.#filled = 0
    }
  }

  #makeRoom(bytes: number): void {
    const room = this.#chunk.length - chunkHeadBytes
    if (bytes <= room) return
    const bigger = newChunk(Math.min(chunkBytesMax, Math.max(bytes, 2 * room)))
    bigger.set(this.#chunk)
    this.#chunk = bigger
  }

  async #writeFull(): Promise<void> {
    for (let chunk = this.#full.shift(); chunk; chunk = this.#full.shift()) {
      await this.#writeChunk(chunk)
      this.#spare.push(chunk)
      await this.#pace.spend(chunk.length)
    }
  }

  async finish(): Promise<SnapshotFileFacts> {
    if (this.#filled > 0) await this.#writeChunk(this.#chunk.subarray(0, chunkHeadBytes + this.#filled))
    const sum = this.#sums.digest()
    await this.#put(footerOf({ chunks: this.#chunks, total: this.#total, sum }))
    await this.#file.datasync()
    return { bytes: this.#position, sum: sum.toString(16).padStart(16, '0') }
  }

  async #writeChunk(chunk: Uint8Array): Promise<void> {
    const bytes = chunk.subarray(chunkHeadBytes)
    const view = new DataView(chunk.buffer)
    view.setUint32(0, bytes.length, true)
    view.setUint32(4, this.#chunks, true)
    // The chunk number is the seed, so that swapped chunks are detected.
    view.setBigUint64(8, xxh64(bytes, BigInt(this.#chunks)), true)
    this.#sums.update(chunk.subarray(8, chunkHeadBytes))
    this.#chunks++
    this.#total += bytes.length
    await this.#put(chunk)
  }

  async #put(bytes: Uint8Array): Promise<void> {
    await writeFully(this.#file, bytes, this.#position)
    this.#position += bytes.length
    this.#unsynced += bytes.length
    if (this.#unsynced < unsyncedBytesMax) return
    this.#unsynced = 0
    await this.#file.datasync()
  }
}

function newChunk(bytes: number): Uint8Array {
  return new Uint8Array(chunkHeadBytes + bytes)
}
