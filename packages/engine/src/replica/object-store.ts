// The objects of a collection without their rows and filter index: id, meta, filter text, sparse terms. Records are in a heap, found by
// ordinal. The record of an object is written once, and again only when its filter is replaced.
//
//   record: | u32 bytes of meta | u32 bytes of filter | u32 sparse fields | meta | filter, zero padded to 4 |
//           then for each sparse field: | u32 field | u32 terms | u32 index of each term | f32 value of each term |
import { assert } from '../errors.ts'
import { ByteHeap } from '../memory/byte-heap.ts'
import type { SharedBytes } from '../memory/chunks.ts'
import { Column } from '../memory/column.ts'
import type { HashSeed } from '../memory/id-hash.ts'
import { IdTable } from '../memory/id-table.ts'
import type { DumpOptions, Section, SectionReader } from '../memory/sections.ts'

/** Bytes before the meta of a record. */
export const headBytes = 12
const textEncoder = new TextEncoder()
const noBytes = new Uint8Array(0)

/** The terms of an object in one sparse field, by ascending index. */
export interface SparseTermsOfField {
  readonly field: number
  readonly indices: Uint32Array
  readonly values: Float32Array
}

/** The parts of an object's record. */
export interface ObjectParts {
  readonly meta: Uint8Array
  readonly filter: string
  readonly sparse: readonly SparseTermsOfField[]
}

/** The memory in which readers of other threads find ids and records by ordinal. */
export interface ObjectChunks {
  readonly idAddresses: readonly SharedBytes[]
  readonly ids: readonly SharedBytes[]
  readonly recordAddresses: readonly SharedBytes[]
  readonly records: readonly SharedBytes[]
}

/** The ids and records of the objects of one collection. */
export class ObjectStore {
  readonly #ids: IdTable
  readonly #records: ByteHeap
  /** Address of the record of each ordinal, divided by 8; 0 if there is none. */
  readonly #addresses: Column
  #ordinalEnd: number

  private constructor(ids: IdTable, records: ByteHeap, addresses: Column, ordinalEnd: number) {
    this.#ids = ids
    this.#records = records
    this.#addresses = addresses
    this.#ordinalEnd = ordinalEnd
  }

  static empty(seed: HashSeed): ObjectStore {
    return new ObjectStore(new IdTable(seed), new ByteHeap(), new Column('u32'), 0)
  }

  get count(): number {
    return this.#ids.count
  }

  /** All ordinals assigned so far are below this. */
  get ordinalEnd(): number {
    return this.#ordinalEnd
  }

  /** The ordinal of an id, or -1. */
  find(id: string): number {
    return this.#ids.find(id)
  }

  /** The id of an ordinal, also after its removal until it is released. */
  idAt(ordinal: number): string {
    const id = this.#ids.idAt(ordinal)
    assert(id !== undefined, `ordinal ${ordinal} has an id`)
    return id
  }

  /** Reserves memory for `objects` more, so that writing them cannot fail. Throws EngineError memory_exhausted. */
  reserve(objects: number, idBytes: number, recordBytes: number): void {
    const end = this.#ordinalEnd + objects
    this.#ids.reserve(objects, idBytes, end)
    this.#records.reserve(objects, recordBytes)
    this.#addresses.ensure(end)
  }

  /** Writes an object under a new ordinal and maps its id to it. Returns the previous ordinal of the id, or -1. */
  put(ordinal: number, id: string, parts: ObjectParts): number {
    const before = this.#ids.find(id)
    if (before < 0) this.#ids.insert(id, ordinal)
    else this.#ids.replace(id, ordinal)
    this.#write(ordinal, parts)
    this.#ordinalEnd = Math.max(this.#ordinalEnd, ordinal + 1)
    return before
  }

  /** Removes an id. The content of its ordinal stays readable until it is released. Returns the ordinal, or -1. */
  remove(id: string): number {
    return this.#ids.remove(id)
  }

  /** Frees the content of a removed or replaced ordinal. */
  release(ordinal: number): void {
    this.#records.free(this.#addressOf(ordinal))
    this.#addresses.set(ordinal, 0)
    this.#ids.release(ordinal)
  }

  replaceFilter(ordinal: number, filter: string): void {
    // Copied, because their record is freed before the new one is written.
    const meta = this.meta(ordinal).slice()
    const sparse = this.sparse(ordinal)
    this.#records.free(this.#addressOf(ordinal))
    this.#write(ordinal, { meta, filter, sparse })
  }

  recordBytesAt(ordinal: number): number {
    return this.#read(ordinal).bytes.length
  }

  /** Bytes of the meta and filter of an ordinal. */
  textBytesAt(ordinal: number): number {
    const address = this.#addressOf(ordinal)
    return this.#records.wordAt(address, 0) + this.#records.wordAt(address, 4)
  }

  /** A view of the meta; valid until the object changes. */
  meta(ordinal: number): Uint8Array {
    const record = this.#read(ordinal)
    return record.bytes.subarray(headBytes, headBytes + record.metaBytes)
  }

  filterText(ordinal: number): string {
    const address = this.#addressOf(ordinal)
    const length = this.#records.wordAt(address, 4)
    // JSON of two bytes is always the empty object, which nearly every object without filter values has.
    if (length === 2) return '{}'
    return length === 0 ? '' : this.#records.readTextAt(address, headBytes + this.#records.wordAt(address, 0), length)
  }

  /** A copy of the meta. */
  metaCopy(ordinal: number): Uint8Array {
    const address = this.#addressOf(ordinal)
    const length = this.#records.wordAt(address, 0)
    return length === 0 ? noBytes : this.#records.copyAt(address, headBytes, length)
  }

  /** Copies of the sparse terms, by field. */
  sparse(ordinal: number): SparseTermsOfField[] {
    const { bytes, metaBytes, filterBytes, sparseFields } = this.#read(ordinal)
    const rest = bytes.slice(headBytes + padded(metaBytes + filterBytes))
    const words = new Uint32Array(rest.buffer)
    const found: SparseTermsOfField[] = []
    for (let index = 0, i = 0; i < sparseFields; i++) {
      const field = words[index] as number
      const terms = words[index + 1] as number
      const values = new Float32Array(rest.buffer, (index + 2 + terms) * 4, terms)
      found.push({ field, indices: words.slice(index + 2, index + 2 + terms), values: values.slice() })
      index += 2 + 2 * terms
    }
    return found
  }

  get chunks(): ObjectChunks {
    const { addresses, ids } = this.#ids.chunks
    return { idAddresses: addresses, ids, recordAddresses: this.#addresses.chunks, records: this.#records.chunks }
  }

  bytes(): { readonly ids: number; readonly idTable: number; readonly objects: number } {
    const { ids, table } = this.#ids.bytes()
    return { ids, idTable: table + this.#addresses.bytes(), objects: this.#records.bytes() }
  }

  dump(name: string, options: DumpOptions = {}): Section[] {
    return [
      ...this.#ids.dump(`${name}.ids`, options),
      this.#records.dump(`${name}.records`, options),
      this.#addresses.dump(`${name}.addresses`, this.#ordinalEnd, options),
    ]
  }

  static async load(reader: SectionReader, name: string, ordinalEnd: number): Promise<ObjectStore> {
    const ids = await IdTable.load(reader, `${name}.ids`)
    const records = await ByteHeap.load(reader, `${name}.records`)
    const addresses = await Column.load(reader, `${name}.addresses`, 'u32', ordinalEnd)
    return new ObjectStore(ids, records, addresses, ordinalEnd)
  }

  #addressOf(ordinal: number): number {
    const address = this.#addresses.get(ordinal)
    assert(address !== 0, `ordinal ${ordinal} has a record`)
    return address * 8
  }

  #write(ordinal: number, parts: ObjectParts): void {
    this.#addresses.set(ordinal, this.#records.write(recordOf(parts)) / 8)
  }

  #read(ordinal: number): { bytes: Uint8Array; metaBytes: number; filterBytes: number; sparseFields: number } {
    const bytes = this.#records.read(this.#addressOf(ordinal))
    const head = new DataView(bytes.buffer, bytes.byteOffset, headBytes)
    return {
      bytes,
      metaBytes: head.getUint32(0, true),
      filterBytes: head.getUint32(4, true),
      sparseFields: head.getUint32(8, true),
    }
  }
}

/** Records up to about this size share one buffer, because an allocation for each costs more than writing it. */
const scratchBytes = 65_536
const scratch = new Uint8Array(scratchBytes)

/** The record is valid until the next call. */
function recordOf({ meta, filter, sparse }: ObjectParts): Uint8Array {
  const sparseBytes = sparse.reduce((sum, { indices }) => sum + 8 + indices.length * 8, 0)
  // One unit of a text takes at most three bytes.
  const bytesMax = headBytes + padded(meta.length + 3 * filter.length) + sparseBytes
  const bytes = bytesMax <= scratchBytes ? scratch : new Uint8Array(bytesMax)
  const textAt = headBytes + meta.length
  const { written } = textEncoder.encodeInto(filter, bytes.subarray(textAt))
  const sparseAt = headBytes + padded(meta.length + written)
  new Uint32Array(bytes.buffer, 0, 3).set([meta.length, written, sparse.length])
  bytes.set(meta, headBytes)
  bytes.fill(0, textAt + written, sparseAt)
  let offset = sparseAt
  for (const { field, indices, values } of sparse) {
    new Uint32Array(bytes.buffer, offset, 2).set([field, indices.length])
    new Uint32Array(bytes.buffer, offset + 8, indices.length).set(indices)
    new Float32Array(bytes.buffer, offset + 8 + indices.length * 4, indices.length).set(values)
    offset += 8 + indices.length * 8
  }
  return bytes.subarray(0, offset)
}

/** Bytes of a record, for reserving memory. */
export function recordBytes(meta: number, filter: number, sparseTerms: number, sparseFields: number): number {
  return headBytes + padded(meta + filter) + sparseFields * 8 + sparseTerms * 8
}

function padded(length: number): number {
  return Math.ceil(length / 4) * 4
}
