// The HTTP server of the main thread when serving threads listen in its place. It has the interface of `http.Server`, so the framework and
// the routes use it like one. Its connections are virtual: the serving threads forward requests to it.
import dns from 'node:dns/promises'
import type { IncomingMessage, RequestListener, ServerOptions, ServerResponse } from 'node:http'
import net, { type AddressInfo } from 'node:net'
import type { TlsOptions } from '../access/tls.ts'
import { freeBytes } from '../http/free-bytes.ts'
import { connectionsCheckingIntervalMs } from '../limits.ts'
import { nodeHttp } from '../node-modules.ts'
import type { ListenAddress, ThreadTls } from './messages.ts'
import { ServingThreads } from './serving-threads.ts'
import { SharedCounts } from './shared-counts.ts'
import { VirtualSocket } from './virtual-socket.ts'

export interface ThreadedServerOptions {
  readonly threads: number
  readonly tls: TlsOptions | undefined
  readonly node: ServerOptions
  onNotice(sentence: string): void
  onThreadExit?(thread: number): void
  /** The program of the threads, and the CPU time that they may use without progress. Tests replace both. */
  readonly program?: string
  readonly patienceMs?: number
}

interface ListenOptions {
  readonly host?: string
  readonly port?: number
  readonly backlog?: number
}

const backlogDefault = 511

/** Releases of Node.js in which `reusePort` was added. Earlier ones ignore it, and then only the first thread could listen. */
const firstReleases: readonly (readonly [major: number, minor: number])[] = [
  [22, 12],
  [23, 1],
]

/** Whether several threads can listen on one port: where Node.js and libuv support `reusePort` and the system distributes the connections. */
export function canSharePort(
  platform: NodeJS.Platform = process.platform,
  version: string = process.versions.node,
): boolean {
  const [major = 0, minor = 0] = version.split('.').map(Number)
  const first = firstReleases.find(([one]) => one === major)
  const hasOption = first === undefined ? major > 23 : minor >= first[1]
  return hasOption && ['linux', 'freebsd', 'aix', 'sunos'].includes(platform)
}

const { Server } = nodeHttp()

export class ThreadedServer extends Server {
  readonly #options: ThreadedServerOptions
  readonly #counts: SharedCounts
  #threads: ServingThreads | undefined
  #address: AddressInfo | undefined
  #checking: NodeJS.Timeout | undefined

  constructor(options: ThreadedServerOptions, listener: RequestListener) {
    super(options.node, listener)
    this.#options = options
    this.#counts = new SharedCounts(options.threads)
    this.on('request', reportServed)
    // Defined here, because a property of the instance could hide an accessor of the class.
    Object.defineProperty(this, 'maxConnections', {
      get: () => this.#counts.connectionsMax,
      set: (limit: number) => {
        this.#counts.connectionsMax = limit
      },
    })
    Object.defineProperty(this, 'listening', { get: () => this.#address !== undefined })
  }

  /** The serving threads; undefined before `listen`. */
  get threads(): ServingThreads | undefined {
    return this.#threads
  }

  /** Connections of all threads, and of each. */
  get counts(): SharedCounts {
    return this.#counts
  }

  /** Emits `listening` when every thread listens, or `error`. */
  override listen(options?: unknown): this {
    this.#listen(options as ListenOptions).then(
      () => this.emit('listening'),
      (error: unknown) => this.emit('error', error),
    )
    return this
  }

  override address(): AddressInfo | null {
    return this.#address ?? null
  }

  override getConnections(done: (error: Error | null, count: number) => void): this {
    process.nextTick(done, null, this.#counts.connections())
    return this
  }

  /** Accepts no more connections. Calls back when all are closed. */
  override close(done?: (error?: Error) => void): this {
    const isListening = this.#address !== undefined
    this.#address = undefined
    this.closeIdleConnections()
    const stopped = this.#threads?.stop() ?? Promise.resolve()
    void stopped.then(() => {
      clearInterval(this.#checking)
      // Ends what the server itself has: the check of its timeouts.
      super.close()
      done?.(isListening ? undefined : notRunning())
    })
    return this
  }

  override closeAllConnections(): void {
    super.closeAllConnections()
    void this.#threads?.end()
  }

  /** New connections use this certificate. */
  setSecureContext(tls: TlsOptions): void {
    this.#threads?.setTls(threadTls(tls))
  }

  async #listen({ host = 'localhost', port = 0, backlog = backlogDefault }: ListenOptions): Promise<void> {
    const hosts = await hostsOf(host)
    // `reusePort` also lets another process of this user listen on the port, which would then get part of the connections.
    if (port !== 0) await assertFree({ host: hosts[0]!, port })
    const addresses = hosts.map(
      (each, index): ListenAddress => ({ host: each, port, backlog, isRequired: index === 0 }),
    )
    const { tls, onNotice, onThreadExit, program, patienceMs } = this.#options
    const threads = new ServingThreads({
      counts: this.#counts,
      tls: tls === undefined ? undefined : threadTls(tls),
      ...(program === undefined ? {} : { program }),
      ...(patienceMs === undefined ? {} : { patienceMs }),
      events: {
        onConnection: (socket) => {
          this.emit('connection', socket)
          // After the parser, which copies what it passes on.
          socket.on('data', freeBytes)
        },
        onNotice,
        ...(onThreadExit === undefined ? {} : { onExit: onThreadExit }),
      },
    })
    this.#threads = threads
    try {
      const chosen = await threads.listen(addresses)
      this.#address = { address: hosts[0]!, port: chosen, family: net.isIPv6(hosts[0]!) ? 'IPv6' : 'IPv4' }
    } catch (error) {
      await threads.end()
      throw error
    }
    this.#checking = setInterval(() => threads.checkTimeouts(), connectionsCheckingIntervalMs).unref()
  }
}

/** A serving thread reads the next request of the connection when the reply to the last one is complete. */
function reportServed(request: IncomingMessage, response: ServerResponse): void {
  const socket: unknown = request.socket
  if (socket instanceof VirtualSocket) response.once('finish', () => socket.sendServed())
}

function threadTls({ cert, key, secureOptions }: TlsOptions): ThreadTls {
  return { cert: new Uint8Array(cert), key: new Uint8Array(key), minVersion: 'TLSv1.2', secureOptions }
}

/** The IP addresses of a name. Only `localhost` is served on all of them. */
async function hostsOf(host: string): Promise<string[]> {
  if (net.isIP(host) !== 0) return [host]
  if (host !== 'localhost') return [(await dns.lookup(host)).address]
  const found = await dns.lookup(host, { all: true })
  return [...new Set(found.map(({ address }) => address))]
}

/** Rejects with the error of the system if another socket listens on the address. */
async function assertFree(address: { readonly host: string; readonly port: number }): Promise<void> {
  const probe = net.createServer()
  await new Promise<void>((resolve, reject) => {
    probe.once('error', reject)
    probe.listen(address, () => probe.close(() => resolve()))
  })
}

function notRunning(): Error {
  return Object.assign(new Error('Server is not running.'), { code: 'ERR_SERVER_NOT_RUNNING' })
}
