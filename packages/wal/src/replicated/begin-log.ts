// Begins a replicated log behind records that are elsewhere: those of a data directory that becomes the first node of a cluster. The log
// looks as if it had been trimmed: its first message has the newest of these records.
import { checkRecord } from '../append-queue.ts'
import { WalError } from '../errors.ts'
import type { NewRecord } from '../log.ts'
import { decodeFrame, type EncodedFrame, encodeBatch, encodeFrame, writerBytes } from './frame.ts'
import { type FrameStore, StoreUnavailable } from './frame-store.ts'

/** What a log begins with. */
export interface LogBeginning {
  readonly store: FrameStore
  /** The first 64 bits of the identity of the log. */
  readonly logId: bigint
  /** The newest record that is elsewhere. */
  readonly lsn: number
  /** It takes the place of that record: nobody reads it. */
  readonly record: NewRecord
}

const epoch = 1
const attemptsMax = 10

/**
 * Begins the log in an empty store, or finishes what an earlier call with the same values began. Throws `identity_mismatch` if the store
 * has other messages; then nothing is changed.
 */
export async function beginLog({ store, logId, lsn, record }: LogBeginning): Promise<void> {
  const writer = Buffer.alloc(writerBytes)
  const fence = encodeFrame(logId, { kind: 'fence', more: false, epoch, lsnFirst: 0, prevSum: 0n, pieces: [writer] })
  const start = { logId, epoch, lsnFirst: lsn, prevSum: 0n }
  const checked = checkRecord(record)
  if (checked instanceof WalError) throw checked
  const frames = [fence, ...encodeBatch([checked], start, store.messageBytesMax)]
  const { first, last } = await store.range()
  if (first > 2 || last > frames.length) throw notEmpty(last)
  for (const [i, frame] of frames.entries()) {
    const seq = i + 1
    // It was trimmed by the earlier call.
    if (seq < first && last > 0) continue
    if (seq > last) await append(store, logId, frame, seq)
    else await compare(store, logId, frame, seq)
  }
  // The fence is not a record, and the log begins with one.
  await store.trim(2)
}

async function append(store: FrameStore, logId: bigint, frame: EncodedFrame, seq: number): Promise<void> {
  for (let attempt = 0; attempt < attemptsMax; attempt++) {
    const outcome = await store.append(frame.bytes, seq - 1)
    if (outcome.kind === 'stored') return
    const found = await store.at(seq)
    if (found !== undefined && isEqual(logId, found, frame)) return
    if (found !== undefined || outcome.kind === 'conflict') throw notEmpty(seq)
  }
  throw new StoreUnavailable('the store did not confirm the beginning of the log; try again')
}

async function compare(store: FrameStore, logId: bigint, frame: EncodedFrame, seq: number): Promise<void> {
  const found = await store.at(seq)
  if (found === undefined || !isEqual(logId, found, frame)) throw notEmpty(seq)
}

function isEqual(logId: bigint, found: { readonly seq: number; readonly bytes: Uint8Array }, frame: EncodedFrame) {
  try {
    return decodeFrame(logId, found).sum === frame.sum
  } catch {
    return false
  }
}

function notEmpty(last: number): WalError {
  const message = `the log in the store is not empty: it has ${last} messages, and nothing was changed. A directory can begin only a new log.`
  return new WalError('identity_mismatch', message, { value: last, limit: 0 })
}
