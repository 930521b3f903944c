// Deletes objects that have expired, a few seconds later, by records of the log. Reads hide them already. It deletes nothing while the clock
// cannot be trusted, and nothing on a node that may not append.
import type { Clock } from '../model/engine.ts'
import type { ClockWatch } from './clock-watch.ts'
import type { LocalCollection } from './collection.ts'

export interface ExpiryJobHost {
  readonly clock: Clock
  readonly watch: ClockWatch
  collections(): Iterable<LocalCollection>
  readonly onTrouble: (sentence: string) => void
}

/** How often it looks for expired objects. */
const expiryEveryMs = 10_000

export class ExpiryJob {
  readonly #host: ExpiryJobHost
  readonly #timer: NodeJS.Timeout
  #running: Promise<void> | undefined
  #deleted = 0
  #jumps = 0
  #trouble = ''

  constructor(host: ExpiryJobHost, everyMs = expiryEveryMs) {
    this.#host = host
    this.#timer = setInterval(() => this.#tick(), everyMs).unref()
  }

  /** Objects deleted so far, jumps of the clock so far, and whether expired objects are being deleted. */
  stats(): { readonly deleted: number; readonly clockJumps: number; readonly isDeleting: boolean } {
    return { deleted: this.#deleted, clockJumps: this.#host.watch.jumps, isDeleting: this.#host.watch.isSteady }
  }

  /** Sentences for the health, while a jump of the clock keeps expired objects from being deleted. */
  reasons(): string[] {
    const { jump } = this.#host.watch
    if (jump === undefined || ![...this.#host.collections()].some(isExpiring)) return []
    return [sentenceOf(jump)]
  }

  /** Resolves when no record is being appended any more. */
  async close(): Promise<void> {
    clearInterval(this.#timer)
    await this.#running
  }

  #tick(): void {
    this.#host.watch.observe()
    const { jump, jumps } = this.#host.watch
    if (jumps > this.#jumps && jump) this.#host.onTrouble(sentenceOf(jump))
    this.#jumps = jumps
    if (this.#running !== undefined || !this.#host.watch.isSteady) return
    // By the clock alone: the time of the newest record may come from a clock that was wrong.
    this.#running = this.#deleteAll(this.#host.clock.now()).finally(() => {
      this.#running = undefined
    })
  }

  async #deleteAll(timeMs: number): Promise<void> {
    for (const collection of [...this.#host.collections()]) {
      try {
        for (let count = 1; count > 0; this.#deleted += count) count = await collection.deleteExpired(timeMs)
        this.#trouble = ''
      } catch (error) {
        this.#report(error as Error)
      }
    }
  }

  /** Once for each reason: the next run tries again. */
  #report({ message }: Error): void {
    const sentence = `expired objects could not be deleted: ${message}`
    if (sentence !== this.#trouble) this.#host.onTrouble(sentence)
    this.#trouble = sentence
  }
}

function isExpiring({ recovering }: LocalCollection): boolean {
  return recovering?.expiry.wasUsed === true
}

function sentenceOf({ atMs, byMs }: { readonly atMs: number; readonly byMs: number }): string {
  const [by, way] = [Math.round(Math.abs(byMs) / 1000), byMs > 0 ? 'forward' : 'back']
  const at = new Date(atMs).toISOString()
  return `the clock jumped ${by} s ${way} at ${at}: expired objects are hidden, and are deleted again when it has run steadily for an hour`
}
