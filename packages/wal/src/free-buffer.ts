// Frees the memory of a buffer at once. Garbage collection would free it later: V8 lets tens of megabytes of short-lived buffers accumulate,
// each in pages that the system has to clear first, and the space between them stays with the process.

/**
 * Frees a buffer that nothing reads or writes anymore. Every view of it has length 0 afterwards. Has no effect on shared memory and in
 * Node.js 20, where the collector frees the buffer.
 */
export function freeBuffer(buffer: ArrayBufferLike): void {
  if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer?.(0)
}
