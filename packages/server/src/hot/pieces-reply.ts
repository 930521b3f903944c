// A reply in pieces that the main thread would send at once. One that it would send as a stream is left to it (sendPieces of
// http/replies.ts).

import type { Pieces } from '../http/replies.ts'
import { replyPieceBytes } from '../limits.ts'
import { joinPieces } from '../wire/pieces.ts'
import type { HotReply } from './contract.ts'

export const msgpackType = 'application/msgpack'
export const jsonType = 'application/json; charset=utf-8'

/** Undefined for a long reply. */
export function replyOf(contentType: string, pieces: Pieces): HotReply | undefined {
  const written: (string | Buffer)[] = []
  let size = 0
  do {
    const { value, done } = pieces.next()
    if (done) return { status: 200, contentType, body: joinPieces(written) }
    written.push(value)
    size += value.length
  } while (size < replyPieceBytes)
  return undefined
}
