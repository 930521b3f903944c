// Monitors bodies that are being received. A body has no time limit while it makes progress. If too few bytes arrive for a while, the
// connection is closed, so that a client cannot occupy a connection and memory by sending single bytes. Node's own limit applies to the
// total time instead, and would end every large upload over a slow connection.
import type { IncomingMessage, Server } from 'node:http'
import { Duplex } from 'node:stream'
import * as limits from '../limits.ts'

interface Watched {
  readonly request: IncomingMessage
  /** Position in the list of open bodies; -1 after it was removed. */
  index: number
  /** Bytes of the connection when progress was last measured, and the number of checks since then. */
  bytes: number
  checks: number
  /** If the reply was sent before the body was complete: bytes of the connection at that time, and the number of checks since then. */
  answered: { readonly bytes: number; checks: number } | undefined
}

export interface BodyWatchOptions {
  readonly checkEveryMs?: number
  /** Number of checks in which at least `bytesMin` bytes must arrive. */
  readonly checksMax?: number
  readonly bytesMin?: number
  /** Bytes that may arrive after the reply, and the number of checks for which they may. */
  readonly unreadBytesMax?: number
  readonly unreadChecksMax?: number
}

export interface BodyWatch {
  /** Starts to monitor a request whose headers have arrived. Returns the function to call when its reply is complete. */
  watch(request: IncomingMessage): () => void
  end(): void
}

export function createBodyWatch(server: Pick<Server, 'emit'>, options: BodyWatchOptions = {}): BodyWatch {
  const {
    checkEveryMs = limits.connectionsCheckingIntervalMs,
    checksMax = Math.ceil(limits.bodyProgressMs / checkEveryMs),
    bytesMin = limits.bodyProgressBytesMin,
    unreadBytesMax = limits.unreadBytesMax,
    unreadChecksMax = Math.ceil(limits.unreadMs / checkEveryMs),
  } = options
  const bounds = { checksMax, bytesMin, unreadBytesMax, unreadChecksMax }
  // Not a Set: the tables that a growing Set replaces refer to each other, and V8 would keep the requests in memory with them.
  const open: Watched[] = []
  const close = (watched: Watched): void => {
    if (watched.index < 0) return
    const last = open.pop()
    if (last !== undefined && last !== watched) {
      open[watched.index] = last
      last.index = watched.index
    }
    watched.index = -1
  }
  const timer = setInterval(() => {
    for (const watched of open.slice()) {
      const state = stateOf(watched, bounds)
      if (state === 'stalled') cutOff(watched.request, server)
      // The reply was sent, so there is nothing to tell the client.
      if (state === 'unread') watched.request.socket.destroy()
      if (state !== 'arriving') close(watched)
    }
  }, checkEveryMs).unref()
  return {
    watch(request) {
      // Requests from `app.inject` are whole when they arrive, and have no connection that could be closed.
      if (!(request.socket instanceof Duplex)) return () => undefined
      const { bytesRead: bytes } = request.socket
      const watched: Watched = { request, index: open.length, bytes, checks: 0, answered: undefined }
      open.push(watched)
      return () => {
        // A request can be rejected before its body is complete. The rest of the body still occupies the connection.
        if (request.complete) close(watched)
        else watched.answered ??= { bytes: request.socket.bytesRead, checks: 0 }
      }
    },
    end: () => clearInterval(timer),
  }
}

function stateOf(
  watched: Watched,
  { checksMax, bytesMin, unreadBytesMax, unreadChecksMax }: Required<Omit<BodyWatchOptions, 'checkEveryMs'>>,
): 'complete' | 'arriving' | 'stalled' | 'unread' {
  const { request, answered } = watched
  if (request.complete || request.socket.destroyed) return 'complete'
  const { bytesRead } = request.socket
  if (answered !== undefined) {
    answered.checks += 1
    if (bytesRead - answered.bytes > unreadBytesMax || answered.checks > unreadChecksMax) return 'unread'
  }
  watched.checks += 1
  if (watched.checks < checksMax) return 'arriving'
  if (bytesRead - watched.bytes < bytesMin) return answered === undefined ? 'stalled' : 'unread'
  watched.bytes = bytesRead
  watched.checks = 0
  return 'arriving'
}

function cutOff({ socket }: IncomingMessage, server: Pick<Server, 'emit'>): void {
  // The error that Node reports for requests that take too long.
  const error = Object.assign(new Error('the body stopped arriving'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
  server.emit('clientError', error, socket)
  socket.destroySoon()
}
