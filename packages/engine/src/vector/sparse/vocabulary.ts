// Which indices a sparse field has, in how many rows, and where their lists are. A number of its own for each, so that the
// index space may have 2^32 of them; the number is free again when the last posting is gone.
import { Column } from '../../memory/column.ts'
import { HashPages } from '../../memory/hash-pages.ts'

export class Vocabulary {
  readonly #indices = new Column('u32')
  readonly #directories = new Column('u32')
  readonly #rows = new Column('u32')
  readonly #free: number[] = []
  #wanted = 0
  #end = 0
  readonly #pages = new HashPages((term) => this.#indices.get(term) === this.#wanted)

  /** Indices that some row has, or had until a little while ago. */
  get count(): number {
    return this.#end - this.#free.length
  }

  /** Number of an index, or -1. */
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

  directory(term: number): number {
    return this.#directories.get(term)
  }
  setDirectory(term: number, directory: number): void {
    this.#directories.set(term, directory)
  }
  /** Rows alive that have the index. */
  rows(term: number): number {
    return this.#rows.get(term)
  }
  setRows(term: number, rows: number): void {
    this.#rows.set(term, rows)
  }

  /** All numbers given out so far are below it. */
  get end(): number {
    return this.#end
  }

  /** The indices that have a list, of the numbers from `from` up to `to`. */
  indicesOf(from: number, to: number): Uint32Array {
    const found: number[] = []
    for (let term = from; term < Math.min(to, this.#end); term++)
      if (this.#directories.get(term) !== 0) found.push(this.#indices.get(term))
    return Uint32Array.from(found)
  }

  has(index: number): boolean {
    const term = this.find(index)
    return term >= 0 && this.#directories.get(term) !== 0
  }
  indexOf(term: number): number {
    return this.#indices.get(term)
  }

  bytes(): number {
    return this.#pages.bytes() + this.#indices.bytes() + this.#directories.bytes() + this.#rows.bytes()
  }
}

/** Indices come in runs; the first bits of the hash must not. */
function hashOf(index: number): number {
  let h = Math.imul(index ^ (index >>> 16), 0x21f0aaad)
  h = Math.imul(h ^ (h >>> 15), 0x735a2d97)
  return (h ^ (h >>> 15)) >>> 0
}
