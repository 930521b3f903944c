// The owner's list of the memories in use, and the channel on which it announces them to the other threads.
import { BroadcastChannel } from 'node:worker_threads'
import type { FieldMemory } from '../pool.ts'
import type { Announcement } from './messages.ts'
import { type Ring, wakeWorkers, words } from './ring.ts'

export class Announcer {
  readonly #ring: Ring
  readonly #threads: number
  readonly #channel: BroadcastChannel
  readonly #memories = new Map<number, FieldMemory>()
  #closed = false

  constructor(ring: Ring, threads: number, channel: string) {
    this.#ring = ring
    this.#threads = threads
    this.#channel = new BroadcastChannel(channel)
    this.#channel.unref()
  }

  get size(): number {
    return this.#memories.size
  }

  find(id: number): FieldMemory | undefined {
    return this.#memories.get(id)
  }

  /** Threads attach the memory when they first need it. */
  attach(memory: FieldMemory): void {
    this.#memories.set(memory.id, memory)
    this.#post({ kind: 'attach', memory: memory.handle })
  }

  /** For a thread that started after the first announcement. Returns false if no memory has the id. */
  attachAgain(id: number): boolean {
    const memory = this.#memories.get(id)
    if (memory !== undefined) this.#post({ kind: 'attach', memory: memory.handle })
    return memory !== undefined
  }

  attachAllAgain(): void {
    for (const { handle } of this.#memories.values()) this.#post({ kind: 'attach', memory: handle })
  }

  release(id: number): void {
    this.#memories.delete(id)
    this.#post({ kind: 'release', id })
  }

  /** Makes all threads collect garbage after they have processed every release so far. */
  collect(): void {
    this.#post({ kind: 'collect' })
  }

  #post(announcement: Announcement): void {
    if (this.#closed) return
    this.#channel.postMessage(announcement)
    // After the message: a thread that sees the word change finds the message.
    Atomics.add(this.#ring.words, words.announced, 1)
    // Sleeping threads read about new memories when they need them, but must be woken to drop a released one.
    if (announcement.kind !== 'attach') wakeWorkers(this.#ring, this.#threads)
  }

  /** Nothing is announced from now on. */
  stop(): void {
    this.#closed = true
  }

  close(): void {
    this.stop()
    this.#channel.close()
  }
}
