// What is under way, in no order. A Set that things come to and leave all the time makes itself a new table again and again, and
// the old one leads to the new one: once one of them is among V8's old objects, which are looked over seldom, each further table
// is kept with all that it held, and every search leaves something behind that outlives it. An array leaves nothing.

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

  /** To be called once for each place. */
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
