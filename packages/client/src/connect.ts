// The entry point: creates a Client from a URL or a transport.
import { Client } from './client.ts'
import { type HttpOptions, httpTransport } from './http/transport.ts'
import type { Transport } from './transport.ts'

/** Either the URL of a server, or a custom transport. */
export type ConnectOptions = HttpOptions | { readonly transport: Transport }

/**
 * Opens no connection yet; `client.health()` checks whether the server responds.
 *
 * ```ts
 * const client = connect({ url: 'http://localhost:8080', token: process.env.ANNAL_TOKEN })
 * const films = await client.createIndex({ name: 'films', dimension: 3 })
 * await films.upsert([{ id: 'alien', vector: [0.1, 0.9, 0.2], meta: { year: 1979 } }])
 * const hits = await films.query({ vector: [0, 1, 0], topK: 5 })
 * ```
 */
export function connect(options: ConnectOptions): Client {
  return new Client('transport' in options ? options.transport : httpTransport(options))
}
