// Changes of the number of rows of each term by one event. They are kept until the next event or search starts, because searches of the
// previous version must not see them. Eight bytes for each term, of which one event may have millions.
import { Column } from '../../memory/column.ts'
import { elementAt } from '../element-at.ts'

const pieceTerms = 2 ** 16

export class TermChanges {
  /** By term, as 32-bit two's complement; 0 between events. */
  readonly #changes = new Column('u32')
  /** Changed terms, in pieces; a term may occur twice. */
  #pieces: Uint32Array[] = []
  #count = 0
  #taken = 0

  add(term: number, change: number): void {
    const before = this.#changes.get(term)
    if (before === 0) this.#push(term)
    this.#changes.set(term, (before + change) >>> 0)
  }

  /** Takes up to `termsMax` changes, oldest first. Returns whether none is left. */
  take(termsMax: number, each: (term: number, change: number) => void): boolean {
    const end = Math.min(this.#count, this.#taken + termsMax)
    for (; this.#taken < end; this.#taken++) {
      const term = elementAt(elementAt(this.#pieces, Math.floor(this.#taken / pieceTerms)), this.#taken % pieceTerms)
      const change = this.#changes.get(term) | 0
      if (change === 0) continue
      this.#changes.set(term, 0)
      each(term, change)
    }
    if (end < this.#count) return false
    this.#pieces = []
    this.#count = 0
    this.#taken = 0
    return true
  }

  bytes(): number {
    return this.#changes.bytes() + this.#pieces.length * pieceTerms * 4
  }

  #push(term: number): void {
    const place = this.#count % pieceTerms
    if (place === 0) this.#pieces.push(new Uint32Array(pieceTerms))
    elementAt(this.#pieces, this.#pieces.length - 1)[place] = term
    this.#count++
  }
}
