// Messages between the owner of the fields and its workers. Queries and jobs do not use messages but the ring.
import type { MemoryHandle } from '../pool.ts'
import type { Ring } from './ring.ts'

export interface WorkerData {
  readonly module: WebAssembly.Module
  /** Name of the channel for announcements. */
  readonly channel: string
  readonly ring: Ring
  /** Number of workers of the pool. */
  readonly threads: number
}

/** The only task of a worker. It lasts as long as the pool. */
export interface ServeTask {
  /** Number of the worker, which selects its scratch in every arena. */
  readonly number: number
}

/** Sent to every worker. */
export type Announcement =
  | { readonly kind: 'attach'; readonly memory: MemoryHandle }
  | { readonly kind: 'release'; readonly id: number }
  /** Return the memories released so far to the operating system. */
  | { readonly kind: 'collect' }
