// The requests of one connection, when the client sends the next one before it has the reply: they run one after another, each in its own turn
// of the event loop. Node.js parses everything that arrived from a connection at once, so without this, a thousand requests of one connection
// would run before those of other clients.
import { ServerError } from '../errors.ts'
import { requestsWaitingMax } from '../limits.ts'

export interface ConnectionTurns {
  /**
   * Calls `begin` when the requests before it on this connection are answered: immediately if there are none, never if the connection is closed.
   * Throws ServerError overloaded if too many requests wait on all connections. The connection must be closed after the reply to that, because
   * none of its later requests begins.
   */
  take(connection: Connection, begin: () => void): void
  /** The reply to the request that began last is complete, or its connection is closed. */
  give(connection: Connection): void
}

interface Connection {
  readonly destroyed: boolean
}

interface Waiting {
  readonly queue: (() => void)[]
  isRefused: boolean
}

export function createConnectionTurns(): ConnectionTurns {
  /** Connections with a request in progress, and what waits behind it. */
  const busy = new WeakMap<Connection, Waiting>()
  let count = 0
  const give = (connection: Connection): void => {
    const queue = busy.get(connection)?.queue ?? []
    if (queue.length === 0 || connection.destroyed) {
      count -= queue.length
      busy.delete(connection)
      return
    }
    const begin = queue.shift() as () => void
    count -= 1
    // The connection may be closed meanwhile.
    setImmediate(() => (connection.destroyed ? give(connection) : begin()))
  }
  return {
    take(connection, begin) {
      const waiting = busy.get(connection)
      if (waiting === undefined) {
        busy.set(connection, { queue: [], isRefused: false })
        begin()
      } else if (waiting.isRefused) return
      else if (count < requestsWaitingMax) {
        waiting.queue.push(begin)
        count += 1
      } else {
        waiting.isRefused = true
        const limit = { limit: requestsWaitingMax }
        throw new ServerError('overloaded', 'too many requests wait for the replies before them', limit)
      }
    },
    give,
  }
}
