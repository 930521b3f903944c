// The last part of an event: where ids lead and what filters match, which every reader sees as of the newest version. A small one
// ends in the turn in which it begins. A large one rests, so that the event loop has its turns; a reader that needs it whole then
// waits for it, or ends it in the reader's own turn. Rests are counted in work, not in time: the fold asks no clock.
import { yieldToOthers } from '@annal/wal'

/** Work between two rests, in bytes of filter values: 2 to 20 ms, since short values take longer than long ones. */
const restWork = 131_072

export class Publication {
  readonly #work: Generator<number, void>
  readonly #end: () => void
  readonly #over = Promise.withResolvers<void>()
  #isOver = false
  #failure: { readonly error: unknown } | undefined

  /** `work` gives what it took between two of its steps; `end` is called in the turn of the last one. */
  constructor(work: Generator<number, void>, end: () => void) {
    this.#work = work
    this.#end = end
  }

  /** Resolves at the end, also when the work failed; undefined from then on. */
  get over(): Promise<void> | undefined {
    return this.#isOver ? undefined : this.#over.promise
  }

  /** Throws what the work failed with. */
  async run(): Promise<void> {
    this.#advance(restWork)
    while (!this.#isOver) {
      await yieldToOthers()
      this.#advance(restWork)
    }
    if (this.#failure) throw this.#failure.error
  }

  /** Ends it in this turn. Throws what the work failed with. */
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
