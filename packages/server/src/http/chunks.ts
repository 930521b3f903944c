// Chunks of bodies that were received. Node.js gives each a buffer of its own, which is freed at once: a client can send hundreds of megabytes
// before V8 collects one of them.
import type { Readable } from 'node:stream'
import { freeBuffer } from '@annal/wal'
import { nodeHttp } from '../node-modules.ts'

/** Freeing a smaller buffer takes longer than its collection. */
const freedMin = 16_384

/** Frees bytes that nothing reads anymore, if they are all bytes of their buffer. */
export function freeBytes({ buffer, byteLength }: Uint8Array): void {
  if (byteLength >= freedMin && buffer.byteLength === byteLength) freeBuffer(buffer)
}

/** Frees a chunk that this stream returned, unless somebody else made it. */
export function freeChunk(payload: Readable, chunk: Uint8Array): void {
  if (payload instanceof nodeHttp().IncomingMessage) freeBytes(chunk)
}

/** Receives the rest of a body, and keeps nothing of it. Nothing else may read the stream. */
export function dropRest(payload: Readable): void {
  // The listener is also necessary for a stream that was iterated, which does not flow without one.
  payload.on('data', (chunk: Uint8Array) => freeChunk(payload, chunk))
  payload.resume()
}
