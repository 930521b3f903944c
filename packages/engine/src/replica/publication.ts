// The last part of an event: ids and filter matches, which every reader sees as of the newest version. A small publication ends in the turn
// of the event loop in which it starts. A large one yields between steps. A reader that needs the whole version waits for it, or completes
// it in its own turn. Steps are measured in work, not in time, because the fold uses no clock.
import { yieldToOthers } from '@annal/wal'

/** Work between two yields, in bytes of filter values: 2 to 20 ms, because short values take longer per byte. */
const restWork = 131_072

/** One running publication. */
export class Publication {
  readonly #work: Generator<number, void>
  readonly #end: () => void
  readonly #over = Promise.withResolvers<void>()
  #isOver = false
  #failure: { readonly error: unknown } | undefined

  /** `work` yields the amount of work since its previous step. `end` is called in the turn of the last step. */
  constructor(work: Generator<number, void>, end: () => void) {
    this.#work = work
    this.#end = end
  }

  /** Resolves at the end, also if the work failed; undefined afterwards. */
  get over(): Promise<void> | undefined {
    return this.#isOver ? undefined : this.#over.promise
  }

  /** Runs the work in steps. Throws the error of the work. */
  async run(): Promise<void> {
    this.#advance(restWork)
    while (!this.#isOver) {
      await yieldToOthers()
      this.#advance(restWork)
    }
    if (this.#failure) throw this.#failure.error
  }

  /** Completes the work in this turn. Throws the error of the work. */
  finish(): void {
    this.#advance(Number.POSITIVE_INFINITY)
    if (this.#failure) throw this.#failure.error
  }

  #advance(workMax: number): void {
    if (this.#isOver) return
    try {
      for (let done = 0; done < workMax; ) {
        const step = this.#work.next()
        if (step.done) {
          this.#close()
          return
        }
        done += step.value
      }
    } catch (error) {
      this.#failure = { error }
      this.#close()
    }
  }

  #close(): void {
    this.#isOver = true
    if (!this.#failure) this.#end()
    this.#over.resolve()
  }
}
