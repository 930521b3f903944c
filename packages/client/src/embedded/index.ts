// @annal/client/embedded: the same client on an engine in this process. Requires @annal/engine and Node.js.
import { type Engine, type EngineOptions, openEngine } from '@annal/engine'
import { Client } from '../client.ts'
import type { Transport } from '../transport.ts'
import { translated } from './failure.ts'
import { embeddedTransport } from './transport.ts'

/** Options of a client on an engine. */
export interface EmbeddedOptions {
  /** The database of the engine; default `default`. */
  readonly database?: string | undefined
}

/**
 * Opens a data directory, which the client owns: `client.close()` closes it.
 *
 * @example
 * ```ts
 * const client = await openEmbedded({ dataDir: './data' })
 * const films = await client.createCollection({ name: 'films', fields: [{ name: 'plot', type: 'vector', params: { dimension: 3 } }] })
 * await client.close()
 * ```
 */
export async function openEmbedded(options: EngineOptions & EmbeddedOptions): Promise<Client> {
  return new Client(await openEmbeddedTransport(options))
}

/**
 * Opens a data directory as the transport of clients: `transport.close()` closes it.
 *
 * @example
 * ```ts
 * import { Client } from '@annal/client'
 *
 * const client = new Client(await openEmbeddedTransport({ dataDir: './data' }))
 * ```
 */
export async function openEmbeddedTransport({
  database,
  ...options
}: EngineOptions & EmbeddedOptions): Promise<Transport> {
  const engine = await openEngine(options).catch(translated)
  return embeddedTransport({ engine, database, ownsEngine: true })
}

/**
 * A client on an engine that the caller opens and closes.
 *
 * @example
 * ```ts
 * import { openEngine } from '@annal/engine'
 *
 * const engine = await openEngine({ dataDir: './data' })
 * const client = embeddedClient(engine)
 * ```
 */
export function embeddedClient(engine: Engine, options: EmbeddedOptions = {}): Client {
  return new Client(embeddedTransport({ engine, ...options, ownsEngine: false }))
}

export type { Engine, EngineOptions } from '@annal/engine'
