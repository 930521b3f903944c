// What bodies and replies may take of the memory of this process at one time. limits.ts has the values for 1 GiB of memory or more. A process
// that may use less gets proportionally less, but always enough for the largest body of each kind. Replies get less still, because a process with
// little memory needs most of it for itself.
import * as limits from '../limits.ts'

const fullFromBytes = 2 ** 30

export interface MemoryShares {
  readonly smallBodies: number
  readonly queryBodies: number
  readonly largeBodies: number
  readonly embeddingBodies: number
  readonly largeReplies: number
  /** Of one reply, and of one page of objects. */
  readonly reply: number
  readonly page: number
}

/** `memoryBytes` is what the process may use. */
export function memorySharesOf(memoryBytes: number): MemoryShares {
  const part = Math.min(1, memoryBytes / fullFromBytes)
  const share = (full: number, least: number): number => Math.max(least, Math.floor(part * full))
  const reply = share(part * limits.replyBytesMax, limits.replyBytesLeast)
  return {
    smallBodies: share(limits.smallBodiesBytesMax, limits.bodyBytesQueryMax),
    queryBodies: share(limits.queryBodiesBytesMax, limits.bodyBytesQueryMax),
    largeBodies: share(limits.largeBodiesBytesMax, limits.bodyBytesUpsertMax),
    embeddingBodies: share(limits.embeddingBodiesBytesMax, limits.bodyBytesUpsertMax),
    largeReplies: share(part * limits.largeRepliesBytesMax, reply),
    reply,
    page: share(limits.pageBytesMax, 0),
  }
}
