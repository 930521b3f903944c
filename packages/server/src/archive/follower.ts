// A server that follows the archive of another one: it applies what arrives in the bucket, so that it can be read, and knows how far behind
// it is. When an operator orders it, it takes the archive over and writes.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Engine, EngineOptions } from '@annal/engine'
import { type EngineParts, openReplicatedEngine, type ReplicatedEngine } from '@annal/engine/replicated'
import { ServerError } from '../errors.ts'
import { ArchiveCopy, type ArchiveCopyOptions } from './archive-copy.ts'
import { answerRequest, type TakeoverAnswer, takeRequest } from './takeover-request.ts'

/** How an archive is followed. */
export interface FollowerOptions extends ArchiveCopyOptions {
  /** How late it may be before health is degraded, in milliseconds. */
  readonly lagMsMax: number
  readonly onNotice: (sentence: string) => void
  /** Called when this server is the writer in the bucket, before it takes writes. */
  readonly onWriter: (engine: Engine) => Promise<void>
  /** How often it looks for what arrived, in milliseconds. */
  readonly pollMs?: number
}

/** What a follower is doing. */
export interface FollowStatus {
  readonly from: string
  readonly role: 'follower' | 'writer'
  /** Every record up to this LSN is applied. */
  readonly lsn: number
  /** Seconds since this server last had everything that was in the bucket. */
  readonly lag_seconds: number
  /** Why the last attempt to read the bucket failed. */
  readonly trouble?: string
}

const pollMsDefault = 500
const retryMsMax = 5_000

/** Follows one archive. */
export class Follower {
  readonly #options: FollowerOptions
  readonly #copy: ArchiveCopy
  readonly #closing = new AbortController()
  #engine: ReplicatedEngine | undefined
  #isWriter = false
  /** When it last had everything that was in the bucket. */
  #caughtUpAt = performance.now()
  #trouble: Error | undefined
  #running: Promise<void> | undefined

  private constructor(options: FollowerOptions, copy: ArchiveCopy) {
    this.#options = options
    this.#copy = copy
  }

  /**
   * Copies everything that is in the bucket. Returns undefined if the directory has taken over from this archive: then it is that of any
   * server. Throws as ArchiveCopy.open does.
   */
  static async open(options: FollowerOptions): Promise<Follower | undefined> {
    const copy = await ArchiveCopy.open(options)
    if (copy === undefined) return undefined
    try {
      while (!(await copy.next()).isAtEnd);
      const follower = new Follower(options, copy)
      // It was killed between the message of its takeover and the end of it.
      if (copy.hasTakenOver) await follower.#takeOver()
      return follower
    } catch (error) {
      await copy.close()
      await copy.directory.close()
      throw error
    }
  }

  /** Opens the engine on the copy, and begins to follow. */
  async openEngine(options: EngineOptions, parts: EngineParts = {}): Promise<Engine> {
    const at = this.#copy.at
    this.#engine = await openReplicatedEngine(
      options,
      {
        bringsFiles: true,
        open: (request) => this.#copy.directory.serve(request),
        refusal: () =>
          this.#isWriter ? undefined : new ServerError('not_leader', `this server follows ${at} and takes no writes`),
      },
      parts,
    )
    if (!this.#isWriter) this.#running = this.#follow()
    return this.#engine
  }

  status(): FollowStatus {
    const { at, lsn } = this.#copy
    if (this.#isWriter) return { from: at, role: 'writer', lsn: this.#engine?.lsnApplied ?? lsn, lag_seconds: 0 }
    return {
      ...{ from: at, role: 'follower', lsn: this.#engine?.lsnApplied ?? 0 },
      lag_seconds: Math.round((performance.now() - this.#caughtUpAt) / 100) / 10,
      ...(this.#trouble && { trouble: this.#trouble.message }),
    }
  }

  /** Why health is degraded. */
  reasons(): string[] {
    const { from, role, lag_seconds: seconds, trouble } = this.status()
    if (role === 'writer' || seconds * 1000 <= this.#options.lagMsMax) return []
    return [`this server is ${seconds} s behind ${from}${trouble ? `: ${trouble}` : ''}`]
  }

  /** Makes this server the writer of the archive. Throws as ArchiveCopy.takeOver does; then it goes on following. */
  async #takeOver(): Promise<{ readonly lsn: number }> {
    const taken = await this.#copy.takeOver((records) => this.#apply(records))
    // Before the first write: its archive may have to confirm it.
    if (this.#engine !== undefined) await this.#options.onWriter(this.#engine)
    this.#isWriter = true
    this.#options.onNotice(`this server has taken over ${this.#copy.at} after LSN ${taken.lsn} and takes writes`)
    await this.#copy.close()
    return taken
  }

  /** Ends following, before the engine is closed. */
  async stop(): Promise<void> {
    this.#closing.abort()
    await this.#running
    await this.#copy.close()
    // The engine closes the directory.
    if (this.#engine === undefined) await this.#copy.directory.close()
  }

  async #follow(): Promise<void> {
    const { pollMs = pollMsDefault, dataDir } = this.#options
    let retryMs = pollMs
    while (!this.#closing.signal.aborted) {
      if (await takeRequest(dataDir)) await answerRequest(dataDir, await this.#answer())
      if (this.#isWriter) return
      try {
        const beganAt = performance.now()
        const { records, isAtEnd } = await this.#copy.next()
        await this.#apply(records)
        if (isAtEnd) this.#caughtUpAt = beganAt
        this.#trouble = undefined
        retryMs = pollMs
        if (!isAtEnd) continue
      } catch (error) {
        this.#failed(error as Error)
        retryMs = Math.min(2 * retryMs, retryMsMax)
      }
      await sleep(retryMs, undefined, { signal: this.#closing.signal }).catch(() => undefined)
    }
  }

  /** Without an engine, its start replays them. */
  async #apply(records: readonly Parameters<ReplicatedEngine['applyTailed']>[0][number][]): Promise<void> {
    await this.#engine?.applyTailed(records)
  }

  async #answer(): Promise<TakeoverAnswer> {
    try {
      return { kind: 'done', ...(await this.#takeOver()) }
    } catch (error) {
      const { message, name } = error as Error
      this.#options.onNotice(`the takeover of ${this.#copy.at} failed: ${message}`)
      const code = error instanceof Error && 'code' in error ? String(error.code) : name
      return { kind: 'failed', code, message }
    }
  }

  #failed(error: Error): void {
    if (this.#closing.signal.aborted) return
    if (this.#trouble?.message !== error.message) this.#options.onNotice(`following ${this.#copy.at}: ${error.message}`)
    this.#trouble = error
  }
}
