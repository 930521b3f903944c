// What the commands of `annal shell` share. Known to every command without loading the client.
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Transport } from '@annal/client'

export interface Session {
  readonly transport: Transport
  /** Ends the running command. */
  readonly signal: AbortSignal
  /** Asks on the terminal; undefined if there is none. */
  readonly question: ((text: string) => Promise<string>) | undefined
}

const sessions = new AsyncLocalStorage<Session>()

/** Runs the work of one command of a shell. */
export function inSession<T>(session: Session, work: () => Promise<T>): Promise<T> {
  return sessions.run(session, work)
}

/** Undefined outside a shell. */
export function sessionNow(): Session | undefined {
  return sessions.getStore()
}
