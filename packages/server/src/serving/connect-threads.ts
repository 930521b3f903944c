// Gives the serving threads what they answer hot requests with, when they listen and the engine serves every collection.
import type { Config } from '../config.ts'
import type { EngineSlot } from '../engine-slot.ts'
import { shareCores } from './graph-share.ts'
import type { SentValue } from './serving-threads.ts'
import type { SharedState } from './shared-state.ts'
import type { PartsValue } from './thread-parts.ts'
import type { ThreadedServer } from './threaded-server.ts'

export interface ConnectOptions {
  readonly server: ThreadedServer
  readonly slot: EngineSlot
  readonly shared: SharedState
  readonly config: Pick<Config, 'topKMax'>
}

/** Until then, and if the engine was opened without readers, every request is forwarded. */
export function connectThreads({ server, slot, shared, config }: ConnectOptions): void {
  const partsOf = (thread: number): SentValue => {
    const reader = slot.engine().readerHandle()
    const share = shared.share(thread)
    const value: PartsValue = { share, reader, topKMax: config.topKMax }
    return { value, transfer: [share.port, reader.port] }
  }
  let isListening = false
  let isOpen = false
  const connect = (): void => {
    if (!isListening || !isOpen || server.threads === undefined) return
    const { threads } = server
    threads.setParts(partsOf)
    const endSharing = shareCores(
      () => threads.utilizations(),
      (count, options) => {
        if (slot.isOpen()) slot.engine().limitGraphThreads(count, options)
      },
    )
    server.once('close', endSharing)
  }
  server.once('listening', () => {
    isListening = true
    connect()
  })
  slot.onOpen(() => {
    isOpen = true
    connect()
  })
}
