// Finds out that a store has lost messages and has others in their positions. The sequence numbers do not show it: a fence of another node may
// have the number of the newest message that this node knows, and an append that expects this number is stored behind that fence.
import type { Clock } from '../clock.ts'
import { endCheckMs } from '../limits.ts'
import { decodeFrame } from './frame.ts'
import type { ChainPosition } from './frame-chain.ts'
import { rolledBack } from './log-refusals.ts'
import type { MessageReader } from './message-reader.ts'
import type { Patience } from './patience.ts'

/** What the check works with. */
export interface EndCheckParts {
  readonly messages: MessageReader
  readonly logId: bigint
  readonly clock: Clock
  readonly patience: Patience
}

/** Compares the newest message that a log knows with the one that the store has. */
export class EndCheck {
  readonly #parts: EndCheckParts
  #storedAtMs = Number.NEGATIVE_INFINITY

  constructor(parts: EndCheckParts) {
    this.#parts = parts
  }

  /**
   * Throws `log_damaged` if the store has another message before the position. Returns false if it has none there: it was trimmed, or the server that
   * replied is behind.
   */
  async compare({ seq, seqSum }: ChainPosition): Promise<boolean> {
    const { messages, logId } = this.#parts
    if (seq === 0 || seqSum === 0n) return true
    const message = await messages.find(seq)
    if (message === undefined) return false
    if (decodeFrame(logId, message).sum === seqSum) return true
    throw rolledBack(`message ${seq} is not the one that this node has read`, seq)
  }

  /** The same when later messages were stored: then the message exists, unless it was trimmed. */
  async verify(position: ChainPosition): Promise<void> {
    const { messages, patience } = this.#parts
    for (let attempt = 0; !(await this.compare(position)); attempt++) {
      if ((await messages.range()).first > position.seq) return
      await patience.pause(attempt)
    }
  }

  /**
   * Runs an append that follows the position. Verifies the position unless an append was stored within the last second: a store does not lose messages
   * and take others while it answers. Rejects with `log_damaged`, although the message may be in the store.
   */
  async during<T>(position: ChainPosition, append: () => Promise<T>): Promise<T> {
    const { clock } = this.#parts
    const beganMs = clock.nowMs()
    const isDue = beganMs - this.#storedAtMs > endCheckMs
    // While the message travels, so that the append takes no longer.
    const compared = isDue ? this.compare(position) : undefined
    // Awaited below, unless the append fails first.
    compared?.catch(() => undefined)
    const result = await append()
    const isSame = compared !== undefined ? await compared : clock.nowMs() - beganMs <= endCheckMs
    if (!isSame) await this.verify(position)
    this.#storedAtMs = clock.nowMs()
    return result
  }
}
