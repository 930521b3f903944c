// Leading and following, one after the other: a node either applies what others append, or appends itself. It does not decide which.
import { setTimeout as sleep } from 'node:timers/promises'
import type { ReplicatedEngine } from '@annal/engine/replicated'
import { WalError } from '@annal/wal'
import type { ReplicatedLog } from '@annal/wal/replicated'
import type { ReadBy } from './presence.ts'

/** The parts of a node that lead and follow. */
export interface LeadershipParts {
  readonly engine: ReplicatedEngine
  readonly log: ReplicatedLog
  /** A new leader has begun, as the log shows. */
  readonly onFence: () => void
  /** The log cannot be followed any more. */
  readonly onLost: (error: Error) => void
}

/** Applying is waited for in steps of this, so that a close ends the wait. */
const applyStepMs = 500

/** The engine and the log of one node. Calls are carried out one after the other. */
export class Leadership {
  readonly #parts: LeadershipParts
  #leads = false
  #ending = new AbortController()
  #tailing: Promise<void> = Promise.resolve()
  #work: Promise<unknown> = Promise.resolve()
  #isClosed = false

  constructor(parts: LeadershipParts) {
    this.#parts = parts
    this.#follow()
  }

  /** Whether this node may append, as far as it knows. */
  get leads(): boolean {
    return this.#leads
  }

  /**
   * Takes the log with a new epoch, applies everything before its fence, and leads from then on, unless `isWanted` is false by
   * then. Rejects with log_fenced if another node was faster, and with log_damaged if the log does not have what this node or another
   * one (`read`) has read. Resolves to whether this node leads.
   */
  lead(epoch: number, isWanted: () => boolean, read: readonly ReadBy[] = []): Promise<boolean> {
    return this.#next(async () => {
      const { log } = this.#parts
      const lsn = await log.lead(epoch)
      const further = read.find((each) => each.lsn > lsn)
      if (further !== undefined) {
        await log.stepDown()
        throw lost(lsn, further)
      }
      await this.#applied(lsn)
      if (!isWanted() || this.#isClosed || log.leads !== epoch) {
        await log.stepDown()
        return false
      }
      this.#ending.abort()
      await this.#tailing
      this.#leads = log.leads === epoch && isWanted()
      if (!this.#leads) await this.#return()
      return this.#leads
    })
  }

  /** Rejects writes from now on, waits until the last one is decided and applied, and follows. */
  stepDown(): Promise<void> {
    this.#leads = false
    return this.#next(() => this.#return())
  }

  /** Ends leading and following. Waits at most `waitMs` for writes whose outcome is unknown; the log is closed then. */
  async close(waitMs: number): Promise<void> {
    this.#leads = false
    this.#isClosed = true
    this.#ending.abort()
    const { log } = this.#parts
    const settled = this.#next(() => log.stepDown()).then(() => true)
    settled.catch(() => undefined)
    const isSettled = await Promise.race([settled, sleep(waitMs, false, { ref: false })])
    // Closing the engine waits for its writes, and they wait for the log.
    if (!isSettled) await log.close()
  }

  async #return(): Promise<void> {
    const { log } = this.#parts
    await log.stepDown()
    // It follows already if it never came to lead.
    if (!this.#ending.signal.aborted) return
    await this.#applied(log.position.lsn)
    if (!this.#isClosed) this.#follow()
  }

  async #applied(lsn: number): Promise<void> {
    while (!this.#isClosed && !(await this.#parts.engine.whenApplied(lsn, applyStepMs)));
  }

  #follow(): void {
    this.#ending = new AbortController()
    this.#tailing = this.#tail(this.#ending.signal).catch((error: Error) => {
      if (!this.#isClosed) this.#parts.onLost(error)
    })
  }

  async #tail(signal: AbortSignal): Promise<void> {
    const { engine, log, onFence } = this.#parts
    for await (const { records, isFence } of log.tail(log.position, signal)) {
      if (isFence) onFence()
      await engine.applyTailed(records)
      if (signal.aborted) return
    }
  }

  #next<T>(act: () => Promise<T>): Promise<T> {
    const done = this.#work.then(act)
    this.#work = done.catch(() => undefined)
    return done
  }
}

function lost(lsnLast: number, { node, lsn }: ReadBy): WalError {
  return new WalError(
    'log_damaged',
    `the log in NATS ends with LSN ${lsnLast}, and node ${node} has read LSN ${lsn}: it was rolled back or damaged`,
    { lsn, limit: lsnLast, evidence: 'older' },
  )
}
