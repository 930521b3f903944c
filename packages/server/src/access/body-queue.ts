// Where bodies of writes wait for room, for a short time, before any of them is read: a body that is refused is received all the same, and
// sent again. Earlier ones come first, but smaller ones may pass larger ones, so that a large upload cannot hold up all others. The threads
// of a server share the room, and no thread reports to another that it gave some back, so the queue looks for room from time to time.
import { refusal, ServerError } from '../errors.ts'

const lookEveryMs = 50
/** Less than the time in which a part of a body must arrive. */
const waitMsMax = 10_000

interface Waiting {
  /** Takes the room. Throws ServerError overloaded if there is not enough. */
  readonly take: () => void
  readonly done: (error?: Error) => void
  readonly untilMs: number
}

export class BodyQueue {
  readonly #waitMsMax: number
  #waiting: Waiting[] = []
  #timer: NodeJS.Timeout | undefined

  constructor(options: { readonly waitMsMax?: number } = {}) {
    this.#waitMsMax = options.waitMsMax ?? waitMsMax
  }

  /** Calls back when the room was taken, or with the error of `take` if that lasts too long. */
  wait(take: () => void, done: (error?: Error) => void): void {
    this.#waiting.push({ take, done, untilMs: performance.now() + this.#waitMsMax })
    this.#look()
  }

  /** Refuses all that wait. */
  close(): void {
    clearTimeout(this.#timer)
    for (const { done } of this.#waiting.splice(0)) done(new ServerError('stopping', 'the server is stopping'))
  }

  #look(): void {
    clearTimeout(this.#timer)
    const now = performance.now()
    const ended: (() => void)[] = []
    this.#waiting = this.#waiting.filter(({ take, done, untilMs }) => {
      const error = refusal(take)
      const waits = error !== undefined && now < untilMs
      if (!waits) ended.push(() => done(error))
      return waits
    })
    if (this.#waiting.length > 0) this.#timer = setTimeout(() => this.#look(), lookEveryMs)
    for (const end of ended) end()
  }
}
