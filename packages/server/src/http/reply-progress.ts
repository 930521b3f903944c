// How fast a client receives what waits for it in its socket. A client that receives too little for a while would occupy its connection, and
// what it requested, indefinitely.
import type { Server } from 'node:http'
import { Socket } from 'node:net'
import { connectionsCheckingIntervalMs, readerBytesMin, readerTimeoutMs } from '../limits.ts'

const checksMax = readerTimeoutMs / connectionsCheckingIntervalMs

/** What Node.js itself uses for its timeouts and has no public name for: how much it gave to the system, and what the system has not taken of it. */
export interface SendingSocket {
  readonly writableLength: number
  readonly _bytesDispatched?: number
  readonly _handle?: { readonly writeQueueSize?: number } | null
}

export class ReplyProgress {
  /** The check since which bytes wait, or at which enough of them were received. */
  #since: number | undefined
  /** Bytes that the system had taken then. */
  #taken = 0

  /**
   * Whether the client receives too little. Call it at each check, with the number of the check: time in which the process did not run has no
   * checks.
   */
  isStalled(socket: SendingSocket, check: number): boolean {
    if (socket.writableLength === 0) {
      this.#since = undefined
      return false
    }
    const taken = (socket._bytesDispatched ?? 0) - (socket._handle?.writeQueueSize ?? 0)
    if (this.#since !== undefined && taken - this.#taken < readerBytesMin) return check - this.#since >= checksMax
    this.#since = check
    this.#taken = taken
    return false
  }
}

export interface UnreadOptions {
  /** Whether the server serves HTTPS. */
  readonly isSecure: boolean
  readonly checkEveryMs?: number
}

/** Closes the connections of clients that do not read. Returns the function that ends this. */
export function closeUnread(
  server: Pick<Server, 'on'>,
  { isSecure, checkEveryMs = connectionsCheckingIntervalMs }: UnreadOptions,
): () => void {
  const open = new Map<Socket, ReplyProgress>()
  server.on(isSecure ? 'secureConnection' : 'connection', (socket: unknown) => {
    if (!(socket instanceof Socket)) return
    open.set(socket, new ReplyProgress())
    socket.once('close', () => open.delete(socket))
  })
  let check = 0
  const timer = setInterval(() => {
    check += 1
    for (const [socket, progress] of open) if (progress.isStalled(socket, check)) socket.destroy()
  }, checkEveryMs).unref()
  return () => clearInterval(timer)
}
