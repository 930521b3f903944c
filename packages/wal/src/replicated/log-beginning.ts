// Where a node begins to read a replicated log, and whether the log is the one that the node has read before.
import { decodeFrame } from './frame.ts'
import { type ChainPosition, chainBeginning } from './frame-chain.ts'
import type { StoreRange } from './frame-store.ts'
import { rolledBack } from './log-refusals.ts'
import { type MessageReader, trimmed } from './message-reader.ts'

/** The first record that the store has, and the position from which the node reads. */
export interface Beginning {
  readonly lsnFirst: number
  readonly position: ChainPosition
}

/** What a node begins with. */
export interface Wanted {
  readonly logId: bigint
  readonly from?: ChainPosition
  readonly lsnWanted?: number
}

/**
 * Finds the first message that a node reads, and verifies that the store continues the position that the node begins with. If the messages
 * after the position were trimmed, the node begins with the first one that is left, unless a record that it wants is gone. Throws
 * `log_damaged` and `lsn_not_held`.
 */
export async function findBeginning(
  messages: MessageReader,
  wanted: Wanted,
  { first, last }: StoreRange,
): Promise<Beginning> {
  const { from, logId, lsnWanted = 0 } = wanted
  if (last > 0 && first > last) throw rolledBack('the store was emptied', last)
  const oldest = (await messages.oldest()) ?? chainBeginning
  const lsnFirst = oldest.lsn + 1
  if (from === undefined) return { lsnFirst, position: oldest }
  const message = from.seq > oldest.seq ? await messages.find(from.seq) : undefined
  // The range may be that of a store that was cut off.
  if (last < from.seq && from.seq > oldest.seq && message === undefined)
    throw rolledBack(`it ends with message ${last}, this node has read message ${from.seq}`, last)
  const chain = messages.chainFrom(from)
  if (oldest.seq > from.seq && !chain.skipTo(oldest)) {
    if (lsnWanted < lsnFirst) throw trimmed(oldest.seq + 1, from.seq + 1)
    return { lsnFirst, position: oldest }
  }
  // It was trimmed meanwhile.
  if (message === undefined && from.seq > oldest.seq) return findBeginning(messages, wanted, await messages.range())
  if (message !== undefined && from.seqSum !== 0n && decodeFrame(logId, message).sum !== from.seqSum)
    throw rolledBack(`message ${from.seq} is not the one that this node has read`, last)
  return { lsnFirst, position: chain.position }
}
