// A log whose records are in a FrameStore that several nodes share. One of them leads and appends; the others follow.
// Safety comes from the messages alone: a leader begins with a fence, and everything that a fenced writer still has on
// its way is ignored by every reader (frame-chain.ts). A lease that says who should lead is for liveness only and is not
// known here.
import { AppendQueue, checkRecord, type QueueEntry } from '../append-queue.ts'
import type { BatchRecord } from '../batch.ts'
import { type Clock, systemClock } from '../clock.ts'
import { CommitLoop } from '../commit-loop.ts'
import { assert, WalError } from '../errors.ts'
import { closeWaitMs, queueBytesMax, queueRecordsMax } from '../limits.ts'
import type { Appended, Log, LogRecord, LogState, Lsn, NewRecord } from '../log.ts'
import { acknowledge, recordsOf } from '../settle.ts'
import { ChainIndex } from './chain-index.ts'
import { EndCheck } from './end-check.ts'
import { encodeFrame } from './frame.ts'
import { type Accepted, type ChainPosition, chainBeginning } from './frame-chain.ts'
import { type FrameStore, StoreUnavailable } from './frame-store.ts'
import { findBeginning } from './log-beginning.ts'
import { notHeld, notLeader, rolledBack } from './log-refusals.ts'
import { MessageReader } from './message-reader.ts'
import { Patience } from './patience.ts'
import { fenced, type Publishing, publishProof, publishRecords } from './publish-frame.ts'

/** How a replicated log is opened. */
export interface ReplicatedLogOptions {
  readonly store: FrameStore
  /** The first 64 bits of the identity of the log. A frame of another log is refused. */
  readonly logId: bigint
  /** The id of this node, 16 bytes, in the fences that it writes. */
  readonly writer: Uint8Array
  /** The position that a checkpoint was made at. Without it the log is followed from its first message. */
  readonly from?: ChainPosition
  /** The first record that is read from there on, if it is known: messages before it may be gone. */
  readonly lsnWanted?: number
  readonly clock?: Clock
  /** Every so many messages, the log remembers a position. A truncation is up to such a position. */
  readonly positionEvery?: number
  /** The log led and does not lead any more, because it was fenced or has failed. */
  readonly onFenced?: (error: WalError) => void
}

/** What a follower learns: records, or the beginning of an epoch, with the position after them. */
export interface Tailed {
  readonly records: readonly LogRecord[]
  readonly position: ChainPosition
  /** True when a new leader has begun. */
  readonly isFence: boolean
}

/** Opens the log at its end. Throws `log_damaged` when the store does not continue the position it is opened from. */
export async function openReplicatedLog(options: ReplicatedLogOptions): Promise<ReplicatedLog> {
  const log = new ReplicatedLog(options)
  await log.begin()
  return log
}

/** The log of one node. openReplicatedLog creates it. */
export class ReplicatedLog implements Log {
  readonly #options: ReplicatedLogOptions
  readonly #store: FrameStore
  readonly #clock: Clock
  readonly #patience: Patience
  readonly #queue = new AppendQueue({ queueBytesMax, queueRecordsMax })
  readonly #commits = new CommitLoop(
    this.#queue,
    (batch) => this.#commit(batch),
    (error) => this.#stopLeading(error),
  )
  readonly #index: ChainIndex
  readonly #messages: MessageReader
  readonly #endCheck: EndCheck
  readonly #readers = new Set<{ position: ChainPosition }>()
  /** The writer of the newest fence. */
  #fencedBy: Uint8Array | undefined
  #end: ChainPosition
  /** The position of opening: records behind it can be read without those before it. */
  #opened: ChainPosition
  #lsnFirst = 1
  /** The epoch that this log leads; undefined while it follows. */
  #leads: number | undefined
  #isTaking = false
  #isAvailable = true
  #failure: WalError | undefined
  #closing: Promise<void> | undefined
  #closeWanted = false
  #appends = 0
  #frames = 0
  #frameMs = 0
  #bytesPassed = 0

  constructor(options: ReplicatedLogOptions) {
    this.#options = options
    this.#store = options.store
    this.#clock = options.clock ?? systemClock()
    this.#index = new ChainIndex(options.positionEvery)
    this.#end = options.from ?? chainBeginning
    this.#opened = this.#end
    this.#patience = new Patience(this.#clock, (isAvailable) => {
      this.#isAvailable = isAvailable
    })
    const { store, logId } = options
    this.#messages = new MessageReader({ store, logId, patience: this.#patience, index: this.#index })
    this.#endCheck = new EndCheck({ messages: this.#messages, logId, clock: this.#clock, patience: this.#patience })
  }

  /** The epoch that this log leads; undefined while it follows. */
  get leads(): number | undefined {
    return this.#leads
  }

  /** The position after the newest record that is known here. A checkpoint keeps it. */
  get position(): ChainPosition {
    return this.#end
  }

  /** About how many bytes of records this log has appended, or read in order, since it was opened. */
  get bytesPassed(): number {
    return this.#bytesPassed
  }

  /** The newest known position from which every record after `lsn` can be read. A checkpoint at that LSN keeps it. */
  positionBefore(lsn: number): ChainPosition | undefined {
    if (this.#end.lsn <= lsn) return this.#end
    return this.#index.before(lsn + 1) ?? (this.#opened.lsn <= lsn ? this.#opened : undefined)
  }

  /** Reads from the position of opening to the end of the store. */
  async begin(): Promise<void> {
    const range = await this.#messages.range()
    const { lsnFirst, position } = await findBeginning(this.#messages, this.#options, range)
    this.#lsnFirst = lsnFirst
    this.#end = position
    this.#opened = position
    await this.#follow(range.last)
  }

  /**
   * Takes the log for this node: appends a fence of the epoch and reads everything up to it. Afterwards no frame of an
   * older epoch counts. The epoch must be newer than every epoch of the log; `log_fenced` otherwise. Returns the newest
   * LSN. Throws `log_damaged` if the store has lost messages that this node has read; the log fails then.
   */
  async lead(epoch: number): Promise<Lsn> {
    assert(Number.isSafeInteger(epoch) && epoch > 0, 'an epoch is a positive integer')
    const refusal = this.#endRefusal()
    if (refusal !== undefined) throw refusal
    assert(this.#leads === undefined && !this.#isTaking, 'a log that leads is not taken again')
    this.#isTaking = true
    try {
      return await this.#take(epoch)
    } finally {
      this.#isTaking = false
    }
  }

  async #take(epoch: number): Promise<Lsn> {
    // A frame that was on its way when this log stopped leading is decided first.
    await this.#commits.working
    await this.#follow((await this.#messages.range()).last)
    if (epoch <= this.#end.epoch) throw fenced(epoch, this.#end.epoch)
    await this.#fence(epoch)
    this.#failure = undefined
    this.#leads = epoch
    return this.#end.lsn as Lsn
  }

  /** Stops leading. The frame that is on its way is decided first; what is queued behind it is refused. */
  async stepDown(): Promise<void> {
    this.#leads = undefined
    await this.#commits.working
  }

  append(record: NewRecord): Promise<Appended> {
    const checked = checkRecord(record)
    if (checked instanceof WalError) return Promise.reject(checked)
    const refusal = this.#refusal() ?? this.#queue.refusal(checked.length)
    if (refusal !== undefined) return Promise.reject(refusal)
    return new Promise((resolve, reject) =>
      this.#commits.add({ kind: 'record', record: checked, usesReserve: false, resolve, reject }),
    )
  }

  sync(): Promise<Lsn> {
    const refusal = this.#endRefusal()
    if (refusal !== undefined) return Promise.reject(refusal)
    // What a follower knows is durable on a majority already.
    if (this.#leads === undefined) return Promise.resolve(this.#end.lsn as Lsn)
    return new Promise((resolve, reject) => this.#commits.add({ kind: 'barrier', resolve, reject }))
  }

  /**
   * Proves that no other node leads, by a message that is stored after the call began. Returns the newest LSN as of then. Rejects
   * with `not_leader`, `log_fenced`, and `outcome_unknown`.
   */
  confirm(): Promise<Lsn> {
    const refusal = this.#refusal()
    if (refusal !== undefined) return Promise.reject(refusal)
    return new Promise((resolve, reject) => this.#commits.add({ kind: 'barrier', proves: true, resolve, reject }))
  }

  read(from: Lsn): AsyncIterable<LogRecord> {
    // The end is that of the call, not that of the first step.
    return this.#read(from, this.#end)
  }

  /**
   * Yields what follows a position, and waits for more until the signal ends it. A follower applies it; the state of this
   * log advances with it. Throws `lsn_not_held` when messages after the position were trimmed.
   */
  async *tail(position: ChainPosition, signal: AbortSignal): AsyncIterable<Tailed> {
    const chain = this.#messages.chainFrom(position)
    while (!signal.aborted) {
      try {
        for await (const message of this.#store.watch(chain.seq + 1, signal)) {
          const accepted = await this.#messages.accept(chain, message)
          this.#advance(chain.position, accepted)
          if (accepted.kind === 'records') yield { records: accepted.records, position: chain.position, isFence: false }
          if (accepted.kind === 'fence') yield { records: [], position: chain.position, isFence: true }
        }
      } catch (error) {
        if (signal.aborted) return
        if (!(error instanceof StoreUnavailable)) throw error
        await this.#messages.range()
      }
    }
  }

  async truncateBefore(lsn: Lsn): Promise<void> {
    const refusal = this.#endRefusal()
    if (refusal !== undefined) throw refusal
    // The index has only positions before frames that count and begin a group, so the store begins with such a frame.
    let kept = this.#index.before(Math.min(lsn, this.#end.lsn))
    for (const { position } of this.#readers) if (kept !== undefined && position.seq < kept.seq) kept = position
    if (kept === undefined || kept.seq === 0) return
    const seq = kept.seq + 1
    await this.#patience.until(() => this.#store.trim(seq))
    this.#index.forgetBefore(seq)
    this.#lsnFirst = Math.max(this.#lsnFirst, kept.lsn + 1)
  }

  /** Returns the LSNs of the log as this node knows them. */
  state(): LogState {
    return {
      lsnFirst: this.#lsnFirst as Lsn,
      lsnLast: this.#end.lsn as Lsn,
      lsnDurable: this.#end.lsn as Lsn,
      bytes: 0,
      segments: 0,
      appends: this.#appends,
      syncs: this.#frames,
      syncMs: this.#frameMs,
      queuedBytes: this.#queue.bytes,
      queuedRecords: this.#queue.records,
      ...this.#condition(),
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    this.#closeWanted = true
    const cancel = this.#clock.after(closeWaitMs, () => this.#patience.end())
    await this.#commits.working
    cancel()
    this.#patience.end()
    this.#leads = undefined
    await this.#store.close()
  }

  #condition(): Pick<LogState, 'condition' | 'reason'> {
    if (this.#closeWanted) return { condition: 'closed' }
    if (this.#failure !== undefined) return { condition: 'failed', reason: this.#failure.message }
    if (!this.#isAvailable)
      return { condition: 'unavailable', reason: 'the store of the replicated log does not answer' }
    return { condition: this.#leads === undefined ? 'following' : 'ok' }
  }

  #endRefusal(): WalError | undefined {
    return this.#closeWanted ? new WalError('log_closed', 'the log is closed') : this.#failure
  }

  #refusal(): WalError | undefined {
    return this.#endRefusal() ?? (this.#leads === undefined ? notLeader() : undefined)
  }

  async #commit(batch: readonly QueueEntry[]): Promise<void> {
    const epoch = this.#leads
    if (epoch === undefined) throw this.#failure ?? notLeader()
    const records = recordsOf(batch)
    const before = this.#end
    const proves = batch.some((entry) => entry.kind === 'barrier' && entry.proves === true)
    let after = before
    if (records.length > 0) after = await this.#endCheck.during(before, () => this.#publish(records, epoch, before))
    else if (proves) after = await this.#endCheck.during(before, () => publishProof(this.#publishing(epoch), before))
    // A log that stepped down meanwhile may have followed further than this frame.
    if (after.seq > this.#end.seq) this.#end = after
    this.#appends += acknowledge(batch, before.lsn, after.lsn)
  }

  /** Stores the records after a position, and returns the position after them. */
  async #publish(records: readonly BatchRecord[], epoch: number, before: ChainPosition): Promise<ChainPosition> {
    const beganMs = this.#clock.nowMs()
    const { after, start, frames, bytes } = await publishRecords(this.#publishing(epoch), records, before)
    this.#frames += frames
    this.#bytesPassed += bytes
    this.#frameMs += this.#clock.nowMs() - beganMs
    this.#index.note(start)
    return after
  }

  #publishing(epoch: number): Publishing {
    return { store: this.#store, logId: this.#options.logId, epoch, patience: this.#patience }
  }

  #stopLeading(error: unknown): WalError {
    const wasLeading = this.#leads !== undefined
    this.#leads = undefined
    if (error instanceof WalError && ['log_fenced', 'not_leader', 'outcome_unknown'].includes(error.code)) {
      if (wasLeading) this.#options.onFenced?.(error)
      return error
    }
    this.#failure ??=
      error instanceof WalError
        ? error
        : new WalError('log_failed', `the replicated log cannot be written: ${String(error)}`, {}, { cause: error })
    if (wasLeading) this.#options.onFenced?.(this.#failure)
    return this.#failure
  }

  /** The store is not the one that this node has read, so this log is not used any more. Throws the error. */
  #giveUp(error: WalError): never {
    if (error.code === 'log_damaged') this.#failure = error
    throw error
  }

  async #fence(epoch: number): Promise<void> {
    const { logId, writer } = this.#options
    const fence = { kind: 'fence', more: false, epoch, lsnFirst: 0, prevSum: 0n, pieces: [writer] } as const
    const read = this.#end
    // Before, so that a node that cannot lead fences nobody. After the fence, because only then nothing comes between.
    await this.#endCheck.compare(read).catch((error) => this.#giveUp(error))
    const { bytes } = encodeFrame(logId, fence)
    for (let attempt = 0; this.#end.epoch < epoch; attempt++) {
      if (attempt > 0) await this.#patience.pause(attempt)
      const { seq } = this.#end
      // Without an expected message: a fence that competes with a writer could lose forever. A second copy of the fence is ignored.
      const outcome = await this.#store.append(bytes, undefined)
      // More fences would hide it.
      if (outcome.kind === 'stored' && outcome.seq <= seq)
        this.#giveUp(rolledBack(`message ${seq} is gone, this node has read it`, outcome.seq))
      const { last } = await this.#messages.range()
      await this.#follow(outcome.kind === 'stored' ? Math.max(last, outcome.seq) : last)
    }
    await this.#endCheck.verify(read).catch((error) => this.#giveUp(error))
    // From here on nothing waits, so no fence of another node comes between.
    const isOurs = this.#end.epoch === epoch && Buffer.compare(this.#fencedBy ?? Buffer.alloc(0), writer) === 0
    if (!isOurs) throw fenced(epoch, this.#end.epoch)
  }

  /** Reads up to the message and moves the end. */
  async #follow(last: number): Promise<void> {
    const chain = this.#messages.chainFrom(this.#end)
    for await (const accepted of this.#messages.accepted(chain, last)) this.#advance(chain.position, accepted)
    // Parts of an incomplete body have no position of their own.
    this.#advance(chain.position)
  }

  /** Moves the end to the position after a message. A reader that is behind the end moves nothing. */
  #advance(position: ChainPosition, accepted?: Accepted): void {
    if (this.#leads !== undefined || position.seq <= this.#end.seq) return
    this.#end = position
    if (accepted?.kind === 'fence') this.#fencedBy = accepted.writer
    if (accepted?.kind === 'records') for (const { payload } of accepted.records) this.#bytesPassed += payload.length
  }

  /** The position of opening if it is before the record and still held, and otherwise the beginning of the store. */
  async #firstPosition(from: number): Promise<ChainPosition> {
    const oldest = (await this.#messages.oldest()) ?? chainBeginning
    return this.#opened.lsn < from && this.#opened.seq > oldest.seq ? this.#opened : oldest
  }

  async *#read(from: number, to: ChainPosition): AsyncIterable<LogRecord> {
    if (from > to.lsn) return
    if (from < this.#lsnFirst) throw notHeld(from, this.#lsnFirst)
    const reader = { position: this.#index.before(from) ?? (await this.#firstPosition(from)) }
    this.#readers.add(reader)
    try {
      const chain = this.#messages.chainFrom(reader.position)
      for await (const accepted of this.#messages.accepted(chain, to.seq)) {
        reader.position = chain.groupStart
        if (accepted.kind !== 'records') continue
        for (const record of accepted.records) if (record.lsn >= from && record.lsn <= to.lsn) yield record
      }
    } finally {
      this.#readers.delete(reader)
    }
  }
}
