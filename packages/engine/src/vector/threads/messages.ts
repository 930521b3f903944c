// What the owner of the fields and its workers say to each other besides what goes through the ring.
import type { ArenaHandle } from '../dense/arena.ts'
import type { SparseHandle } from '../sparse/kernel.ts'
import type { Ring } from './ring.ts'

export interface WorkerData {
  readonly module: WebAssembly.Module
  /** Name of the channel on which arenas are announced. */
  readonly channel: string
  readonly ring: Ring
  /** Of the pool. */
  readonly threads: number
}

/** The one task of a worker, which lasts as long as the pool. */
export interface ServeTask {
  /** Its number among the workers: whose scratch it uses in every arena. */
  readonly number: number
}

/** Told to every worker. */
export type Announcement =
  | { readonly kind: 'attach'; readonly arena: ArenaHandle }
  | { readonly kind: 'attach-sparse'; readonly field: SparseHandle }
  | { readonly kind: 'release'; readonly id: number }
  /** The memories released so far are to be given back to the system. */
  | { readonly kind: 'collect' }

/** The answer of one arena. */
export interface Found {
  readonly ordinals: Uint32Array
  readonly similarities: Float32Array
  readonly visited: number
  readonly distances: number
}
