// The indices of a sparse field, with their numbers of rows and the addresses of their lists. Each has a number, so the index space may have
import { assert } from '../../errors.ts'
import { Column } from '../../memory/column.ts'
import { HashPages } from '../../memory/hash-pages.ts'
import { elementAt } from '../element-at.ts'
import type { Directory, SinglePosting } from './lists.ts'

const singleBit = 1
const aliveBit = 2
const ordinalShift = 2

const weight = new Float32Array(1)
const weightBits = new Uint32Array(weight.buffer)

export class Vocabulary {
  readonly #indices = new Column('u32')
  readonly #directories = new Column('u32')
  readonly #rows = new Column('u32')
  readonly #free: number[] = []
  #wanted = 0
  #end = 0
  readonly #pages = new HashPages((term) => this.#indices.get(term) === this.#wanted)

  /** Number of indices that have postings, including those of removed rows. */
  get count(): number {
    return this.#end - this.#free.length
  }

  /**
   * ^32 indices. The number is reused after the last posting is gone. For a term with one posting, both columns hold the posting itself,
   * because most terms of a large vocabulary have only one: directories address of the directory, a multiple of 16 | ordinal << 2 | whether
   * its row is alive << 1 | 1 rows live rows | bits of the weight
   */
  find(index: number): number {
    this.#wanted = index
    const slot = this.#pages.find(hashOf(index))
    return slot < 0 ? -1 : this.#pages.ordinalAt(slot)
  }

  findOrAdd(index: number): number {
    const known = this.find(index)
    if (known >= 0) return known
    const term = this.#free.pop() ?? this.#end++
    this.#indices.set(term, index)
    this.#directories.set(term, 0)
    this.#rows.set(term, 0)
    this.#pages.add(hashOf(index), term)
    return term
  }

  remove(term: number): void {
    this.#wanted = this.#indices.get(term)
    this.#pages.remove(this.#pages.find(hashOf(this.#wanted)))
    this.#directories.set(term, 0)
    this.#free.push(term)
  }

  /** Whether the term has a posting. */
  hasPostings(term: number): boolean {
    return this.#directories.get(term) !== 0
  }

  /** 0 if the term has no list: no posting, or a single one. */
  directory(term: number): Directory {
    const place = this.#directories.get(term)
    return (place & singleBit) === 0 ? place : 0
  }

  setDirectory(term: number, directory: Directory): void {
    const rows = this.rows(term)
    this.#directories.set(term, directory)
    this.#rows.set(term, rows)
  }

  /** The posting of a term with one posting and no list. */
  single(term: number): SinglePosting | undefined {
    const place = this.#directories.get(term)
    if ((place & singleBit) === 0) return undefined
    weightBits[0] = this.#rows.get(term)
    return { ordinal: place >>> ordinalShift, weight: elementAt(weight, 0) }
  }

  setSingle(term: number, { ordinal, weight: value }: SinglePosting): void {
    const rows = this.rows(term)
    assert(rows <= 1, 'a term of one posting is in one row')
    this.#directories.set(term, ((ordinal << ordinalShift) | (rows * aliveBit) | singleBit) >>> 0)
    weight[0] = value
    this.#rows.set(term, elementAt(weightBits, 0))
  }

  /** Number of live rows with the index. */
  rows(term: number): number {
    const place = this.#directories.get(term)
    return (place & singleBit) === 0 ? this.#rows.get(term) : (place & aliveBit) / aliveBit
  }

  setRows(term: number, rows: number): void {
    const place = this.#directories.get(term)
    if ((place & singleBit) === 0) {
      this.#rows.set(term, rows)
      return
    }
    assert(rows === 0 || rows === 1, 'a term of one posting is in one row')
    this.#directories.set(term, (place & ~aliveBit) | (rows * aliveBit))
  }

  /** All numbers assigned so far are below this. */
  get end(): number {
    return this.#end
  }

  /** The indices that have a list, for the numbers from `from` up to `to`. */
  indicesOf(from: number, to: number): Uint32Array {
    const found: number[] = []
    for (let term = from; term < Math.min(to, this.#end); term++)
      if (this.hasPostings(term)) found.push(this.#indices.get(term))
    return Uint32Array.from(found)
  }

  has(index: number): boolean {
    const term = this.find(index)
    return term >= 0 && this.hasPostings(term)
  }
  indexOf(term: number): number {
    return this.#indices.get(term)
  }

  bytes(): number {
    return this.#pages.bytes() + this.#indices.bytes() + this.#directories.bytes() + this.#rows.bytes()
  }
}

/** Indices often occur in runs, which must not affect the first bits of the hash. */
function hashOf(index: number): number {
  let h = Math.imul(index ^ (index >>> 16), 0x21f0aaad)
  h = Math.imul(h ^ (h >>> 15), 0x735a2d97)
  return (h ^ (h >>> 15)) >>> 0
}
