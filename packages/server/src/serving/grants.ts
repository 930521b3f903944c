// Which callers serving threads accept, as the main thread decided. The main thread identifies every caller first; if it accepts one, it
// grants the caller to all threads, which recognize it by its key (callerKey in access/auth.ts) and need no tokens, licenses, or attempts
// of their own. When a token or database changes, its grants are withdrawn before the change is acknowledged.
//
// Order: the main thread puts the withdrawal into the port of each thread, then raises the epoch in shared memory. A thread compares the
// epoch before it accepts a request and again right before it replies; if it differs, the thread reads its port until it is empty, in the
// same turn. A thread that replies marks this before it compares. So either the thread sees the new epoch, or the main thread, which reads
// the marks after it raised the epoch, sees the mark and waits until the reply is handed over.
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'
import { type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { DatabaseType } from '@annal/engine'

/** A caller that the main thread accepted. Times are of `monotonicMs`. */
export interface Grant {
  readonly key: string
  readonly database: string
  readonly databaseType: DatabaseType
  /** The main thread decides again about reads that begin later. */
  readonly readUntilMs: number
  /** The same for searches, which need a license. */
  readonly searchUntilMs: number
  /** Bucket of the caller in the rate limit; undefined without a limit. */
  readonly place: number | undefined
}

/** From the main thread to a serving thread. Applied in this order. */
export interface GrantsMessage {
  readonly withdrawn: readonly string[]
  readonly granted: readonly Grant[]
  /** The server is stopping: no request is accepted any more. */
  readonly isStopping: boolean
}

// Words of the shared memory: the epoch, and for each thread the number of begun and finished replies, which is odd during a reply. The
// numbers of different threads are in different lines of the cache.
const epochAt = 0
const lineLength = 16

/** The grants of the main thread. */
export class GrantsOwner {
  readonly #memory: SharedArrayBuffer
  readonly #words: Int32Array
  readonly #max: number
  readonly #grants = new Map<string, Grant>()
  /** The keys of each bucket of the rate limit. */
  readonly #places = new Map<number, Set<string>>()
  readonly #ports = new Map<number, MessagePort>()
  #unsent: Grant[] = []
  #isStopping = false

  /** For threads with numbers from 0 below `threads`. Remembers at most `max` callers; the caller that was granted first is forgotten first. */
  constructor({ threads, max }: { readonly threads: number; readonly max: number }) {
    this.#memory = new SharedArrayBuffer((threads + 1) * lineLength * 4)
    this.#words = new Int32Array(this.#memory)
    this.#max = max
  }

  /** Whether any thread uses grants. */
  get isUsed(): boolean {
    return this.#ports.size > 0
  }

  get memory(): SharedArrayBuffer {
    return this.#memory
  }

  /** Sends changes to a thread from now on. The message brings it up to date. */
  attach(thread: number, port: MessagePort): GrantsMessage {
    this.#ports.set(thread, port)
    // Grants that were not sent yet are sent to this thread as well, which changes nothing.
    return { withdrawn: [], granted: [...this.#grants.values()], isStopping: this.#isStopping }
  }

  /** Call it when a thread has ended. */
  detach(thread: number): void {
    this.#ports.delete(thread)
    const mark = markOf(thread)
    if (Atomics.load(this.#words, mark) % 2 !== 0) Atomics.add(this.#words, mark, 1)
  }

  get(key: string): Grant | undefined {
    return this.#grants.get(key)
  }

  /** Sends the grant to all threads soon: those of one turn of the event loop in one message. */
  put(grant: Grant): void {
    const isNew = !this.#grants.has(grant.key)
    const oldest = this.#grants.keys().next().value
    if (isNew && this.#grants.size >= this.#max && oldest !== undefined) this.#withdraw([oldest])
    this.#forget(grant.key)
    this.#grants.set(grant.key, grant)
    if (grant.place !== undefined) {
      const keys = this.#places.get(grant.place) ?? new Set()
      this.#places.set(grant.place, keys.add(grant.key))
    }
    if (this.#unsent.length === 0) setImmediate(() => this.#send([]))
    this.#unsent.push(grant)
  }

  /**
   * Withdraws the grants that `isChanged` selects. From now on no thread accepts these callers. Resolves when no reply to a request that
   * was accepted before is being handed over, so the change can be acknowledged.
   */
  async withdraw(isChanged: (grant: Grant) => boolean): Promise<void> {
    const keys: string[] = []
    for (const grant of this.#grants.values()) if (isChanged(grant)) keys.push(grant.key)
    this.#withdraw(keys)
    // Also if there is no key: a reply that began before an earlier withdrawal of the same keys may still be running.
    await this.#finishedReplies()
  }

  /** Withdraws the grants with this bucket, which another caller gets. */
  withdrawPlace(place: number): void {
    this.#withdraw([...(this.#places.get(place) ?? [])])
  }

  /** Ends all grants for good. */
  stop(): void {
    this.#isStopping = true
    this.#withdraw([...this.#grants.keys()])
    this.#send([])
    Atomics.add(this.#words, epochAt, 1)
  }

  #forget(key: string): void {
    const place = this.#grants.get(key)?.place
    this.#grants.delete(key)
    if (place === undefined) return
    const keys = this.#places.get(place)
    keys?.delete(key)
    if (keys?.size === 0) this.#places.delete(place)
  }

  #withdraw(keys: readonly string[]): void {
    if (keys.length === 0) return
    for (const key of keys) this.#forget(key)
    // A grant that was replaced or withdrawn since it was put is not sent.
    this.#unsent = this.#unsent.filter((grant) => this.#grants.get(grant.key) === grant)
    this.#send(keys)
    Atomics.add(this.#words, epochAt, 1)
  }

  #send(withdrawn: readonly string[]): void {
    const granted = this.#unsent
    this.#unsent = []
    if (this.#ports.size === 0) return
    const message: GrantsMessage = { withdrawn, granted, isStopping: this.#isStopping }
    for (const port of this.#ports.values()) port.postMessage(message)
  }

  async #finishedReplies(): Promise<void> {
    const running = [...this.#ports.keys()]
      .map(markOf)
      .map((mark) => ({ mark, seen: Atomics.load(this.#words, mark) }))
      .filter(({ seen }) => seen % 2 !== 0)
    for (const { mark, seen } of running) {
      // Handing a reply over takes microseconds, unless the system runs another thread meanwhile.
      for (let turn = 0; Atomics.load(this.#words, mark) === seen; turn++) {
        await (turn < 100 ? nextTurn() : sleep(1))
      }
    }
  }
}

function markOf(thread: number): number {
  return (1 + thread) * lineLength
}

/** A grant as a thread holds it. */
export interface HeldGrant extends Grant {
  isWithdrawn: boolean
}

/** The grants as one serving thread sees them. */
export class GrantsView {
  readonly #words: Int32Array
  readonly #mark: number
  readonly #port: MessagePort
  readonly #grants = new Map<string, HeldGrant>()
  #epoch: number
  #isStopping = false

  constructor(options: {
    readonly memory: SharedArrayBuffer
    readonly thread: number
    readonly port: MessagePort
    readonly first: GrantsMessage
  }) {
    this.#words = new Int32Array(options.memory)
    this.#mark = markOf(options.thread)
    this.#port = options.port
    this.#epoch = Atomics.load(this.#words, epochAt)
    this.#apply(options.first)
    // Everything sent since `first` was made is in the port, whatever the epoch was when this thread read it.
    this.#drain()
    // A thread without requests reads its messages too. A listener alone would keep the thread running.
    this.#port.on('message', (message: GrantsMessage) => this.#apply(message))
    this.#port.unref()
  }

  /** The grant of a caller, unless it was withdrawn. Its times are not compared. */
  get(key: string): HeldGrant | undefined {
    this.#synchronize()
    return this.#isStopping ? undefined : this.#grants.get(key)
  }

  get isStopping(): boolean {
    this.#synchronize()
    return this.#isStopping
  }

  isValid(grant: HeldGrant | undefined): boolean {
    this.#synchronize()
    return !this.#isStopping && grant?.isWithdrawn !== true
  }

  /** Calls `send` if the grant is valid, so that the main thread waits for it when it withdraws the grant meanwhile. */
  reply(grant: HeldGrant | undefined, send: () => void): boolean {
    Atomics.add(this.#words, this.#mark, 1)
    try {
      if (!this.isValid(grant)) return false
      send()
      return true
    } finally {
      Atomics.add(this.#words, this.#mark, 1)
    }
  }

  close(): void {
    this.#port.close()
  }

  #synchronize(): void {
    const epoch = Atomics.load(this.#words, epochAt)
    if (epoch === this.#epoch) return
    this.#drain()
    this.#epoch = epoch
  }

  #drain(): void {
    for (;;) {
      const received = receiveMessageOnPort(this.#port) as { readonly message: GrantsMessage } | undefined
      if (received === undefined) return
      this.#apply(received.message)
    }
  }

  #apply({ withdrawn, granted, isStopping }: GrantsMessage): void {
    for (const key of withdrawn) {
      const grant = this.#grants.get(key)
      if (grant !== undefined) grant.isWithdrawn = true
      this.#grants.delete(key)
    }
    for (const grant of granted) {
      // Requests that were accepted with the earlier grant of the caller stay valid.
      this.#grants.set(grant.key, this.#renewed(grant))
    }
    this.#isStopping ||= isStopping
  }

  #renewed(grant: Grant): HeldGrant {
    const held = this.#grants.get(grant.key)
    return held === undefined ? { ...grant, isWithdrawn: false } : Object.assign(held, grant)
  }
}

/** Whether the grant is for a read or a search that begins at `nowMs`. */
export function covers(
  grant: Grant,
  { isSearch, nowMs }: { readonly isSearch: boolean; readonly nowMs: number },
): boolean {
  return nowMs < (isSearch ? grant.searchUntilMs : grant.readUntilMs)
}
