// Chunks of bodies that were received. Node.js gives each a buffer of its own.
import type { Readable } from 'node:stream'
import { nodeHttp } from '../node-modules.ts'
import { freeBytes } from './free-bytes.ts'

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
