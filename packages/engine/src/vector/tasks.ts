// What the owner of a field asks its workers, and what they answer.
/// <reference path="./webassembly.d.ts" />
import type { ArenaHandle } from './arena.ts'

/**
 * An arena by number, with what is needed to attach to it only where a worker has said that it does not know the number:
 * sending shared memory to another thread costs milliseconds.
 */
export interface ArenaReference {
  readonly id: number
  readonly handle: ArenaHandle | undefined
}

export interface SearchTask {
  readonly kind: 'search'
  readonly arena: ArenaReference
  readonly query: Float32Array
  readonly k: number
  readonly ef: number
  readonly rerank: number
  readonly version: number
  readonly allowed: Uint32Array<SharedArrayBuffer> | undefined
}

export interface ScanTask {
  readonly kind: 'scan'
  readonly arena: ArenaReference
  readonly query: Float32Array
  readonly k: number
  readonly version: number
  readonly end: number
  /** Undefined: all rows. */
  readonly ordinals: Uint32Array | undefined
}

/** Helps with the open job of an arena until it is over. */
export interface ApplyTask {
  readonly kind: 'apply'
  readonly arena: ArenaReference
  readonly dimension: number
  /** Vectors of the job's items in their order. */
  readonly vectors: Float32Array<SharedArrayBuffer>
}

export type Task = SearchTask | ScanTask | ApplyTask

export interface Found {
  readonly ordinals: Uint32Array
  readonly similarities: Float32Array
  readonly visited: number
  readonly distances: number
}

/** What a worker answers that has not met the arena. */
export const unknownArena = 'unknown arena'

/** Told to every worker: an arena is gone and its memory should be let go of. */
export interface Release {
  readonly release: number
}

export interface WorkerData {
  readonly module: WebAssembly.Module
  readonly channel: string
  /** One counter: a worker takes its number by adding one. */
  readonly numbers: Int32Array<SharedArrayBuffer>
  readonly threads: number
}
