// Appends frames and finds out whether they are in the log. Only one frame is in flight at a time: with several, a frame of a
// fenced writer could be accepted after the one before it was refused.
import { randomBytes } from 'node:crypto'
import type { BatchRecord } from '../batch.ts'
import { WalError } from '../errors.ts'
import { decodeFrame, type EncodedFrame, encodeBatch, encodeFrame, writerBytes } from './frame.ts'
import type { ChainPosition } from './frame-chain.ts'
import type { FrameStore } from './frame-store.ts'
import type { Patience } from './patience.ts'

/** Who publishes, where. */
export interface Publishing {
  readonly store: FrameStore
  readonly logId: bigint
  readonly epoch: number
  readonly patience: Patience
}

/**
 * Stores the frame as the next one after message `after`, and returns its sequence number. Messages of older epochs that
 * landed there first are passed over. Waits as long as the outcome is unknown. Throws `log_fenced` when a newer epoch
 * has begun; the frame is not in the log then and never will be. Throws `outcome_unknown` when the answer was trimmed.
 */
export async function publishFrame(publishing: Publishing, frame: EncodedFrame, after: number): Promise<number> {
  const { store, patience } = publishing
  let expected = after
  for (let attempt = 0; ; attempt++) {
    const outcome = await store.append(frame.bytes, expected)
    if (outcome.kind === 'stored' && outcome.seq === expected + 1) return outcome.seq
    const found = await patience.until(() => store.at(expected + 1))
    if (found === undefined) {
      const { first } = await patience.until(() => store.range())
      // The newest records stay in the store, so somebody has written after this position.
      if (first > expected + 1) throw trimmedAway(publishing.epoch, expected + 1)
      // Nothing is there yet. The same frame with the same expectation can be stored at most once.
      await patience.pause(attempt)
      continue
    }
    const there = decodeFrame(publishing.logId, found)
    if (there.sum === frame.sum) return expected + 1
    const isIgnored = there.epoch < publishing.epoch || (there.kind === 'fence' && there.epoch === publishing.epoch)
    if (!isIgnored) throw fenced(publishing.epoch, there.epoch)
    expected++
    attempt = -1
  }
}

/** What was stored, and the position after it. */
export interface PublishedRecords {
  readonly after: ChainPosition
  /** The position before the first frame. */
  readonly start: ChainPosition
  readonly frames: number
  readonly bytes: number
}

/** Stores the records as one group of frames after a position. Throws as `publishFrame` does. */
export async function publishRecords(
  publishing: Publishing,
  records: readonly BatchRecord[],
  before: ChainPosition,
): Promise<PublishedRecords> {
  const { logId, epoch, store } = publishing
  const begin = { logId, epoch, lsnFirst: before.lsn + 1, prevSum: before.sum }
  const frames = encodeBatch(records, begin, store.messageBytesMax)
  let { seq, sum } = before
  let start: ChainPosition | undefined
  let bytes = 0
  for (const frame of frames) {
    seq = await publishFrame(publishing, frame, seq)
    // Ignored messages may lie before the frame, so the sum of the message before it is not known.
    start ??= { ...before, seq: seq - 1, seqSum: 0n }
    sum = frame.sum
    bytes += frame.bytes.length
  }
  const after = { seq, seqSum: sum, lsn: before.lsn + records.length, sum, epoch }
  return { after, start: start ?? before, frames: frames.length, bytes }
}

/**
 * Stores a message that proves that this writer leads, and returns the position after it. It is a fence of the writer's own epoch, which is
 * ignored by every reader. Its body is random, so that no earlier message is taken for it. Throws as `publishFrame` does.
 */
export async function publishProof(publishing: Publishing, after: ChainPosition): Promise<ChainPosition> {
  const { logId, epoch } = publishing
  const pieces = [randomBytes(writerBytes)]
  const frame = encodeFrame(logId, { kind: 'fence', more: false, epoch, lsnFirst: 0, prevSum: 0n, pieces })
  return { ...after, seq: await publishFrame(publishing, frame, after.seq), seqSum: frame.sum }
}

/** The error for a writer whose epoch has ended. */
export function fenced(epoch: number, newer: number): WalError {
  return new WalError(
    'log_fenced',
    `another writer has taken the log with epoch ${newer}; this one has epoch ${epoch} and writes no more. The record is not in the log.`,
    { value: epoch, limit: newer },
  )
}

function trimmedAway(epoch: number, seq: number): WalError {
  return new WalError(
    'outcome_unknown',
    `another writer has taken the log from epoch ${epoch}, and message ${seq} was removed before this node read it; whether the record is in the log shows in the records that follow`,
    { value: epoch, seq },
  )
}
