// The newest requests of one serving thread, in memory that the main thread reads. The main thread needs no answer of the thread, so the
// requests of a thread that is stuck or has ended are shown too. Writing a request allocates nothing.
import type { LoggedRequest } from './request-log.ts'

/**
 *     header  16 bytes: number of requests written (u32)
 *     slot    512 bytes each:
 *             0  sequence (u32), odd while the slot is written, 0 if it never was
 *             4  status (u16)   6  lengths of method and database (u8, u8)
 *             8  time in milliseconds since 1970 (f64)   16  seconds (f64)
 *             24 lengths of collection and path (u16, u16)
 *             28 method, database, collection, path in UTF-8
 *
 * All numbers are little-endian. A reader takes the sequence before and after it reads a slot; if it changed or is odd, it reads again.
 */
const headerBytes = 16
const slotBytes = 512
const textAt = 28
/** More of a path is never shown (request-log.ts). */
const pathBytesMax = 300
const nameBytesMax = 72
const methodBytesMax = 16
/** A thread can be ended while it writes a slot. */
const readsMax = 100

interface RequestTexts {
  readonly method: string
  readonly path: string
  readonly database: string
  readonly collection: string
}

/** The texts of a request as they are in a slot. */
interface EncodedTexts {
  readonly texts: RequestTexts
  readonly bytes: Uint8Array
  readonly methodBytes: number
  readonly databaseBytes: number
  readonly collectionBytes: number
  readonly pathBytes: number
}

export class RequestRing {
  /** Given to another thread, which makes its own RequestRing of it. */
  readonly memory: SharedArrayBuffer
  readonly #sequences: Int32Array
  readonly #view: DataView
  readonly #bytes: Buffer
  readonly #slots: number
  /** Of the last request: most requests of a thread repeat them. */
  #texts = encode({ method: '', path: '', database: '', collection: '' })

  /** The ring of `memory`, or a new one of `slots` requests. */
  constructor(memory: SharedArrayBuffer | { readonly slots: number }) {
    this.memory =
      memory instanceof SharedArrayBuffer ? memory : new SharedArrayBuffer(headerBytes + memory.slots * slotBytes)
    this.#sequences = new Int32Array(this.memory)
    this.#view = new DataView(this.memory)
    this.#bytes = Buffer.from(this.memory)
    this.#slots = (this.memory.byteLength - headerBytes) / slotBytes
  }

  /** Called by one thread only. */
  add({ timeMs, method, path, database = '', collection = '', status, seconds }: LoggedRequest): void {
    const written = Atomics.load(this.#sequences, 0)
    const slot = headerBytes + ((written >>> 0) % this.#slots) * slotBytes
    // Odd, also if a thread was ended while it wrote this slot.
    const sequence = Atomics.load(this.#sequences, slot / 4) | 1
    Atomics.store(this.#sequences, slot / 4, sequence)
    const texts = isSame(this.#texts, { method, path, database, collection })
      ? this.#texts
      : encode({ method, path, database, collection })
    this.#texts = texts
    this.#bytes.set(texts.bytes, slot + textAt)
    const view = this.#view
    view.setUint16(slot + 4, status, true)
    view.setFloat64(slot + 8, timeMs, true)
    view.setFloat64(slot + 16, seconds, true)
    view.setUint8(slot + 6, texts.methodBytes)
    view.setUint8(slot + 7, texts.databaseBytes)
    view.setUint16(slot + 24, texts.collectionBytes, true)
    view.setUint16(slot + 26, texts.pathBytes, true)
    Atomics.store(this.#sequences, slot / 4, (sequence + 1) | 0)
    Atomics.store(this.#sequences, 0, (written + 1) | 0)
  }

  /** The requests in the ring, in no particular order. */
  requests(): LoggedRequest[] {
    const found: LoggedRequest[] = []
    for (let index = 0; index < this.#slots; index++) {
      const request = this.#read(headerBytes + index * slotBytes)
      if (request !== undefined) found.push(request)
    }
    return found
  }

  #read(slot: number): LoggedRequest | undefined {
    for (let reads = 0; reads < readsMax; reads++) {
      const sequence = Atomics.load(this.#sequences, slot / 4)
      if (sequence === 0) return undefined
      if (sequence % 2 !== 0) continue
      const request = this.#decode(slot)
      if (Atomics.load(this.#sequences, slot / 4) === sequence) return request
    }
    return undefined
  }

  #decode(slot: number): LoggedRequest {
    const view = this.#view
    let end = slot + textAt
    const text = (length: number): string => {
      const begin = end
      end = Math.min(begin + length, slot + slotBytes)
      return this.#bytes.toString('utf8', begin, end)
    }
    const [method, database] = [text(view.getUint8(slot + 6)), text(view.getUint8(slot + 7))]
    const [collection, path] = [text(view.getUint16(slot + 24, true)), text(view.getUint16(slot + 26, true))]
    return {
      ...{ method, path, status: view.getUint16(slot + 4, true) },
      timeMs: view.getFloat64(slot + 8, true),
      seconds: view.getFloat64(slot + 16, true),
      database: database === '' ? undefined : database,
      collection: collection === '' ? undefined : collection,
    }
  }
}

function isSame({ texts }: EncodedTexts, { method, path, database, collection }: RequestTexts): boolean {
  return (
    texts.path === path && texts.method === method && texts.database === database && texts.collection === collection
  )
}

function encode(texts: RequestTexts): EncodedTexts {
  const bytes = Buffer.allocUnsafe(slotBytes - textAt)
  let end = 0
  const append = (text: string, bytesMax: number): number => {
    const length = bytes.write(text, end, bytesMax)
    end += length
    return length
  }
  const methodBytes = append(texts.method, methodBytesMax)
  const databaseBytes = append(texts.database, nameBytesMax)
  const collectionBytes = append(texts.collection, nameBytesMax)
  const pathBytes = append(texts.path, pathBytesMax)
  return { texts, bytes: bytes.subarray(0, end), methodBytes, databaseBytes, collectionBytes, pathBytes }
}
