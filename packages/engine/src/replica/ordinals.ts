// Gives out ordinals. Which ones are given depends on the log alone: an ordinal whose row died is free again a fixed number
// of versions later, first died first given.

/** Versions between a row's death and the reuse of its ordinal. Searches are far shorter than sixteen writes, so reuse seldom waits for one. */
const restVersions = 16

export class Ordinals {
  #end: number
  /** Free to be given, oldest first. */
  #free: number[]
  /** Died and resting, oldest first: ordinal and version of death by turns. */
  #resting: number[]

  constructor(
    state: { readonly end: number; readonly free: readonly number[]; readonly resting: readonly number[] } = {
      end: 0,
      free: [],
      resting: [],
    },
  ) {
    this.#end = state.end
    this.#free = [...state.free]
    this.#resting = [...state.resting]
  }

  /** All ordinals given out so far are below it. */
  get end(): number {
    return this.#end
  }

  /** `count` ordinals, ascending. */
  take(count: number): Uint32Array {
    const reused = this.#free.splice(0, Math.min(count, this.#free.length))
    const taken = Uint32Array.from({ length: count }, (_, i) => reused[i] ?? this.#end + i - reused.length)
    this.#end += count - reused.length
    return taken.sort()
  }

  retire(ordinal: number, version: number): void {
    this.#resting.push(ordinal, version)
  }

  /** The newest version of death among the ordinals that are free from `version` on; 0 when there are none. */
  ripeAt(version: number): number {
    const ripe = this.#ripeCount(version)
    return ripe === 0 ? 0 : (this.#resting[ripe * 2 - 1] as number)
  }

  /** Makes ordinals that have rested free, and gives them so that what they held can be released. */
  ripen(version: number): number[] {
    const ripe = this.#resting.splice(0, this.#ripeCount(version) * 2).filter((_, i) => i % 2 === 0)
    // One by one: as arguments of one call so many would not fit on the stack.
    for (const ordinal of ripe) this.#free.push(ordinal)
    return ripe
  }

  state(): { readonly end: number; readonly free: readonly number[]; readonly resting: readonly number[] } {
    return { end: this.#end, free: this.#free, resting: this.#resting }
  }

  #ripeCount(version: number): number {
    let count = 0
    while (count * 2 < this.#resting.length && (this.#resting[count * 2 + 1] as number) + restVersions <= version)
      count++
    return count
  }
}
