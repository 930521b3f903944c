// The lease: which node should lead. It is for liveness only; a leader that the log has fenced cannot write whatever the lease says.
// Time is that of each node's own clock: a node that has seen no change of the lease for its whole duration may take it, and a holder
// that has not renewed it for its whole duration does not lead. If NATS does not answer, that says nothing about the holder.
import type { ControlBucket } from './control-bucket.ts'

/** What the holder of the lease writes. */
export interface LeaseValue {
  readonly node: string
  readonly url: string
  readonly epoch: number
  /** A number of one process, since another one may have the same name. */
  readonly instance: string
  /** The newest record of the log, as of the renewal. */
  readonly lsn: number
  /** The holder has given it back. */
  readonly released?: boolean
}

/** The facts of a node that its lease has. */
export type LeaseFacts = Pick<LeaseValue, 'node' | 'url' | 'instance'>

const leaseKey = 'lease'

/** The lease as one node sees it. */
export class Lease {
  readonly #bucket: ControlBucket
  readonly #facts: LeaseFacts
  readonly #leaseMs: number
  readonly #nowMs: () => number
  #revision = 0
  #value: LeaseValue | undefined
  /** When this node first saw the newest revision, or last could not look. */
  #changedAtMs: number
  #heldUntilMs = Number.NEGATIVE_INFINITY

  constructor(bucket: ControlBucket, facts: LeaseFacts, leaseMs: number, nowMs = () => performance.now()) {
    this.#bucket = bucket
    this.#facts = facts
    this.#leaseMs = leaseMs
    this.#nowMs = nowMs
    this.#changedAtMs = nowMs()
  }

  /** The newest value that this node has seen. */
  get value(): LeaseValue | undefined {
    return this.#value
  }

  /** Whether this node holds the lease, and has renewed it in time. */
  get isHeld(): boolean {
    return this.#nowMs() < this.#heldUntilMs
  }

  /** Milliseconds since this node last renewed the lease. */
  get renewedMsAgo(): number {
    return this.#nowMs() - this.#heldUntilMs + this.#leaseMs
  }

  /** Whether a node that does not lead may take the lease: never held, given back, its own, or silent for its whole duration. */
  get isFree(): boolean {
    const { released } = this.#value ?? { released: true }
    return released === true || this.#isOurs() || this.#nowMs() - this.#changedAtMs >= this.#leaseMs
  }

  /** Looks at the lease. Returns false if nobody answers; then the silence counts from now on. */
  async look(): Promise<boolean> {
    try {
      const found = await this.#bucket.get(leaseKey)
      const revision = found?.revision ?? 0
      if (revision === this.#revision) return true
      this.#revision = revision
      this.#value = found?.value as LeaseValue | undefined
      this.#changedAtMs = this.#nowMs()
      return true
    } catch {
      this.#changedAtMs = this.#nowMs()
      return false
    }
  }

  /** Takes the lease if it is unchanged since the last look. Returns false if another node was faster, or if nobody answers. */
  take(epoch: number, lsn: number): Promise<boolean> {
    return this.#write({ ...this.#facts, epoch, lsn })
  }

  /** Renews the lease. `lost`: another node has it. `unknown`: nobody answers. */
  async renew(lsn: number): Promise<'held' | 'lost' | 'unknown'> {
    if (this.#value === undefined) return 'lost'
    if (await this.#write({ ...this.#value, lsn })) return 'held'
    if (!(await this.look())) return 'unknown'
    return this.#isOurs() ? 'unknown' : 'lost'
  }

  /** Gives the lease back, so that another node takes it at once. Does nothing if it is not held any more. */
  async release(): Promise<void> {
    this.#heldUntilMs = Number.NEGATIVE_INFINITY
    if (this.#value === undefined || !this.#isOurs()) return
    await this.#write({ ...this.#value, released: true })
    this.#heldUntilMs = Number.NEGATIVE_INFINITY
  }

  async #write(value: LeaseValue): Promise<boolean> {
    // The time before the request: other nodes see the change later.
    const beganMs = this.#nowMs()
    const outcome = await this.#bucket.put(leaseKey, value, { expected: this.#revision })
    if (typeof outcome !== 'number') return false
    this.#revision = outcome
    this.#value = value
    this.#changedAtMs = beganMs
    this.#heldUntilMs = beganMs + this.#leaseMs
    return true
  }

  #isOurs(): boolean {
    return this.#value?.instance === this.#facts.instance && this.#value.released !== true
  }
}
