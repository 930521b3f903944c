// Work that reads files takes turns: comparisons of many original vectors, and consumers of the change feed that are behind. Each holds a
// megabyte or two that it read, and work that shares the thread all ends late. Work whose caller leaves while it waits is not begun.
import { type Caller, callerLeft } from '../vector/caller.ts'

interface Waiting {
  readonly caller: Caller | undefined
  readonly begin: () => void
  readonly refuse: (error: Error) => void
}

export class ReadingTurns {
  readonly #atOnce: number
  #running = 0
  #waiting: Waiting[] = []

  constructor(atOnce: number) {
    this.#atOnce = atOnce
  }

  /** Resolves when it is the caller's turn. Rejects with `closed` if the caller has left before. The caller calls `give` after its turn. */
  async take(caller: Caller | undefined): Promise<void> {
    if (caller?.hasLeft) throw callerLeft()
    if (this.#running < this.#atOnce) {
      this.#running++
      return
    }
    await new Promise<void>((begin, refuse) => this.#waiting.push({ caller, begin, refuse }))
  }

  give(): void {
    this.refuseThoseWhoLeft()
    const next = this.#waiting.shift()
    if (next === undefined) this.#running--
    else next.begin()
  }

  /** Called now and then: it may take a moment until it is known that a caller has left. */
  refuseThoseWhoLeft(): void {
    if (this.#waiting.length === 0) return
    this.#waiting = this.#waiting.filter(({ caller, refuse }) => {
      if (!caller?.hasLeft) return true
      refuse(callerLeft())
      return false
    })
  }
}
