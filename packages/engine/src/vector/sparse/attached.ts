// The inverted lists of a sparse field as one thread sees them, and as their owner announces them to the pool.
import { assert } from '../../errors.ts'
import type { AttachedMemory, FieldMemory, MemoryHandle, Progress, Query } from '../pool.ts'
import { newMemoryId } from '../shared-memory.ts'
import { instantiateSparseKernel, type SparseKernel } from './kernel.ts'

/** What a thread needs to attach the lists of a sparse field. */
export interface SparseHandle extends MemoryHandle {
  readonly kind: 'sparse'
  readonly memory: WebAssembly.Memory
  readonly module: WebAssembly.Module
}

/** The query and its answer are in the memory of the field, so nothing else is passed between threads. */
export class AttachedLists implements AttachedMemory {
  readonly #kernel: SparseKernel

  constructor({ module, memory }: SparseHandle) {
    this.#kernel = instantiateSparseKernel(module, memory)
  }

  /** Returns 0: the owner reads the answer from the descriptor. */
  run(query: Query): number {
    assert(query.kind === 'sparse', 'inverted lists have no graph')
    this.#kernel.search(query.descriptor)
    return 0
  }

  copyHits(): void {
    // None: see run.
  }

  readonly isUnresolved = false

  takeVisited(): number {
    return 0
  }

  takeDistances(): number {
    return 0
  }

  /** The owner changes the lists itself. */
  help(): Progress {
    return 'nothing'
  }
}

/** Inverted lists in the pool. */
export class ListsMemory implements FieldMemory {
  readonly handle: SparseHandle
  /** Only workers run queries: their work is not known in advance. */
  readonly attached = undefined
  readonly #bytesUsed: () => number

  constructor(memory: WebAssembly.Memory, module: WebAssembly.Module, bytesUsed: () => number) {
    this.handle = { kind: 'sparse', id: newMemoryId(), memory, module }
    this.#bytesUsed = bytesUsed
  }

  get id(): number {
    return this.handle.id
  }

  get bytesTouched(): number {
    return this.#bytesUsed()
  }

  pulse(): undefined {
    return undefined
  }

  isJobOver(): boolean {
    return true
  }
}
