// One test of what every ReplicatedLog must do.
import type { Clock } from '../clock.ts'
import type { FrameStore } from '../replicated/frame-store.ts'

/** A store that a test has for itself, empty at first. */
export interface StoreUnderTest {
  readonly clock: Clock
  /** Each request takes milliseconds: tests that repeat a thing at many places do so at fewer. */
  readonly isSlow?: boolean
  /** Another connection to it. */
  connect(): Promise<FrameStore>
}

/** One test of the suite. */
export interface ReplicatedLogCase {
  /** A sentence about behavior. */
  readonly name: string
  readonly run: (store: StoreUnderTest) => Promise<void>
}
