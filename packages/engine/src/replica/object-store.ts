// The objects of a collection without their rows and filter index: id, meta, filter text, sparse terms, and the LSN that last wrote each.
// Records are in a heap, found by ordinal. The record of an object is written once, and again only when its filter is replaced.
// object-record.ts has its layout.

import { assert } from '../errors.ts'
import { ByteHeap } from '../memory/byte-heap.ts'
import type { SharedBytes } from '../memory/chunks.ts'
import { Column } from '../memory/column.ts'
import type { Copies } from '../memory/copies.ts'
import type { PagesShape } from '../memory/hash-pages.ts'
import type { HashSeed } from '../memory/id-hash.ts'
import { IdTable } from '../memory/id-table.ts'
import type { DumpOptions, Section, SectionReader } from '../memory/sections.ts'
import { KeptTokens, type TextTokens } from '../text/kept-tokens.ts'
import type { Analyzer } from '../text/params.ts'
import {
  headBytes,
  type ObjectParts,
  recordOf,
  type SparseTermsOfField,
  sparseStart,
  sparseTermsIn,
} from './object-record.ts'

const noBytes = new Uint8Array(0)

/** The memory in which readers of other threads find ids and records by ordinal. */
export interface ObjectChunks {
  readonly idAddresses: readonly SharedBytes[]
  readonly ids: readonly SharedBytes[]
  readonly recordAddresses: readonly SharedBytes[]
  readonly records: readonly SharedBytes[]
  readonly lsns: readonly SharedBytes[]
  /** Pages of the table that leads from ids to ordinals. */
  readonly idPages: readonly SharedBytes[]
}

/** How the hash of an id leads to a page. */
export interface IdLookup {
  readonly seed: HashSeed
  readonly shape: PagesShape
}

/** The ids and records of the objects of one collection. */
export class ObjectStore {
  readonly #ids: IdTable
  readonly #records: ByteHeap
  /** Address of the record of each ordinal, divided by 8; 0 if there is none. */
  readonly #addresses: Column
  /** LSN of the record of the log that last wrote the object of each ordinal; 0 if that is unknown. No part of the state. */
  readonly #lsns: Column
  #ordinalEnd: number
  readonly #tokens = new KeptTokens()

  private constructor(ids: IdTable, records: ByteHeap, addresses: Column, lsns: Column, ordinalEnd: number) {
    this.#ids = ids
    this.#records = records
    this.#addresses = addresses
    this.#lsns = lsns
    this.#ordinalEnd = ordinalEnd
  }

  static empty(seed: HashSeed): ObjectStore {
    return new ObjectStore(new IdTable(seed), new ByteHeap(), new Column('u32'), new Column('f64'), 0)
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
    this.#lsns.ensure(end)
  }

  /** Writes an object under a new ordinal and maps its id to it. Returns the previous ordinal of the id, or -1. */
  put(ordinal: number, id: string, parts: ObjectParts, lsn: number): number {
    const before = this.#ids.find(id)
    if (before < 0) this.#ids.insert(id, ordinal)
    else this.#ids.replace(id, ordinal)
    this.#tokens.forget(ordinal)
    this.#write(ordinal, parts)
    this.#lsns.set(ordinal, lsn)
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

  /** Without `meta` the object keeps its own. */
  replaceText(ordinal: number, text: { readonly filter: string; readonly meta?: Uint8Array }, lsn: number): void {
    const { filter } = text
    // Copied, because their record is freed before the new one is written.
    const meta = text.meta ?? this.meta(ordinal).slice()
    const sparse = this.sparse(ordinal)
    this.#records.free(this.#addressOf(ordinal))
    this.#write(ordinal, { meta, filter, sparse })
    this.#lsns.set(ordinal, lsn)
  }

  /** LSN of the record of the log that last wrote the object; 0 if that is unknown. */
  lsnAt(ordinal: number): number {
    return this.#lsns.get(ordinal)
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
  metaCopy(ordinal: number, copies?: Copies): Uint8Array {
    const address = this.#addressOf(ordinal)
    const length = this.#records.wordAt(address, 0)
    return length === 0 ? noBytes : this.#records.copyAt(address, headBytes, length, copies)
  }

  /** Copies of the sparse terms, by field. */
  sparse(ordinal: number): SparseTermsOfField[] {
    const { bytes, metaBytes, filterBytes, sparseFields } = this.#read(ordinal)
    if (sparseFields === 0) return []
    const terms = sparseTermsIn(bytes.slice(sparseStart(metaBytes + filterBytes)), sparseFields)
    if (terms === undefined) assert(false, `the record of ordinal ${ordinal} is whole`)
    return terms
  }

  /** The tokens of a text, if they are kept. */
  keptTokens(ordinal: number, field: number): TextTokens | undefined {
    return this.#tokens.find(field, ordinal)
  }

  /** Splits the text of an object, and keeps the tokens if there is room. */
  tokensOf(ordinal: number, field: number, analyzer: Analyzer, text: string): TextTokens {
    return this.#tokens.analyze(field, ordinal, analyzer, text)
  }

  get chunks(): ObjectChunks {
    const { addresses, ids, pages } = this.#ids.chunks
    return {
      idAddresses: addresses,
      ids,
      recordAddresses: this.#addresses.chunks,
      records: this.#records.chunks,
      lsns: this.#lsns.chunks,
      idPages: pages,
    }
  }

  get idLookup(): IdLookup {
    return this.#ids
  }

  bytes(): { readonly ids: number; readonly idTable: number; readonly objects: number; readonly lsns: number } {
    const { ids, table } = this.#ids.bytes()
    return { ids, idTable: table + this.#addresses.bytes(), objects: this.#records.bytes(), lsns: this.#lsns.bytes() }
  }

  dump(name: string, options: DumpOptions = {}): Section[] {
    return [
      ...this.#ids.dump(`${name}.ids`, options),
      this.#records.dump(`${name}.records`, options),
      this.#addresses.dump(`${name}.addresses`, this.#ordinalEnd, options),
    ]
  }

  /** The LSNs of the objects; `dump` has everything else. */
  dumpLsns(name: string, options: DumpOptions = {}): Section {
    return this.#lsns.dump(name, this.#ordinalEnd, options)
  }

  /** `lsns` is the column that `dumpLsns` wrote. Without it the LSNs are unknown. */
  static async load(
    reader: SectionReader,
    name: string,
    ordinalEnd: number,
    lsns = new Column('f64'),
  ): Promise<ObjectStore> {
    const ids = await IdTable.load(reader, `${name}.ids`)
    const records = await ByteHeap.load(reader, `${name}.records`)
    const addresses = await Column.load(reader, `${name}.addresses`, 'u32', ordinalEnd)
    return new ObjectStore(ids, records, addresses, lsns, ordinalEnd)
  }

  #addressOf(ordinal: number): number {
    const address = this.#addresses.get(ordinal)
    // Phrases read thousands of records, so the message is made only if it is needed.
    if (address === 0) assert(false, `ordinal ${ordinal} has a record`)
    return address * 8
  }

  #write(ordinal: number, parts: ObjectParts): void {
    this.#addresses.set(ordinal, this.#records.write(recordOf(parts)) / 8)
  }

  #read(ordinal: number): {
    bytes: Uint8Array<SharedArrayBuffer>
    metaBytes: number
    filterBytes: number
    sparseFields: number
  } {
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
