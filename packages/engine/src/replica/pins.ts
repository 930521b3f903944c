// Counts which versions running searches read. An ordinal is reused only when no search can see its old row.

/** Versions that other threads read. */
export interface OtherPins {
  /** Resolves when none of them is below `version`. */
  until(version: number): Promise<void>
}

/** The pins of one collection. */
export class Pins {
  /** By version. 0 only for the version pinned last, so that repeated searches of one version only change a number. */
  readonly #counts = new Map<number, number>()
  #last = 0
  /** The pins of reader threads. */
  others: OtherPins | undefined
  #waiting: { readonly below: number; readonly resume: () => void }[] = []

  /** Keeps the version readable. The returned function releases it; further calls have no effect. */
  pin(version: number): () => void {
    if (version !== this.#last && this.#counts.get(this.#last) === 0) this.#counts.delete(this.#last)
    this.#last = version
    this.#counts.set(version, (this.#counts.get(version) ?? 0) + 1)
    let held = true
    return () => {
      if (!held) return
      held = false
      const left = (this.#counts.get(version) ?? 0) - 1
      if (left > 0 || version === this.#last) this.#counts.set(version, left)
      else this.#counts.delete(version)
      this.#wake()
    }
  }

  /** Resolves when no pin holds a version below `version`. */
  async until(version: number): Promise<void> {
    if (this.#oldest() < version) await new Promise<void>((resume) => this.#waiting.push({ below: version, resume }))
    await this.others?.until(version)
  }

  #oldest(): number {
    let oldest = Number.POSITIVE_INFINITY
    for (const [version, count] of this.#counts) if (count > 0) oldest = Math.min(oldest, version)
    return oldest
  }

  #wake(): void {
    if (this.#waiting.length === 0) return
    const oldest = this.#oldest()
    const [ready, waiting] = [
      this.#waiting.filter(({ below }) => oldest >= below),
      this.#waiting.filter(({ below }) => oldest < below),
    ]
    this.#waiting = waiting
    for (const { resume } of ready) resume()
  }
}
