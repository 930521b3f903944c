// A real server with a real engine on a temporary directory, and functions to send requests to it.
import { mkdtemp, rm } from 'node:fs/promises'
import os from 'node:os'
import path from 'node:path'
import { type Engine, openEngine } from '@annal/engine'
import { decode, encode } from '@msgpack/msgpack'
import type { FastifyInstance } from 'fastify'
import { type Attempts, createAttempts } from '../src/access/attempts.ts'
import { type Config, createApp, readConfig, slotWith } from '../src/index.ts'
import { layLicense, testLicensing } from './licenses.ts'

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly bytes: Buffer
  readonly text: string
  /** The body as JSON; throws if it is not JSON. */
  json(): Record<string, unknown>
  msgpack(): unknown
}

export interface RunningApp {
  readonly url: string
  readonly app: FastifyInstance
  readonly engine: Engine
  readonly dataDir: string
  readonly config: Config
  send(method: string, route: string, options?: SendOptions): Promise<Answer>
}

export interface SendOptions {
  readonly json?: unknown
  readonly msgpack?: unknown
  /** Bytes or text, sent unchanged; `type` is their declared type. */
  readonly body?: Uint8Array | string
  readonly type?: string
  readonly accept?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
}

interface Teardown {
  teardown(fn: () => Promise<void>): unknown
}

export async function temporaryDirectory(t: Teardown): Promise<string> {
  const dir = await mkdtemp(path.join(os.tmpdir(), 'annal-server-'))
  t.teardown(() => rm(dir, { recursive: true, force: true }))
  return dir
}

export interface RunningOptions {
  readonly licensed?: boolean
  /** Counts wrong tokens; by default with the real clock, and without the delay of a wrong token. */
  readonly attempts?: Attempts
}

/** Wrong tokens without a limit: every reading of the clock is a minute later. */
export function unlimitedAttempts(): Attempts {
  let ms = 0
  return createAttempts({ now: () => (ms += 60_000), later: setImmediate })
}

/** With a root token a license is active, unless `licensed` is false. */
export async function runningApp(
  t: Teardown,
  changes: Partial<Config> = {},
  { licensed = true, attempts = createAttempts({ later: setImmediate }) }: RunningOptions = {},
): Promise<RunningApp> {
  const dataDir = await temporaryDirectory(t)
  const serverThreads = Number(process.env.ANNAL_SERVER_THREADS ?? 1)
  const config: Config = { ...readConfig({}).config, dataDir, port: 0, logLevel: 'silent', serverThreads, ...changes }
  const { topKMax, batchMax, collectionsMax } = config
  const engine = await openEngine({
    dataDir,
    threads: 1,
    readers: 2 * config.serverThreads,
    limits: { topKMax, batchMax, collectionsMax },
    asOf: { windowSeconds: config.asOfSeconds },
  })
  const slot = slotWith(engine)
  if (licensed && config.rootToken !== undefined) await layLicense(dataDir)
  const licensing = config.rootToken === undefined ? undefined : await testLicensing(dataDir, engine)
  const app = createApp({ slot, config, attempts, ...(licensing === undefined ? {} : { licensing }) })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  t.teardown(async () => {
    await app.close()
    await engine.close()
  })
  return { url, app, engine, dataDir, config, send: (method, route, options) => send(url, method, route, options) }
}

export async function send(url: string, method: string, route: string, options: SendOptions = {}): Promise<Answer> {
  const headers: Record<string, string> = { ...options.headers }
  if (options.accept !== undefined) headers.accept = options.accept
  const body = bodyOf(options)
  if (options.type !== undefined) headers['content-type'] = options.type
  else if (options.json !== undefined) headers['content-type'] = 'application/json'
  else if (options.msgpack !== undefined) headers['content-type'] = 'application/msgpack'
  const response = await fetch(url + route, { method, headers, ...(body === undefined ? {} : { body }) })
  const bytes = Buffer.from(await response.arrayBuffer())
  return {
    status: response.status,
    headers: response.headers,
    bytes,
    text: bytes.toString('utf8'),
    json: () => JSON.parse(bytes.toString('utf8')) as Record<string, unknown>,
    msgpack: () => decode(bytes),
  }
}

function bodyOf({ json, msgpack, body }: SendOptions): string | Buffer<ArrayBuffer> | undefined {
  if (body !== undefined) return typeof body === 'string' ? body : Buffer.from(body)
  if (json !== undefined) return JSON.stringify(json)
  return msgpack === undefined ? undefined : Buffer.from(encode(msgpack))
}

/** The index that most tests use. */
export async function createIndex(running: RunningApp, changes: Readonly<Record<string, unknown>> = {}): Promise<void> {
  const json = { index_name: 'docs', dim: 4, space_type: 'cosine', precision: 'float32', ...changes }
  const answer = await running.send('POST', '/api/v1/index/create', { json })
  if (answer.status !== 200) throw new Error(`index not created: ${answer.text}`)
}
