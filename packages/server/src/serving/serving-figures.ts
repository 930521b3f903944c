// What metrics and health show of the threads that accept connections: how many run, their connections, and what each has answered.
import type { Server } from 'node:http'
import type { SharedState, ThreadReplies } from './shared-state.ts'
import { ThreadedServer } from './threaded-server.ts'

/** Connections of one thread; all but `open` since the server started. */
export interface ConnectionFigures {
  readonly open: number
  readonly accepted: number
  /** Closed at once, because all threads together had as many as allowed. */
  readonly refused: number
  /** Closed after a reply, so that their clients connect to another thread. */
  readonly moved: number
}

export interface ThreadFigures extends ThreadReplies {
  /** Undefined for a main thread that accepts no connections. */
  readonly connections: ConnectionFigures | undefined
}

export interface ServingFigures {
  /** Threads that accept connections, and how many are configured. The main thread counts if it serves alone. */
  readonly running: number
  readonly configured: number
  /** Threads that exited unexpectedly, and those that run in the place of one. */
  readonly lost: number
  readonly replaced: number
  /** A sentence, if threads stay missing. */
  readonly fault: string | undefined
  /** The main thread first, then the serving threads by number. Reads the counts of every route in each thread: some thousand numbers. */
  threads(): readonly ThreadFigures[]
}

/** Returns a function that reads the figures. Call it before the server accepts connections. */
export function watchServing(server: Server, shared: SharedState): () => ServingFigures {
  return server instanceof ThreadedServer ? () => threadedFigures(server, shared) : aloneFigures(server, shared)
}

function threadedFigures({ counts, threads }: ThreadedServer, shared: SharedState): ServingFigures {
  const running = threads?.listening ?? 0
  const connectionsOf = (thread: number): ConnectionFigures => ({
    open: counts.connections(thread),
    accepted: counts.accepted(thread),
    refused: counts.refused(thread),
    moved: counts.moved(thread),
  })
  const numbers: readonly ThreadReplies['thread'][] = ['main', ...Array(counts.threads).keys()]
  const readThreads = (): ThreadFigures[] => {
    const replies = new Map(shared.repliesByThread().map((each) => [each.thread, each]))
    return numbers.map((thread) => ({
      ...(replies.get(thread) ?? { thread, requests: 0, searches: 0 }),
      connections: thread === 'main' ? undefined : connectionsOf(thread),
    }))
  }
  return {
    running,
    configured: counts.threads,
    lost: threads?.lost ?? 0,
    replaced: threads?.replaced ?? 0,
    fault:
      threads?.isFailing === true
        ? `${running} of ${counts.threads} serving threads run; the others exit when they start (see the log)`
        : undefined,
    threads: readThreads,
  }
}

function aloneFigures(server: Server, shared: SharedState): () => ServingFigures {
  let [open, accepted, refused] = [0, 0, 0]
  // Of the TCP connection, which with TLS exists before the handshake.
  server.on('connection', (socket) => {
    open++
    accepted++
    socket.once('close', () => {
      open--
    })
  })
  server.on('drop', () => {
    refused++
  })
  return () => ({
    ...{ running: server.listening ? 1 : 0, configured: 1, lost: 0, replaced: 0, fault: undefined },
    threads: () =>
      shared.repliesByThread().map((replies) => ({ ...replies, connections: { open, accepted, refused, moved: 0 } })),
  })
}
