// What NATS announces about a stream: the sequence number of each message that it has stored. Announcements may be lost, so
// a wait for one ends after a while.
import type { Msg, NatsConnection, Subscription } from '@nats-io/transport-node'

/** A wait without an announcement ends after this time. */
const silenceMs = 1000

/** The announcements of one stream, from now on. */
export class Announcements {
  readonly #subscription: Subscription
  #newest = 0
  #wake: (() => void) | undefined
  #isEnded = false

  constructor(connection: NatsConnection, subject: string) {
    this.#subscription = connection.subscribe(subject, { callback: (error, message) => this.#take(error, message) })
  }

  /** Resolves with the newest announced sequence number once it is at least `seq`; with undefined after a silence. */
  async next(seq: number): Promise<number | undefined> {
    if (this.#newest < seq && !this.#isEnded) await this.#silence(seq)
    return this.#newest < seq ? undefined : this.#newest
  }

  /** Ends all waiting. */
  end(): void {
    this.#isEnded = true
    this.#subscription.unsubscribe()
    this.#wake?.()
  }

  #silence(seq: number): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        clearTimeout(timer)
        this.#wake = undefined
        resolve()
      }
      const timer = setTimeout(finish, silenceMs)
      this.#wake = () => {
        if (this.#newest >= seq || this.#isEnded) finish()
      }
    })
  }

  #take(error: Error | null, message: Msg): void {
    if (error !== null) return
    const seq = Number(message.headers?.get('Nats-Sequence') ?? 0)
    if (seq > this.#newest) this.#newest = seq
    this.#wake?.()
  }
}
