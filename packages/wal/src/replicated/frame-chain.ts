// Decides which messages of a store count. Every reader of the store decides alike, because it decides by the messages
// alone:
//
// - A fence of a newer epoch begins that epoch, wherever it landed. Any other fence is ignored.
// - A data frame of an older epoch than the current one is ignored: its writer was fenced while the frame was on its way.
// - A data frame of the current epoch counts if it follows: prevSum and LSN continue the chain.
// - Anything else means that a message is missing or changed. The reader stops; it never skips.
import { WalError } from '../errors.ts'
import type { LogRecord } from '../log.ts'
import { decodeFrame, decodeRecords, type ReplicatedFrame } from './frame.ts'
import type { StoredMessage } from './frame-store.ts'

/** A position between two messages, from which a chain can continue. A checkpoint keeps one. */
export interface ChainPosition {
  /** The last message before this position; 0 at the very beginning. */
  readonly seq: number
  /** Sum of that message, whether it counted or not; 0 when `seq` is 0 or the message is not known. */
  readonly seqSum: bigint
  /** The last LSN before this position. */
  readonly lsn: number
  /** Sum of the last data frame that counted; 0 when there is none. */
  readonly sum: bigint
  readonly epoch: number
}

/** The position before the first message of a new log. */
export const chainBeginning: ChainPosition = { seq: 0, seqSum: 0n, lsn: 0, sum: 0n, epoch: 0 }

/** What a message is to the chain. `part`: it counts, and its records are complete with a later message. */
export type Accepted =
  | { readonly kind: 'ignored' }
  | { readonly kind: 'fence'; readonly epoch: number; readonly writer: Uint8Array }
  | { readonly kind: 'part' }
  | { readonly kind: 'records'; readonly records: readonly LogRecord[] }

/** Follows the messages of a store from a position on. */
export class FrameChain {
  readonly #logId: bigint
  #seq: number
  #seqSum: bigint
  #lsn: number
  #sum: bigint
  #epoch: number
  #parts: Uint8Array[] = []
  #groupStart: ChainPosition

  constructor(logId: bigint, position: ChainPosition) {
    this.#logId = logId
    this.#seq = position.seq
    this.#seqSum = position.seqSum
    this.#lsn = position.lsn
    this.#sum = position.sum
    this.#epoch = position.epoch
    this.#groupStart = position
  }

  /** The last accepted message. */
  get seq(): number {
    return this.#seq
  }

  /** The position after the last accepted message. While records are incomplete, the position before their first frame. */
  get position(): ChainPosition {
    return this.#parts.length > 0 ? this.#groupStart : this.#here()
  }

  /** The position before the frame with which the newest records began. That frame counts, so a store may begin with it. */
  get groupStart(): ChainPosition {
    return this.#groupStart
  }

  /** Takes the next message. Throws `log_damaged` for a message that cannot follow. */
  accept(message: StoredMessage): Accepted {
    if (message.seq !== this.#seq + 1) throw this.#hole(message.seq, `message ${this.#seq + 1} is missing`)
    const frame = decodeFrame(this.#logId, message)
    const accepted = frame.kind === 'fence' ? this.#acceptFence(frame) : this.#acceptData(frame, message.seq)
    this.#seq = message.seq
    this.#seqSum = frame.sum
    return accepted
  }

  /**
   * Continues at a later position when nothing that counts lies between: the messages there were ignored or fences, and were
   * trimmed. Returns false when records are missing.
   */
  skipTo(position: ChainPosition): boolean {
    const { lsn, sum, epoch } = this.position
    const isNext = position.seq > this.#seq && position.lsn === lsn && position.sum === sum
    if (!isNext || (this.#parts.length > 0 && position.epoch === epoch)) return false
    this.#dropParts()
    this.#seq = position.seq
    this.#seqSum = position.seqSum
    this.#epoch = Math.max(this.#epoch, position.epoch)
    return true
  }

  #acceptFence(frame: ReplicatedFrame): Accepted {
    if (frame.epoch <= this.#epoch) return { kind: 'ignored' }
    this.#epoch = frame.epoch
    this.#dropParts()
    return { kind: 'fence', epoch: frame.epoch, writer: frame.body }
  }

  /** Records of a fenced writer that never became complete leave no trace: the chain continues before their first part. */
  #dropParts(): void {
    if (this.#parts.length > 0) this.#sum = this.#groupStart.sum
    this.#parts = []
  }

  #acceptData(frame: ReplicatedFrame, seq: number): Accepted {
    if (frame.epoch < this.#epoch) return { kind: 'ignored' }
    const { epoch, lsnFirst, prevSum } = frame
    if (epoch !== this.#epoch) throw this.#hole(seq, `epoch ${epoch} begins without a fence`)
    if (lsnFirst !== this.#lsn + 1) throw this.#hole(seq, `LSN ${lsnFirst} follows LSN ${this.#lsn}`)
    if (prevSum !== this.#sum) throw this.#hole(seq, 'it continues another chain')
    if (this.#parts.length === 0) this.#groupStart = this.#here()
    this.#sum = frame.sum
    this.#parts.push(frame.body)
    if (frame.more) return { kind: 'part' }
    const records = decodeRecords(this.#parts, this.#lsn + 1, seq)
    this.#parts = []
    this.#lsn += records.length
    return { kind: 'records', records }
  }

  #here(): ChainPosition {
    return { seq: this.#seq, seqSum: this.#seqSum, lsn: this.#lsn, sum: this.#sum, epoch: this.#epoch }
  }

  #hole(seq: number, evidence: string): WalError {
    return new WalError(
      'log_damaged',
      `message ${seq} of the replicated log does not follow LSN ${this.#lsn} of epoch ${this.#epoch}: ${evidence}`,
      { seq, lsn: this.#lsn, epoch: this.#epoch, evidence },
    )
  }
}

/**
 * Returns the position before the first message of a store from which older messages were trimmed. A trim keeps a data
 * frame that counts as the first message, so the position is described by that frame.
 */
export function positionBefore(logId: bigint, first: StoredMessage): ChainPosition {
  if (first.seq === 1) return chainBeginning
  const { kind, epoch, lsnFirst, prevSum } = decodeFrame(logId, first)
  if (kind === 'fence') {
    throw new WalError(
      'log_damaged',
      `the replicated log begins with message ${first.seq}, a fence; a log that was truncated begins with records`,
      { seq: first.seq, evidence: 'trimmed' },
    )
  }
  // The message before is gone, so its sum is unknown.
  return { seq: first.seq - 1, seqSum: 0n, lsn: lsnFirst - 1, sum: prevSum, epoch }
}
