// The transport to an engine in this process. Operations that only a server has fail with `not_supported`.
import type { Engine, WriteOptions as EngineWriteOptions } from '@annal/engine'
import { within } from '../deadline.ts'
import type { JsonObject } from '../model.ts'
import type { OperationName, Operations } from '../operations.ts'
import type { Transport, WriteOptions } from '../transport.ts'
import { backupCalls } from './backup-calls.ts'
import type { Calls, Host } from './calls.ts'
import { changeCalls } from './change-calls.ts'
import { collectionCalls } from './collection-calls.ts'
import { notSupported, translated } from './failure.ts'
import { historyCalls } from './history-calls.ts'
import { indexCalls } from './index-calls.ts'
import { nameCalls } from './name-calls.ts'

export interface EmbeddedTransportOptions {
  readonly engine: Engine
  readonly database?: string | undefined
  /** Closing the transport closes the engine. */
  readonly ownsEngine: boolean
}

const timeoutDefaultMs = 30_000

const systemCalls: Calls<'health' | 'stats' | 'info' | 'providers'> = {
  health({ engine }) {
    const { status, ...details } = engine.health()
    // Strings and numbers by name, as JSON.
    return { status, details: details as unknown as JsonObject }
  },
  stats: ({ engine }) => engine.stats() as unknown as JsonObject,
  info: ({ database }) => ({ embedded: true, database: database.name, license: null }),
  providers: ({ engine }) => engine.providers().map((provider) => ({ ...provider, kind: 'function' })),
}

const calls = {
  ...systemCalls,
  ...indexCalls,
  ...collectionCalls,
  ...backupCalls,
  ...historyCalls,
  ...changeCalls,
  ...nameCalls,
}

export function embeddedTransport({ engine, database, ownsEngine }: EmbeddedTransportOptions): Transport {
  return {
    call(name, input, { signal, timeoutMs = timeoutDefaultMs, idempotencyKey: requestKey, actor }: WriteOptions = {}) {
      return within({ name, timeoutMs, signal }, ({ signal: stop }) =>
        untilAborted(answer(name, { engine, database: engine.database(database) }, input, { requestKey, actor }), stop),
      ).catch(translated)
    },
    async close() {
      if (ownsEngine) await engine.close()
    },
  }
}

async function answer<Name extends OperationName>(
  name: Name,
  host: Host,
  input: Operations[Name]['input'],
  write: EngineWriteOptions,
): Promise<Operations[Name]['output']> {
  const known: Partial<Calls<OperationName>> = calls
  const call: Calls<OperationName>[Name] | undefined = known[name]
  if (call === undefined) throw notSupported(name)
  return call(host, input, write)
}

/** The engine cannot be stopped halfway, but the caller is released at once, as over a network. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason)
    signal.addEventListener('abort', onAbort, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort))
  })
}
