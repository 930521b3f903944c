// What a serving thread answers requests with. Until the parts are ready, and for every request that they do not answer, the main thread
// answers.
import type { Gate, HotRoutes, ThreadObserver } from './contract.ts'

export interface ThreadParts {
  readonly gate: Gate
  readonly routes: HotRoutes
  readonly observer: ThreadObserver
}
