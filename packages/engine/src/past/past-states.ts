// States of collections at earlier moments, built from the nearest checkpoint and the records after it, next to the live collections. They
// are used by reads only and are kept as long as the memory suffices; the one that was used least recently is closed first. Their files are in
// a folder of their own, which a start removes.
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { basesOf } from '../backup/archive.ts'
import { checkSpace } from '../backup/check-space.ts'
import type { BackupHost } from '../backup/host.ts'
import { imageBytes } from '../backup/image/image.ts'
import { loadImage } from '../backup/image/load-image.ts'
import { type Past, type PastOf, shownMoment } from '../backup/past.ts'
import { makePastImage, withPast } from '../backup/past-image.ts'
import { freeBytesMin } from '../backup/restore-image.ts'
import { EngineError } from '../errors.ts'
import { peekEvent } from '../events/codec.ts'
import { memoryPerImageByte, minLsnWaitMs, pastStateIdleMs, pastStatesWaitingMax } from '../limits.ts'
import type { Moment } from '../model/backups.ts'
import type { AsOfMoment, AsOfReach, PastState } from '../model/moment.ts'
import type { Expiry } from '../replica/expiry.ts'
import type { ReadableReplica } from '../replica/readable.ts'
import type { Replica } from '../replica/replica.ts'
import { readAt } from '../replica/replica-at.ts'
import type { ParsedMoment } from './parse-as-of.ts'
import type { RecentPast, RecentRecord } from './recent-past.ts'

/** The collection whose past is read. */
export interface PastSubject {
  readonly databaseId: number
  readonly database: string
  readonly collection: string
}

export interface PastStatesHost {
  readonly side: BackupHost
  /** Finds the collection that had the name just after a record. Throws collection_not_found. */
  collectionIdAt(subject: PastSubject, lsn: number): Promise<number>
  readonly recent: RecentPast
  /** Every record up to this LSN is applied. */
  lsnApplied(): number
  /** Bytes of memory that the process can still take. */
  availableMemory(): number
  /** The replica of a collection that serves. */
  live(collectionId: number): Replica | undefined
}

/** A state at a moment. */
export interface ReadPast {
  readonly replica: ReadableReplica
  readonly moment: AsOfMoment
  /** Whether the live collection answers: what is not read in one turn may change. */
  readonly isLive: boolean
  /** What has expired by the clock that the read sets; undefined for a live collection, in which nothing expires. */
  readonly expiry?: Expiry | undefined
}

/** Thrown by a read that a live collection cannot answer. A state is loaded for it. */
export class NeedsState extends Error {}

/** Removed objects that a search of a live collection compares one by one: about as much as its walk costs. */
export const comparedMax = 512

interface State {
  readonly subject: PastSubject
  readonly moment: Moment
  readonly dir: string
  readonly loaded: Promise<Replica>
  replica: Replica | undefined
  /** Undefined until they are known: the record of the moment, and the newest one of the collection. */
  lsn: number | undefined
  lsnOfCollection: number
  collectionId: number
  timeMs: number
  bytesDone: number
  bytes: number
  failure: Error | undefined
  users: number
  /** By the monotonic clock. */
  usedAtMs: number
}

/** Failed loads that are remembered for those who ask for their progress. */
const failuresMax = 16
const sweepEveryMs = 30_000
const durableCheckMs = 20

export class PastStates {
  readonly #host: PastStatesHost
  readonly #bytesMax: number
  readonly #states = new Set<State>()
  #loading: Promise<unknown> = Promise.resolve()
  #sweeping: NodeJS.Timeout | undefined
  #closed = false

  constructor(host: PastStatesHost, bytesMax: number) {
    this.#host = host
    this.#bytesMax = bytesMax
  }

  get #dir(): string {
    return join(this.#host.side.dataDir, 'asof')
  }

  /** Removes what a crash left. */
  async open(): Promise<void> {
    await this.#host.side.vfs.removeTree(this.#dir)
  }

  /**
   * Runs a read on the live collection as of a recent moment, if at most `removedMax` objects were removed since, or on the state of the moment,
   * which is loaded first. Throws moment_unreachable, moment_loading, collection_not_found,
   * memory_exhausted, overloaded, and what the read throws.
   */
  async use<T>(
    subject: PastSubject,
    parsed: ParsedMoment,
    waitMs: number,
    read: (past: ReadPast) => Promise<T>,
    removedMax = Number.POSITIVE_INFINITY,
  ): Promise<T> {
    const recent = this.#recentOf(parsed)
    const answer = recent && (await this.#readLive(subject, recent, read, removedMax))
    if (answer) return answer.result
    const moment = recent ? { lsn: recent.lsn } : parsed.moment
    const state = (await this.#find(subject, moment)) ?? this.#begin(subject, moment)
    state.users++
    try {
      const replica = state.replica ?? (await this.#wait(state, waitMs))
      state.usedAtMs = performance.now()
      const lsn = 'lsn' in moment ? moment.lsn : (state.lsn ?? 0)
      const timeMs = parsed.timeMs ?? (lsn === state.lsn ? state.timeMs : (await this.#timeOf(lsn)) || state.timeMs)
      return await read({ replica, moment: { lsn, timeMs }, isLive: false, expiry: replica.expiry })
    } finally {
      state.users--
    }
  }

  /** Time of a record: a state also serves moments before its own. */
  async #timeOf(lsn: number): Promise<number> {
    let timeMs = 0
    for await (const { payload } of this.#host.side.past().records({ from: lsn, to: lsn }))
      ({ timeMs } = peekEvent(payload))
    return timeMs
  }

  /** The record of the moment, if it is a recent one. */
  #recentOf({ moment, timeMs }: ParsedMoment): RecentRecord | undefined {
    const { recent, lsnApplied } = this.#host
    const lsn = 'lsn' in moment ? moment.lsn : recent.lsnAt(moment.timeMs)
    if (lsn === undefined || lsn > lsnApplied()) return undefined
    const time = timeMs ?? recent.timeOf(lsn)
    return time === undefined ? undefined : { lsn, timeMs: time }
  }

  /** Undefined if the live collection cannot answer the read. */
  async #readLive<T>(
    subject: PastSubject,
    moment: RecentRecord,
    read: (past: ReadPast) => Promise<T>,
    removedMax: number,
  ): Promise<{ readonly result: T } | undefined> {
    const id = await this.#host.collectionIdAt(subject, moment.lsn)
    for (let live = this.#host.live(id); live?.publishing; live = this.#host.live(id)) await live.publishing
    const live = this.#host.live(id)
    const replica = live && readAt(live, moment.lsn, removedMax)
    if (!live || !replica) return undefined
    // In this turn: what the version needs stays from now on.
    const leave = live.window.enter(performance.now())
    try {
      const result = await read({ replica, moment, isLive: true })
      this.#host.recent.reads++
      return { result }
    } catch (error) {
      // Copies of rows may need a memory, which a state has already.
      const isFull = error instanceof EngineError && error.code === 'memory_exhausted'
      if (error instanceof NeedsState || isFull) return undefined
      throw error
    } finally {
      leave()
    }
  }

  /** The states of a database, or all, for those who ask for the progress of a load. */
  list(database?: string): PastState[] {
    const states = [...this.#states].filter(({ subject }) => database === undefined || subject.database === database)
    return states.map(({ subject, lsn, replica, failure, bytesDone, bytes }) => ({
      database: subject.database,
      collection: subject.collection,
      lsn,
      status: failure ? 'failed' : replica ? 'loaded' : 'loading',
      bytesDone: replica ? bytes : Math.min(bytesDone, bytes),
      bytes,
      memory: replica ? memoryOf(replica) : 0,
      ...(failure && { error: failure.message }),
    }))
  }

  /** Bytes of memory of the loaded states. */
  get bytes(): number {
    let sum = 0
    for (const { replica } of this.#states) if (replica) sum += memoryOf(replica)
    return sum
  }

  get count(): number {
    return [...this.#states].filter(({ replica }) => replica !== undefined).length
  }

  async close(): Promise<void> {
    this.#closed = true
    clearInterval(this.#sweeping)
    await this.#loading
    for (const state of this.#states) await this.#release(state)
    if (await this.#host.side.vfs.exists(this.#dir)) await this.#host.side.vfs.removeTree(this.#dir)
  }

  /** A state is that of every moment from the newest record of the collection in it to its own record. */
  async #find(subject: PastSubject, moment: Moment): Promise<State | undefined> {
    const exact = this.#findExact(subject, moment)
    if (exact !== undefined || !('lsn' in moment)) return exact
    if (![...this.#states].some((state) => holds(state, moment.lsn))) return undefined
    // A name may lead to another collection at this moment than at that of a state.
    const id = await this.#host.collectionIdAt(subject, moment.lsn)
    const found = [...this.#states].find((state) => state.collectionId === id && holds(state, moment.lsn))
    // Another call may have begun to load it meanwhile.
    return found ?? this.#findExact(subject, moment)
  }

  #findExact(subject: PastSubject, moment: Moment): State | undefined {
    for (const state of this.#states) {
      if (state.subject.databaseId !== subject.databaseId || state.subject.collection !== subject.collection) continue
      if (isSame(state.moment, moment)) return state
    }
    return undefined
  }

  #begin(subject: PastSubject, moment: Moment): State {
    if (this.#bytesMax === 0) {
      const message = 'loading moments of the past is turned off'
      throw new EngineError('moment_unreachable', message, { field: 'as_of', value: shownMoment(moment) })
    }
    const waiting = [...this.#states].filter(({ replica, failure }) => replica === undefined && failure === undefined)
    if (waiting.length >= pastStatesWaitingMax) {
      const message = `${waiting.length} moments of the past are waiting to be loaded; try again`
      throw new EngineError('overloaded', message, { field: 'as_of', limit: pastStatesWaitingMax })
    }
    const dir = join(this.#dir, randomBytes(8).toString('hex'))
    const { promise: loaded, resolve, reject } = Promise.withResolvers<Replica>()
    const state: State = {
      ...{ subject, moment, dir, loaded, replica: undefined },
      ...{ lsn: undefined, lsnOfCollection: 0, collectionId: 0, timeMs: 0, bytesDone: 0, bytes: 0, failure: undefined },
      ...{ users: 0, usedAtMs: performance.now() },
    }
    // Nobody may be waiting when it fails; the next caller gets the error.
    loaded.catch(() => undefined)
    // One at a time, so that the memory of only one of them is unknown.
    this.#loading = this.#loading.then(() => this.#load(state)).then(resolve, reject)
    this.#states.add(state)
    this.#sweeping ??= setInterval(() => void this.#closeIdle(), sweepEveryMs).unref()
    return state
  }

  async #wait(state: State, waitMs: number): Promise<Replica> {
    if (state.failure) {
      this.#states.delete(state)
      throw state.failure
    }
    const loading = new EngineError(
      'moment_loading',
      `the moment is being loaded: ${state.bytesDone} of ${state.bytes || 'an unknown number of'} bytes are read`,
      { field: 'as_of' },
    )
    if (waitMs === Number.POSITIVE_INFINITY) return this.#report(state)
    let timer: NodeJS.Timeout | undefined
    const limit = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(loading), waitMs)
    })
    return Promise.race([this.#report(state), limit]).finally(() => clearTimeout(timer))
  }

  /** The caller gets the error, and the next one tries again. */
  async #report(state: State): Promise<Replica> {
    try {
      return await state.loaded
    } catch (error) {
      this.#states.delete(state)
      throw error
    }
  }

  async #load(state: State): Promise<Replica> {
    try {
      return await this.#build(state)
    } catch (error) {
      state.failure = await this.#explain(error as Error, state.moment)
      await this.#host.side.vfs.removeTree(state.dir).catch(() => undefined)
      this.#forgetFailures()
      throw state.failure
    }
  }

  async #build(state: State): Promise<Replica> {
    const { side } = this.#host
    const { subject, moment } = state
    this.#checkWanted()
    await checkSpace(side, freeBytesMin)
    const past = {
      ...subject,
      collectionIdAt: (lsn: number) => this.#host.collectionIdAt(subject, lsn),
    }
    if ('lsn' in moment) await this.#untilDurable(moment.lsn)
    const replica = await withPast(side, past, { moment, keepLsns: true }, (found) =>
      this.#loadFrom(state, past, found),
    )
    replica.adoptedAt(state.lsnOfCollection)
    state.replica = replica
    state.usedAtMs = performance.now()
    await this.#makeRoom(0, state)
    return replica
  }

  /** Throws snapshot_damaged. */
  async #loadFrom(state: State, past: PastOf, found: Past): Promise<Replica> {
    const { side } = this.#host
    const { subject, dir } = state
    state.lsn = found.lsn
    state.bytesDone = 0
    await side.vfs.removeTree(dir)
    const files = join(dir, 'image')
    await side.vfs.makeDirectory(files)
    const options = { dir: files, timeMs: 0, linkOnly: true, checkWanted: () => this.#checkWanted() }
    const image = await makePastImage(side, past, found, options)
    state.bytes = imageBytes(image)
    state.timeMs = found.seen.timeMs
    state.lsnOfCollection = found.seen.lsnOfCollection
    state.collectionId = found.collectionId
    await this.#makeRoom(state.bytes)
    const host = side.replicaHost(image.hashSeed)
    const originals = { ...host.originals, dir: join(dir, 'originals') }
    const onRead = (bytes: number) => {
      state.bytesDone += bytes
      this.#checkWanted()
    }
    const own = { lsnCreated: found.start.lsnCreated ?? 0, adopted: found.seen.adopted }
    const as = { id: found.collectionId, name: subject.collection, host: { ...host, originals }, onRead, own }
    const replica = await loadImage(side.vfs, { dir: files, image, sha256: '' }, as)
    await side.vfs.removeTree(files).catch(async (error) => {
      await replica.close()
      throw error
    })
    return replica
  }

  /** The log can be read up to its newest durable record. A record is applied somewhat earlier. */
  async #untilDurable(lsn: number): Promise<void> {
    for (
      let waited = 0;
      this.#host.side.log().state().lsnDurable < lsn && waited < minLsnWaitMs;
      waited += durableCheckMs
    ) {
      await new Promise((resolve) => setTimeout(resolve, durableCheckMs))
      this.#checkWanted()
    }
  }

  /** Closes states that nobody uses, the least recently used first, until this many bytes more fit. */
  async #makeRoom(bytes: number, kept?: State): Promise<void> {
    if (bytes > this.#bytesMax) {
      const message = `the moment has ${bytes} bytes, but at most ${this.#bytesMax} bytes are allowed for moments of the past`
      throw new EngineError('memory_exhausted', message, { field: 'as_of', value: bytes, limit: this.#bytesMax })
    }
    const idle = [...this.#states].filter((state) => state !== kept && state.replica && state.users === 0)
    for (const state of idle.sort((a, b) => a.usedAtMs - b.usedAtMs)) {
      if (this.bytes + bytes <= this.#bytesMax && this.#hasMemory(bytes)) return
      await this.#release(state)
    }
    if (this.#hasMemory(bytes)) return
    const limit = this.#host.availableMemory()
    const message = `the moment has ${bytes} bytes, and may need ${memoryPerImageByte} times as much memory, but only ${limit} bytes are available`
    throw new EngineError('memory_exhausted', message, { field: 'as_of', value: bytes, limit })
  }

  /** Reads must not make the kernel end the process. */
  #hasMemory(bytes: number): boolean {
    return bytes === 0 || bytes * memoryPerImageByte <= this.#host.availableMemory()
  }

  async #closeIdle(): Promise<void> {
    const before = performance.now() - pastStateIdleMs
    for (const state of this.#states)
      if (state.replica && state.users === 0 && state.usedAtMs < before) await this.#release(state)
    if (this.#states.size > 0) return
    clearInterval(this.#sweeping)
    this.#sweeping = undefined
  }

  async #release(state: State): Promise<void> {
    this.#states.delete(state)
    const { replica } = state
    state.replica = undefined
    if (replica === undefined) return
    // Searches that were abandoned by their callers may still run.
    await replica.pins.until(Number.POSITIVE_INFINITY)
    await replica.remove()
    await this.#host.side.vfs.removeTree(state.dir)
  }

  #forgetFailures(): void {
    const failed = [...this.#states].filter(({ failure }) => failure !== undefined)
    for (const state of failed.slice(0, Math.max(0, failed.length - failuresMax))) this.#states.delete(state)
  }

  async #explain(error: Error, moment: Moment): Promise<Error> {
    if (!(error instanceof EngineError) || error.code !== 'restore_unreachable') return error
    const reach = await this.reach().catch(() => undefined)
    const value = shownMoment(moment)
    return new EngineError('moment_unreachable', error.message, { field: 'as_of', value, reach }, { cause: error })
  }

  /** Closes states that nobody uses. */
  free(): void {
    for (const state of this.#states)
      if (state.replica && state.users === 0) void this.#release(state).catch(() => undefined)
  }

  /** The moments that can be reached from the checkpoints and the log. */
  async reach(): Promise<AsOfReach> {
    const { side } = this.#host
    const past = side.past()
    const [first] = await past.pieces()
    const base = first?.lsnFirst === 1 ? undefined : (await basesOf(side))[0]
    let [lsnFirst, timeFirstMs] = [base?.manifest.lsn ?? 1, base?.manifest.timeMs ?? 0]
    if (base === undefined)
      for await (const record of past.records({ from: 1, to: 1 })) {
        timeFirstMs = peekEvent(record.payload).timeMs
        lsnFirst = record.lsn
      }
    return { lsnFirst, lsnLast: side.log().state().lsnDurable, timeFirstMs, timeLastMs: side.timeMs() }
  }

  #checkWanted(): void {
    if (this.#closed) throw new EngineError('closed', 'the engine is closed')
  }
}

/** Whether the state is that of its collection just after this record. */
function holds({ replica, lsn, lsnOfCollection }: State, wanted: number): boolean {
  return replica !== undefined && lsn !== undefined && lsnOfCollection <= wanted && wanted <= lsn
}

function isSame(a: Moment, b: Moment): boolean {
  if ('lsn' in a) return 'lsn' in b && a.lsn === b.lsn
  return 'timeMs' in b && a.timeMs === b.timeMs
}

function memoryOf(replica: Replica): number {
  return Object.values(replica.bytes()).reduce((sum, bytes) => sum + bytes, 0)
}
