/**
 * Brings a memory that came from another thread up to date, with all instances over it. V8 tells a thread of growth only once
 * the memory is registered there: where the owner grows it while the message is being read, this thread would know the old
 * size for ever, and bulk and atomic operations beyond it would trap. Growing by nothing makes V8 look again.
 */
export function synchronized(memory: WebAssembly.Memory): WebAssembly.Memory {
  memory.grow(0)
  return memory
}
