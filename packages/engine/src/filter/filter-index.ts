// Finds the exact set of objects that match a filter. Every key is indexed automatically as objects arrive; nothing is
// declared. An array matches by any of its elements; null and objects only match $exists. A value of a different type
// than the condition does not match and is never an error. The same calls produce the same bytes.

import { filterKeysOfCollectionMax } from '../limits.ts'
import { Bitmap } from '../memory/bitmap.ts'
import { ByteHeap } from '../memory/byte-heap.ts'
import type { HashSeed } from '../memory/id-hash.ts'
import type { DumpOptions, Section, SectionReader } from '../memory/sections.ts'
import { TermTable } from '../memory/term-table.ts'
import type { JsonObject } from '../model/json.ts'
import { expiryKey } from '../model/stored-text.ts'
import type { Condition, Filter } from './condition.ts'
import { dumpKeys, loadKeys } from './dump-keys.ts'
import { matches } from './evaluate.ts'
import { type FilterNeeds, tooManyKeys } from './filter-needs.ts'
import { KeyIndex } from './key-index.ts'
import { Postings, postingsBytesMax } from './postings.ts'
import { ValuePages } from './value-pages.ts'
import type { ValueRun } from './value-run.ts'

export interface FilterMatches {
  /** Owned by the caller. */
  readonly bitmap: Bitmap
  readonly count: number
}

export class FilterIndex {
  #live = new Bitmap()
  #terms: TermTable
  #heap = new ByteHeap(postingsBytesMax)
  #pages = new ValuePages(new Postings(this.#heap))
  #keys = new Map<string, KeyIndex>()
  #nextKey = 1

  /** The seed is secret, so that an attacker cannot choose colliding strings. */
  constructor(seed: HashSeed) {
    this.#terms = new TermTable(seed)
  }

  /** Number of indexed objects, with or without filter values. */
  get count(): number {
    return this.#live.count
  }

  /** Number of distinct keys over all objects. */
  get keys(): number {
    return this.#keys.size - (this.#keys.has(expiryKey) ? 1 : 0)
  }

  /**
   * Checks that the values can be indexed and reserves the memory they usually need. Throws EngineError limit_exceeded
   * (too many distinct keys in the collection) or memory_exhausted.
   */
  reserve(needs: FilterNeeds, ordinalEnd: number): void {
    const { keys, entries, strings, bytes } = needs
    let addedKeys = 0
    for (const key of keys) if (!this.#keys.has(key)) addedKeys++
    if (addedKeys > 0 && this.#keys.size + addedKeys > filterKeysOfCollectionMax)
      throw tooManyKeys(`it has ${this.#keys.size} and these objects add ${addedKeys}`)
    this.#live.ensure(ordinalEnd)
    this.#terms.reserve(strings, bytes)
    this.#heap.reserve(entries + addedKeys * 4, entries * 32 + addedKeys * 128)
  }

  /** Indexes a new object; `values` is empty for one without filter values. */
  set(ordinal: number, values: JsonObject): void {
    this.#live.set(ordinal)
    for (const [key, value] of Object.entries(values)) this.#keyFor(key).set(ordinal, value)
  }

  /** Removes an object from the index; `values` must be those it was set with. */
  remove(ordinal: number, values: JsonObject): void {
    this.#live.clear(ordinal)
    for (const [key, value] of Object.entries(values)) {
      const index = this.#keys.get(key)
      if (index === undefined) continue
      index.remove(ordinal, value)
      if (index.isEmpty) this.#keys.delete(key)
    }
  }

  /** Returns the objects that match every condition. */
  evaluate(filter: Filter): FilterMatches {
    const all: Condition = { kind: 'and', conditions: filter }
    const bitmap = matches(all, { live: this.#live, keys: this.#keys, terms: this.#terms })
    return { bitmap, count: bitmap.count }
  }

  /**
   * Yields the strings, numbers and booleans stored under the key, with the number of objects for each. With `within`,
   * only its ordinals count.
   */
  *valuesOf(
    key: string,
    within: Bitmap | undefined,
  ): Generator<{ readonly value: string | number | boolean; readonly count: number }> {
    const index = this.#keys.get(key)
    for (const { value, count } of index?.run('string')?.counts(within?.words) ?? [])
      yield { value: this.#terms.textAt(value), count }
    yield* index?.run('number')?.counts(within?.words) ?? []
    for (const { value, count } of index?.run('boolean')?.counts(within?.words) ?? [])
      yield { value: value === 1, count }
  }

  /** The earliest expiry, in milliseconds since 1970; Infinity if no object has one. */
  get expiryFirst(): number {
    return this.#expiries?.lowest ?? Number.POSITIVE_INFINITY
  }

  /** The objects that expire at or before a time, and the earliest expiry after it. */
  expiredBy(timeMs: number): FilterMatches & { readonly nextMs: number } {
    const bitmap = new Bitmap(this.#live.words.length * 32)
    const bounds = { low: Number.NEGATIVE_INFINITY, high: timeMs, lowOpen: false, highOpen: false }
    this.#expiries?.collect(bounds, new Int32Array(bitmap.words.buffer))
    bitmap.recount()
    const nextMs = this.#expiries?.lowestAbove(timeMs) ?? Number.POSITIVE_INFINITY
    return { bitmap, count: bitmap.count, nextMs }
  }

  get #expiries(): ValueRun | undefined {
    return this.#keys.get(expiryKey)?.run('number')
  }

  /** Bytes allocated from the process, except a few hundred bytes for each distinct key. */
  bytes(): number {
    let sum = this.#live.bytes() + this.#terms.bytes() + this.#heap.bytes()
    for (const key of this.#keys.values()) sum += key.bytes()
    return sum
  }

  dump(name: string, options: DumpOptions = {}): Section[] {
    return [
      this.#live.dump(`${name}.live`),
      ...this.#terms.dump(`${name}.terms`, options),
      this.#heap.dump(`${name}.heap`, options),
      ...dumpKeys(`${name}.keys`, this.#keys, this.#nextKey),
    ]
  }

  static async load(reader: SectionReader, name: string): Promise<FilterIndex> {
    const index = new FilterIndex({ low: 0, high: 0 })
    index.#live = await Bitmap.load(reader, `${name}.live`)
    index.#terms = await TermTable.load(reader, `${name}.terms`)
    index.#heap = await ByteHeap.load(reader, `${name}.heap`, postingsBytesMax)
    index.#pages = new ValuePages(new Postings(index.#heap))
    const { keys, nextKey } = await loadKeys(reader, `${name}.keys`, {
      make: (id) => new KeyIndex(id, index.#pages, index.#terms),
      ordinalEnd: index.#live.words.length * 32,
    })
    index.#keys = keys
    index.#nextKey = nextKey
    return index
  }

  #keyFor(key: string): KeyIndex {
    const known = this.#keys.get(key)
    if (known !== undefined) return known
    const index = new KeyIndex(this.#nextKey++, this.#pages, this.#terms)
    this.#keys.set(key, index)
    return index
  }
}
