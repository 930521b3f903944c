// What every file of routes gets: the slot of the engine, the settings, and the state that requests share.
import type { Database } from '@annal/engine'
import type { Guard } from './access/auth.ts'
import type { Schedules } from './backups/schedules.ts'
import type { Collector } from './collector.ts'
import type { Config } from './config.ts'
import type { EngineSlot } from './engine-slot.ts'
import type { DescribedRoute } from './http/openapi/described-route.ts'
import type { Licensing } from './license/licensing.ts'
import type { Metrics } from './metrics/metrics.ts'
import type { Audit } from './observe/audit.ts'
import type { RequestLog } from './observe/request-log.ts'
import type { Tracing } from './observe/tracing.ts'
import type { Granting } from './serving/granting.ts'
import type { ServingFigures } from './serving/serving-figures.ts'
import type { SharedState } from './serving/shared-state.ts'

export interface RouteContext {
  readonly slot: EngineSlot
  readonly config: Config
  readonly version: string
  readonly guard: Guard
  readonly metrics: Metrics
  readonly tracing: Tracing | undefined
  /** Collects garbage after a load. */
  readonly collector: Collector | undefined
  /** What serving threads share with this thread. */
  readonly shared: SharedState
  /** The threads that accept connections, and what each has answered. */
  readonly serving: () => ServingFigures
  readonly grants: Granting
  readonly requestLog: RequestLog
  readonly audit: Audit
  readonly schedules: Schedules
  /** Undefined in a plain deployment, which needs no license. */
  readonly licensing: Licensing | undefined
  /** Filled while routes are added; complete once the application is ready. */
  readonly routes: readonly DescribedRoute[]
  /** Milliseconds since 1970. */
  readonly startedAt: number
}

/** A request about one collection of the database of its token. */
export interface NamedRequest {
  readonly database: Database
  readonly params: { readonly name: string }
}
