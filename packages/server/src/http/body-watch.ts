// Watches bodies that are being received. A body may take as long as it makes progress; one that receives too little for a while is cut
// off, so that a client cannot hold a connection and memory by sending a byte now and then. Node's own limit counts the total time
// instead, and would end every large upload over a slow connection.
import type { IncomingMessage, Server } from 'node:http'
import * as limits from './limits.ts'

interface Watched {
  readonly request: IncomingMessage
  /** Where it stands among those that are open; -1 when it is not among them any more. */
  index: number
  /** Bytes of the connection when it was last looked at, and how many looks ago that was. */
  bytes: number
  looks: number
  /** Bytes of the connection when the request was answered before its body was there, and how many looks ago that was. */
  answered: { readonly bytes: number; looks: number } | undefined
}

export interface BodyWatchOptions {
  readonly lookEveryMs?: number
  /** Looks after which so many bytes must have come. */
  readonly looksMax?: number
  readonly bytesMin?: number
  /** What may come after the reply, and for how many looks. */
  readonly unreadBytesMax?: number
  readonly unreadLooksMax?: number
}

export interface BodyWatch {
  /** Called when the head of a request with a body has arrived; returns the function to call when its reply is complete. */
  watch(request: IncomingMessage): () => void
  end(): void
}

export function createBodyWatch(server: Pick<Server, 'emit'>, options: BodyWatchOptions = {}): BodyWatch {
  const {
    lookEveryMs = limits.connectionsCheckingIntervalMs,
    looksMax = Math.ceil(limits.bodyProgressMs / lookEveryMs),
    bytesMin = limits.bodyProgressBytesMin,
    unreadBytesMax = limits.unreadBytesMax,
    unreadLooksMax = Math.ceil(limits.unreadMs / lookEveryMs),
  } = options
  const bounds = { looksMax, bytesMin, unreadBytesMax, unreadLooksMax }
  // Not a Set: the tables that it replaces while it grows refer to each other, and V8 would keep the requests with them.
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
      const state = lookAt(watched, bounds)
      if (state === 'stuck') cutOff(watched.request, server)
      // The reply is out; there is nothing more to say.
      if (state === 'unwanted') watched.request.socket.destroy()
      if (state !== 'arriving') close(watched)
    }
  }, lookEveryMs).unref()
  return {
    watch(request) {
      const { bytesRead: bytes } = request.socket
      const watched: Watched = { request, index: open.length, bytes, looks: 0, answered: undefined }
      open.push(watched)
      return () => {
        // A request may be answered, and refused, before all of its body came: the rest keeps the connection busy.
        if (request.complete) close(watched)
        else watched.answered ??= { bytes: request.socket.bytesRead, looks: 0 }
      }
    },
    end: () => clearInterval(timer),
  }
}

function lookAt(
  watched: Watched,
  { looksMax, bytesMin, unreadBytesMax, unreadLooksMax }: Required<Omit<BodyWatchOptions, 'lookEveryMs'>>,
): 'over' | 'arriving' | 'stuck' | 'unwanted' {
  const { request, answered } = watched
  if (request.complete || request.socket.destroyed) return 'over'
  const { bytesRead } = request.socket
  if (answered !== undefined) {
    answered.looks += 1
    if (bytesRead - answered.bytes > unreadBytesMax || answered.looks > unreadLooksMax) return 'unwanted'
  }
  watched.looks += 1
  if (watched.looks < looksMax) return 'arriving'
  if (bytesRead - watched.bytes < bytesMin) return answered === undefined ? 'stuck' : 'unwanted'
  watched.bytes = bytesRead
  watched.looks = 0
  return 'arriving'
}

function cutOff({ socket }: IncomingMessage, server: Pick<Server, 'emit'>): void {
  // As Node says it of requests that take too long.
  const error = Object.assign(new Error('the body stopped arriving'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' })
  server.emit('clientError', error, socket)
  socket.destroySoon()
}
