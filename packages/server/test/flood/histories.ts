// What searches may return while other clients change the data: the states that an object or a collection can have between the start and the
// end of a search. A state may be returned from the moment its change was sent, and must be from the moment its change was acknowledged.

/** The states of one thing, which one client at a time changes. */
export class History<State> {
  readonly #states: State[]
  #acknowledged = 0

  constructor(first: State) {
    this.#states = [first]
  }

  get latest(): State {
    return this.#states.at(-1)!
  }

  /** Call it before the change is sent, and the result when it is acknowledged. */
  change(state: State): () => void {
    const index = this.#states.push(state) - 1
    return () => {
      this.#acknowledged = index
    }
  }

  /** Call it before a search is sent, and the result when its reply has arrived: the states that it may have seen. */
  observe(): () => readonly State[] {
    const from = this.#acknowledged
    return () => this.#states.slice(from)
  }
}
