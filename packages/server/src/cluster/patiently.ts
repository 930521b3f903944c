// Waits until a node can start: for NATS, for the store that nodes share, and for a snapshot if there is none yet.
import { setTimeout as sleep } from 'node:timers/promises'
import { EngineError } from '@annal/engine'
import { isDiskFull, WalError } from '@annal/wal'
import { StoreUnavailable } from '@annal/wal/replicated'
import type { ClusterConfig } from './cluster-config.ts'
import { WeakStreamError } from './log-stream.ts'
import { natsTrouble } from './nats-connection.ts'
import { WeakServerError } from './nats-monitor.ts'
import { NodeRemovedError } from './snapshots/roster.ts'

/** Who waits, and who learns why. */
export interface Waiting {
  readonly config: ClusterConfig
  readonly closing: AbortSignal
  readonly onNotice?: ((sentence: string) => void) | undefined
}

const retryMs = 500
const noticeEveryMs = 10_000

/** Calls `act` until it succeeds, and says now and then why it has not. Rejects at once with an error that waiting does not end. */
export async function patiently<T>({ config, closing, onNotice }: Waiting, act: () => Promise<T>): Promise<T> {
  let noticedMs = Number.NEGATIVE_INFINITY
  for (;;) {
    try {
      return await act()
    } catch (error) {
      if (!(error instanceof Error) || isLasting(error)) throw error
      if (closing.aborted) throw new WalError('log_closed', 'the node was closed while it waited for NATS')
      if (performance.now() - noticedMs > noticeEveryMs) {
        noticedMs = performance.now()
        onNotice?.(waitingFor(error, config))
      }
    }
    await sleep(retryMs, undefined, { signal: closing }).catch(() => undefined)
  }
}

function waitingFor(error: Error, config: ClusterConfig): string {
  if (isDiskFull(error)) return `waiting for disk space: ${error.message}`
  const isOfNats = !(error instanceof WalError || error instanceof StoreUnavailable)
  return isOfNats ? `waiting for NATS: ${natsTrouble(error, config)}` : `waiting: ${error.message}`
}

/** Files of this machine, and what an operator must decide. */
function isLasting(error: Error): boolean {
  if (isDiskFull(error)) return false
  if (error instanceof WalError) return error.code !== 'lsn_not_held'
  const isNamed = [WeakStreamError, WeakServerError, NodeRemovedError, EngineError].some(
    (each) => error instanceof each,
  )
  return isNamed || 'path' in error
}
