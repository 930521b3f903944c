// The operations in flight, without order. A Set with frequent additions and removals allocates a new table repeatedly, and each old table
// refers to the next one. Once one of them is in V8's old generation, which is collected rarely, every further table stays alive with its
// content, so every search leaves garbage that outlives it. An array does not.

export interface Place<T> {
  readonly item: T
  position: number
}

export class InFlight<T> implements Iterable<T> {
  readonly #places: Place<T>[] = []

  add(item: T): Place<T> {
    const place = { item, position: this.#places.length }
    this.#places.push(place)
    return place
  }

  /** Must be called once for each place. */
  remove(place: Place<T>): void {
    const last = this.#places.pop()
    if (last === undefined || last === place) return
    this.#places[place.position] = last
    last.position = place.position
  }

  *[Symbol.iterator](): Generator<T> {
    for (const { item } of this.#places) yield item
  }
}
