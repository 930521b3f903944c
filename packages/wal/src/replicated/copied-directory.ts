// A data directory whose log is a copy of another one, segment by segment and byte for byte. Only `add` makes the log longer, until the
// directory becomes a writer: then a log of its own continues the copy on a new timeline, and the directory is that of any server.
import { join } from 'node:path'
import type { DataDirectory, DataDirectoryOptions } from '../data-directory.ts'
import { WalError } from '../errors.ts'
import { createIdentity, type Identity } from '../identity.ts'
import type { DirectoryLock } from '../lock.ts'
import type { Appended, Log, LogRecord, LogState, Lsn } from '../log.ts'
import { type LogPosition, positionBefore, readPiece } from '../log-pieces.ts'
import { openFileLog } from '../open-file-log.ts'
import { listLogFiles, type SegmentFile } from '../scan-segment.ts'
import { segmentName } from '../segment-header.ts'
import { SegmentList } from '../segment-list.ts'
import { encodeTip, tipName } from '../tip.ts'
import { sizeOf } from '../transfer.ts'
import type { Vfs } from '../vfs.ts'
import { createWhole, makeDurableDirectory, writeFully } from '../whole-file.ts'

/** Bytes of one segment of the log that is copied. */
export interface CopiedPiece {
  readonly from: Omit<LogPosition, 'chain'>
  readonly body: Uint8Array
  readonly lsnLast: number
}

/** How a copy is opened. */
export interface CopiedDirectoryOptions {
  readonly dir: string
  readonly vfs: Vfs
  readonly identity: Identity
  /** Released when the directory is closed. */
  readonly lock: DirectoryLock
  /** Where the copy ends, as its owner noted it; what is behind it is removed. Undefined for one without a record. */
  readonly end: LogPosition | undefined
}

/** An open copy. Its log takes no appends until `becomeWriter`. */
export class CopiedDirectory implements DataDirectory, Log {
  readonly isNew = false
  readonly #options: CopiedDirectoryOptions
  readonly #walDir: string
  #identity: Identity
  #end: LogPosition | undefined
  #segments: SegmentList
  #sizes = new Map<number, number>()
  /** The log of this directory's own, once it writes. */
  #own: Log | undefined
  #request: DataDirectoryOptions | undefined
  /** Removals of segments and the change to a writer, one after another. */
  #work: Promise<unknown> = Promise.resolve()
  #closing: Promise<void> | undefined

  private constructor(options: CopiedDirectoryOptions, walDir: string) {
    this.#options = options
    this.#walDir = walDir
    this.#identity = options.identity
    this.#end = options.end
    this.#segments = new SegmentList(options.vfs, walDir, [])
  }

  /** Opens the directory at the end of its copied log. Throws WalError log_damaged. */
  static async open(options: CopiedDirectoryOptions): Promise<CopiedDirectory> {
    const { vfs, dir, end } = options
    const walDir = join(dir, 'wal')
    await makeDurableDirectory(vfs, walDir, dir)
    const directory = new CopiedDirectory(options, walDir)
    for (const segment of (await listLogFiles(vfs, walDir)).segments) {
      if (end === undefined || segment.id > end.segmentId) await vfs.remove(segment.path)
      else await directory.#hold(segment)
    }
    if (end !== undefined) await directory.#cutTo(end)
    return directory
  }

  get identity(): Identity {
    return this.#identity
  }

  get log(): Log {
    return this
  }

  /** The end of the copy; undefined before the first piece. */
  get end(): LogPosition | undefined {
    return this.#end
  }

  /**
   * Makes a piece durable and returns its records. Throws log_damaged unless it continues the copy; then nothing has changed.
   */
  async add({ from, body, lsnLast }: CopiedPiece): Promise<readonly LogRecord[]> {
    const { vfs } = this.#options
    const end = this.#end ?? positionBefore({ id: from.segmentId, lsnFirst: from.segmentLsn })
    const isNext = from.segmentId === end.segmentId + 1 && from.offset === 0 && from.segmentLsn === end.lsnNext
    if (!isNext && (from.segmentId !== end.segmentId || from.offset !== end.offset)) throw notNext(from, end)
    const segment = this.#segmentOf(from)
    if (from.offset === 0) await createWhole(vfs, segment.path, (file) => writeFully(file, body, 0))
    else await this.#append(segment.path, body, from.offset)
    const records: LogRecord[] = []
    const limits = {
      to: lsnLast,
      bytesMax: Number.POSITIVE_INFINITY,
      onRecord: (record: LogRecord) => void records.push(record),
    }
    const piece = await readPiece({ vfs, dirs: [this.#walDir] }, end, limits)
    if (piece?.lsnLast !== lsnLast || piece.next.offset !== from.offset + body.length) throw notNext(from, end)
    if (from.offset === 0) this.#segments.add(segment)
    this.#sizes.set(segment.id, piece.next.offset)
    this.#end = piece.next
    return records
  }

  /** Gives the copy to an engine. Throws log_damaged if it does not reach the newest checkpoint of the engine. */
  async serve(request: DataDirectoryOptions): Promise<DataDirectory> {
    this.#request = request
    const { vfs } = this.#options
    this.#segments = new SegmentList(vfs, this.#walDir, [], request.archiveDir)
    for (const segment of (await listLogFiles(vfs, this.#walDir)).segments) this.#segments.add(segment)
    const start = (await request.findStart?.(this.#identity)) ?? 1
    const { lsnFirst, lsnLast } = this.state()
    const reached = Math.max(start - 1, request.lsnReached?.() ?? 0)
    if (lsnFirst <= start && reached <= lsnLast) return this
    const evidence = `it has LSN ${lsnFirst} to ${lsnLast}, and a start needs LSN ${start} to ${reached}`
    throw new WalError('log_damaged', `the copy of the log in ${this.#walDir} cannot be used: ${evidence}`, {
      evidence,
    })
  }

  /**
   * From now on this directory is one of its own: its records follow the copy on a new timeline. With an engine, the log takes appends when
   * this resolves.
   */
  becomeWriter(timeline: number): Promise<void> {
    return this.#inTurn(async () => {
      const { vfs, dir } = this.#options
      const { lsnNext = 1, segmentId = 0 } = this.#end ?? {}
      const line = { timeline, timelineAfter: lsnNext - 1 }
      const tip = encodeTip({ seq: 2, durableLsn: lsnNext - 1, segmentId })
      await createWhole(vfs, join(this.#walDir, tipName), (file) => writeFully(file, tip, 0))
      this.#identity = await createIdentity(
        { dir, vfs },
        { uuid: this.#identity.uuid, timeline, forkedAfterLsn: lsnNext - 1 },
      )
      if (this.#request === undefined) return
      const { dir: _, forceUnlock, findStart, lsnReached, ...options } = this.#request
      const places = { dir: this.#walDir, reservePath: join(dir, 'RESERVE') }
      // Everything was read already.
      const start = { recoverFrom: lsnNext as Lsn, mustExist: true }
      this.#own = await openFileLog({ ...options, ...line, ...places, ...start, vfs })
    })
  }

  append(...args: Parameters<Log['append']>): Promise<Appended> {
    if (this.#own) return this.#own.append(...args)
    return Promise.reject(new WalError('not_leader', 'this directory follows an archive and accepts no writes'))
  }

  read(from: Lsn): AsyncIterable<LogRecord> {
    return this.#own?.read(from) ?? this.#segments.read({ from, to: this.state().lsnLast })
  }

  truncateBefore(lsn: Lsn): Promise<void> {
    return this.#inTurn(() => this.#own?.truncateBefore(lsn) ?? this.#segments.removeBefore(lsn))
  }

  /** Pieces are durable when they were added. */
  sync(): Promise<Lsn> {
    return this.#own?.sync() ?? Promise.resolve(this.state().lsnDurable)
  }

  state(): LogState {
    if (this.#own) return this.#own.state()
    const lsnNext = this.#end?.lsnNext ?? 1
    const lsnLast = (lsnNext - 1) as Lsn
    const lsnFirst = (this.#segments.lsnFirst ?? lsnNext) as Lsn
    let bytes = 0
    for (const size of this.#sizes.values()) bytes += size
    const none = { appends: 0, syncs: 0, syncMs: 0, queuedBytes: 0, queuedRecords: 0 }
    return {
      lsnFirst,
      lsnLast,
      lsnDurable: lsnLast,
      bytes,
      segments: this.#segments.count,
      ...none,
      condition: 'following',
    }
  }

  close(): Promise<void> {
    this.#closing ??= this.#close()
    return this.#closing
  }

  async #close(): Promise<void> {
    await this.#work.catch(() => undefined)
    try {
      await this.#own?.close()
    } finally {
      await this.#options.lock.release()
    }
  }

  #inTurn(act: () => Promise<void>): Promise<void> {
    const done = this.#work.then(act)
    this.#work = done.catch(() => undefined)
    return done
  }

  #segmentOf({ segmentId: id, segmentLsn: lsnFirst }: Omit<LogPosition, 'chain'>): SegmentFile {
    const name = segmentName(id, lsnFirst)
    return { name, path: join(this.#walDir, name), id, lsnFirst }
  }

  async #hold(segment: SegmentFile): Promise<void> {
    this.#segments.add(segment)
    this.#sizes.set(segment.id, await sizeOf(this.#options.vfs, segment.path))
  }

  async #append(path: string, bytes: Uint8Array, offset: number): Promise<void> {
    const file = await this.#options.vfs.open(path, 'write')
    try {
      await writeFully(file, bytes, offset)
      await file.datasync()
    } finally {
      await file.close()
    }
  }

  /** Removes bytes behind the end: pieces that a process wrote before it was killed. They are added again. */
  async #cutTo(end: LogPosition): Promise<void> {
    const bytes = this.#sizes.get(end.segmentId) ?? 0
    if (bytes < end.offset) throw notWhole(this.#segmentOf(end), bytes, end)
    const file = await this.#options.vfs.open(this.#segmentOf(end).path, 'write')
    try {
      await file.truncate(end.offset)
      await file.datasync()
    } finally {
      await file.close()
    }
    this.#sizes.set(end.segmentId, end.offset)
  }
}

function notWhole({ path }: SegmentFile, bytes: number, { offset }: LogPosition): WalError {
  const evidence = `it has ${bytes} bytes, and the copy has ${offset} bytes of it`
  return new WalError('log_damaged', `${path} is incomplete: ${evidence}. Remove the directory and follow again.`, {
    file: path,
    offset: bytes,
    evidence,
  })
}

function notNext(from: Omit<LogPosition, 'chain'>, end: LogPosition): WalError {
  const evidence = `a piece begins at byte ${from.offset} of segment ${from.segmentId}, and the copy ends at byte ${end.offset} of segment ${end.segmentId}`
  return new WalError('log_damaged', `the log cannot be copied: ${evidence}`, { evidence })
}
