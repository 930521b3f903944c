// Which rows and lists of an arena changed since one moment. A checkpoint writes these instead of the whole arena.
import { Bitmap } from '../../memory/bitmap.ts'
import type { Arena } from './arena.ts'
import { header } from './header.ts'
import type { Watch } from './touched.ts'

/** Ordinals, ascending. */
export interface Changed {
  /** Ordinals whose row was inserted, replaced, or removed. */
  readonly rows: Uint32Array
  /** Ordinals whose lists, or the places of their lists, were written. */
  readonly lists: Uint32Array
}

export class ArenaChanges {
  readonly arena: Arena
  readonly hasHeads: boolean
  readonly #rows: Bitmap
  readonly #lists: Watch

  /** Counts from now on. No job may be running. */
  constructor(arena: Arena) {
    this.arena = arena
    this.hasHeads = arena.hasHeads
    this.#rows = new Bitmap(arena.word(header.end))
    this.#lists = arena.touched.watch(() => ({ u8: arena.u8, u32: arena.u32, end: arena.word(header.end) }))
  }

  /** Ensures that ordinals below `end` can be added without more memory. Throws EngineError memory_exhausted. */
  reserve(end: number): void {
    this.#rows.ensure(end)
  }

  /** These rows change. */
  add(ordinals: Uint32Array): void {
    for (const ordinal of ordinals) this.#rows.set(ordinal)
  }

  /** What changed up to now. No job may be running. */
  changed(): Changed {
    return { rows: this.#rows.toOrdinals(), lists: this.#lists.ordinals().toOrdinals() }
  }

  end(): void {
    this.#lists.end()
  }
}
