/**
 * Updates a memory that came from another thread, with all instances over it. V8 reports growth to a thread only once the memory is
 * registered there. If the owner grows the memory while the message is read, this thread would keep the old size, and bulk and atomic
 * operations beyond it would trap. Growing by 0 pages makes V8 read the size again.
 */
export function synchronized(memory: WebAssembly.Memory): WebAssembly.Memory {
  memory.grow(0)
  return memory
}
