// The original vectors of a field as of a version of a window: the numbers of held objects take the place of their ordinals.
import type { EngineError } from '../errors.ts'
import type { GivenRow, Originals } from '../originals/originals.ts'
import type { ReadableOriginals } from './readable.ts'
import type { HeldObject } from './version-window.ts'

/** A number that leads to no vectors. */
const nothing = Number.MIN_SAFE_INTEGER

export class OriginalsAt implements ReadableOriginals {
  readonly #live: Originals
  readonly #index: number
  readonly #heldAt: (ordinal: number) => HeldObject | undefined

  constructor(live: Originals, index: number, heldAt: (ordinal: number) => HeldObject | undefined) {
    this.#live = live
    this.#index = index
    this.#heldAt = heldAt
  }

  get owner(): Originals['owner'] {
    return this.#live.owner
  }

  has(ordinal: number): boolean {
    return this.#live.has(this.#place(ordinal))
  }

  count(ordinal: number): number {
    return this.#live.count(this.#place(ordinal))
  }

  read(ordinal: number): Promise<Float32Array> {
    return this.#live.read(this.#place(ordinal))
  }

  readGiven(ordinals: readonly number[]): Promise<(GivenRow | undefined)[]> {
    return this.#live.readGiven(ordinals.map((ordinal) => this.#place(ordinal)))
  }

  readNow(ordinal: number, bytes: Uint8Array): bigint | undefined {
    return this.#live.readNow(this.#place(ordinal), bytes)
  }

  readLater(ordinal: number, bytes: Uint8Array): Promise<bigint | undefined> {
    return this.#live.readLater(this.#place(ordinal), bytes)
  }

  damaged(ordinal: number): EngineError {
    return this.#live.damaged(this.#place(ordinal))
  }

  #place(ordinal: number): number {
    const held = this.#heldAt(ordinal)
    return held === undefined ? ordinal : (held.originals[this.#index] ?? nothing)
  }
}
