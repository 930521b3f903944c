// Assigns ordinals. The choice depends on the log only: the ordinal of a dead row becomes free a fixed number of versions later, in the
// order of deaths.

/**
 * Versions between the death of a row and the reuse of its ordinal. Searches are much shorter than sixteen writes, so reuse seldom waits
 * for one.
 */
const reuseDelayVersions = 16

/** The ordinals of one collection. */
export class Ordinals {
  #end: number
  /** Free ordinals, oldest first. */
  #free: number[]
  /** Dead ordinals that are not free yet, oldest first: ordinal and version of death alternate. */
  #dead: number[]

  constructor(
    state: { readonly end: number; readonly free: readonly number[]; readonly resting: readonly number[] } = {
      end: 0,
      free: [],
      resting: [],
    },
  ) {
    this.#end = state.end
    this.#free = [...state.free]
    this.#dead = [...state.resting]
  }

  /** All ordinals assigned so far are below this. */
  get end(): number {
    return this.#end
  }

  /** Number of ordinals that are taken before new ones. */
  get freeCount(): number {
    return this.#free.length
  }

  /** Takes `count` ordinals, in ascending order. */
  take(count: number): Uint32Array {
    const reused = this.#free.splice(0, Math.min(count, this.#free.length))
    const taken = Uint32Array.from({ length: count }, (_, i) => reused[i] ?? this.#end + i - reused.length)
    this.#end += count - reused.length
    return taken.sort()
  }

  retire(ordinal: number, version: number): void {
    this.#dead.push(ordinal, version)
  }

  /** The newest version of death among the ordinals that become free at `version`; 0 if there are none. */
  ripeAt(version: number): number {
    const ripe = this.#ripeCount(version)
    return ripe === 0 ? 0 : (this.#dead[ripe * 2 - 1] as number)
  }

  /** The ordinals that become free at `version`, in the order of their deaths. */
  ripening(version: number): readonly number[] {
    return Array.from({ length: this.#ripeCount(version) }, (_, i) => this.#dead[i * 2] as number)
  }

  /** Frees the ordinals whose waiting time has ended, and returns them so that their content can be released. */
  ripen(version: number): number[] {
    const ripe = this.#dead.splice(0, this.#ripeCount(version) * 2).filter((_, i) => i % 2 === 0)
    // Pushed one at a time, because this many arguments of one call could overflow the stack.
    for (const ordinal of ripe) this.#free.push(ordinal)
    return ripe
  }

  state(): { readonly end: number; readonly free: readonly number[]; readonly resting: readonly number[] } {
    return { end: this.#end, free: this.#free, resting: this.#dead }
  }

  #ripeCount(version: number): number {
    let count = 0
    while (count * 2 < this.#dead.length && (this.#dead[count * 2 + 1] as number) + reuseDelayVersions <= version)
      count++
    return count
  }
}
