// What a serving thread answers requests with. Until the parts are ready, and for every request that they do not answer, the main thread
// answers.
import type { ReaderHandle } from '@annal/engine'
import { attachReader } from '@annal/engine/reader'
import type { Gate, HotRoutes, ThreadObserver } from '../hot/contract.ts'
import { createHotRoutes } from '../hot/hot-routes.ts'
import { collectionsOf, type ReaderLimits } from '../hot/reader-collections.ts'
import { openThreadState, type ThreadShare } from './shared-state.ts'

export interface ThreadParts {
  readonly gate: Gate
  readonly routes: HotRoutes
  readonly observer: ThreadObserver
  /** Whether graph threads have work that needs a part of the cores. */
  isBuilding?(): boolean
  /** Reports what has not been reported. Called before the thread ends. */
  finish?(): void
}

/** What a thread gets when the engine is open. Transfer both ports in it. */
export interface PartsValue extends ReaderLimits {
  readonly share: ThreadShare
  readonly reader: ReaderHandle
}

/** On the serving thread. */
export async function openThreadParts(value: PartsValue): Promise<ThreadParts> {
  const [state, reader] = await Promise.all([openThreadState(value.share), attachReader(value.reader)])
  const { gate, observer, health } = state
  const routes = createHotRoutes({ find: collectionsOf(reader, value), observer, health })
  return { gate, observer, routes, isBuilding: () => reader.isBuilding, finish: () => state.finish() }
}
