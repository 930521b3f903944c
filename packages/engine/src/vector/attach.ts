// Attaches the memory of any field in a thread other than its owner's: a worker of the pool, or a reader with a thread number of
// its own.
import { type ArenaHandle, AttachedArena } from './dense/attached.ts'
import type { AttachedMemory, MemoryHandle } from './pool.ts'
import { AttachedLists, type SparseHandle } from './sparse/attached.ts'

/**
 * `module` is the compiled kernel of dense fields (WorkerPool.module). `thread` is below WorkerPool.attachments, and no other thread
 * has it.
 */
export function attachMemory(handle: MemoryHandle, module: WebAssembly.Module, thread: number): AttachedMemory {
  // A message between threads loses its type. Only these two implementations of FieldMemory make handles.
  const known = handle as ArenaHandle | SparseHandle
  return known.kind === 'dense' ? new AttachedArena(known, module, thread) : new AttachedLists(known)
}
