// The entry point: creates a Client from a URL or a transport.
import { Client } from './client.ts'
import type { HttpOptions } from './http/peer.ts'
import { httpTransport } from './http/transport.ts'
import type { Transport } from './transport.ts'

/** The URL of a server or the URLs of the nodes of a cluster, alone or with options; or a custom transport. */
export type ConnectOptions = HttpOptions | HttpOptions['url'] | { readonly transport: Transport }

/**
 * Returns a client of a server, or of the nodes of a cluster: `connect(['http://a:8080', 'http://b:8080'])`. Opens no connection yet; `client.health()` checks whether the server responds.
 *
 * @example
 * ```ts
 * const client = connect({ url: 'http://localhost:8080', token: process.env.ANNAL_TOKEN })
 * const films = await client.createCollection({ name: 'films', fields: [{ name: 'plot', type: 'vector', params: { dimension: 3 } }] })
 * await films.upsert([{ id: 'alien', meta: { year: 1979 }, fields: { plot: [0.1, 0.9, 0.2] } }])
 * const { results } = await films.search({ fields: { plot: { query: [0, 1, 0], limit: 5 } } })
 * ```
 */
export function connect(options: ConnectOptions): Client {
  if (typeof options === 'string' || options instanceof URL || Array.isArray(options)) {
    return new Client(httpTransport({ url: options }))
  }
  // An array is handled above; Array.isArray does not exclude readonly ones.
  const given = options as Exclude<ConnectOptions, HttpOptions['url']>
  return new Client('transport' in given ? given.transport : httpTransport(given))
}
