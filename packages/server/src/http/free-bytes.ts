// Frees the memory of received and sent bytes at once: a client can send hundreds of megabytes before V8 collects one of them. Serving threads load
// this file, so it does not use freeBuffer of the log, whose package waits for its checksums when it is loaded.

/** Freeing a smaller buffer takes longer than its collection. */
const freedMin = 16_384

/** Frees bytes that nothing reads anymore, if they are all bytes of their buffer. */
export function freeBytes({ buffer, byteLength }: Uint8Array): void {
  if (byteLength < freedMin || buffer.byteLength !== byteLength) return
  if (buffer instanceof ArrayBuffer && !buffer.detached) buffer.transfer?.(0)
}
