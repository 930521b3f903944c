// The memories that the owner has announced, as another thread sees them. A memory is attached when it is first needed.
import { BroadcastChannel, type MessagePort, receiveMessageOnPort } from 'node:worker_threads'
import type { AttachedMemory, MemoryHandle } from '../pool.ts'
import { collectGarbage } from './garbage.ts'
import type { Announcement } from './messages.ts'
import { type Ring, words } from './ring.ts'

export class Listener {
  readonly #words: Int32Array<SharedArrayBuffer>
  readonly #channel: BroadcastChannel
  readonly #attach: (handle: MemoryHandle) => AttachedMemory
  readonly #known = new Map<number, MemoryHandle>()
  readonly #attached = new Map<number, AttachedMemory>()
  #announced = 0

  constructor(ring: Ring, channel: string, attach: (handle: MemoryHandle) => AttachedMemory) {
    this.#words = ring.words
    this.#attach = attach
    this.#channel = new BroadcastChannel(channel)
    this.#channel.unref()
  }

  /** Undefined: the memory was released, or its announcement has not arrived. */
  find(id: number): AttachedMemory | undefined {
    const attached = this.#attached.get(id)
    if (attached !== undefined) return attached
    this.receive()
    const handle = this.#known.get(id)
    if (handle === undefined) return undefined
    const made = this.#attach(handle)
    this.#attached.set(id, made)
    return made
  }

  get hasNews(): boolean {
    return Atomics.load(this.#words, words.announced) !== this.#announced
  }

  /** Processes all announcements that have arrived. A worker sleeps without an event loop, so it has to fetch messages. */
  receive(): void {
    // Loaded before the messages are read: an announcement in between is processed next time.
    this.#announced = Atomics.load(this.#words, words.announced)
    for (;;) {
      const received: { readonly message: Announcement } | undefined = receiveMessageOnPort(
        // Node.js accepts a BroadcastChannel here, as its documentation says; its types name only the port.
        this.#channel as unknown as MessagePort,
      )
      if (received === undefined) return
      const { message } = received
      if (message.kind === 'attach') this.#known.set(message.memory.id, message.memory)
      else if (message.kind === 'collect') collectGarbage()
      else {
        this.#known.delete(message.id)
        this.#attached.delete(message.id)
      }
    }
  }

  close(): void {
    this.#channel.close()
  }
}
