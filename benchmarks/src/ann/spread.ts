// Mean and standard deviation of numbers added one at a time.

export class Spread {
  #count = 0
  #mean = 0
  #squares = 0
  add(value: number): void {
    const before = value - this.#mean
    this.#count++
    this.#mean += before / this.#count
    this.#squares += before * (value - this.#mean)
  }
  mean(): number {
    return this.#mean
  }
  deviation(): number {
    return Math.sqrt(this.#squares / Math.max(1, this.#count))
  }
}
