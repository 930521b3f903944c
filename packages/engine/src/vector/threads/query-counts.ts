// How many queries of each memory have no answer yet. A memory is released only after its last one.

export class QueryCounts {
  /** A memory that was queried before and is not queried now stays in the map with 0: deleting it would allocate again and again. */
  readonly #counts = new Map<number, number>()
  readonly #callbacks = new Map<number, () => void>()

  add(memory: number): void {
    this.#counts.set(memory, (this.#counts.get(memory) ?? 0) + 1)
  }

  remove(memory: number): void {
    const left = (this.#counts.get(memory) ?? 0) - 1
    this.#counts.set(memory, left)
    const callback = left === 0 ? this.#callbacks.get(memory) : undefined
    if (callback !== undefined) this.#end(memory, callback)
  }

  /** Calls back when the memory has no open queries, immediately if it has none now. The memory gets no further queries. */
  afterLast(memory: number, callback: () => void): void {
    if ((this.#counts.get(memory) ?? 0) > 0) this.#callbacks.set(memory, callback)
    else this.#end(memory, callback)
  }

  #end(memory: number, callback: () => void): void {
    this.#counts.delete(memory)
    this.#callbacks.delete(memory)
    callback()
  }
}
