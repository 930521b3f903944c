// A server with the part of the S3 API that a log in a bucket uses, with conditional writes and with faults: delays, errors,
// replies that are lost, writes that arrive late, lists that are old, and conditions that are ignored. It keeps objects in
// memory and does not check signatures. Replaces a real one, because none with conditional writes can be had without Docker;
// docs/decisions names the real ones that were not tried.
import { createHash } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { buffer } from 'node:stream/consumers'
import type { Random } from '@annal/wal/testing'
import type { Test } from 'tap'
import { setVariable } from '../s3-server.ts'

/** How often requests fail, as probabilities, and what the server does not do. */
export interface ObjectFaults {
  /** The request is answered with 503 and has no effect. */
  readonly refuse: number
  /** The request has its effect, and the connection ends without a reply. */
  readonly loseReply: number
  /** A write is answered with 503 and has its effect later. */
  readonly late: number
  /** Longest delay of a reply, in milliseconds. */
  readonly delayMs: number
  /** Every reply is delayed by this, in milliseconds. */
  readonly roundTripMs: number
  /** Lists show what was there so many writes ago. */
  readonly listBehind: number
  readonly ignoresIfNoneMatch: boolean
  readonly ignoresIfMatch: boolean
  /** A write with a condition is answered with 501, as by servers that do not know them. */
  readonly lacksConditions: boolean
  /** Every request gets this answer and has no effect: the bucket is gone, credentials were revoked, or the server is overloaded. */
  readonly answers?: { readonly status: number; readonly code: string }
  /** No request is answered. */
  readonly hangs: boolean
}

/** A server that does what it should. */
export const soundObjects: ObjectFaults = {
  refuse: 0,
  loseReply: 0,
  late: 0,
  delayMs: 0,
  roundTripMs: 0,
  listBehind: 0,
  ignoresIfNoneMatch: false,
  ignoresIfMatch: false,
  lacksConditions: false,
  hangs: false,
}
/** A server with every fault that a log must survive. */
export const roughObjects: ObjectFaults = {
  ...soundObjects,
  refuse: 0.02,
  loseReply: 0.02,
  late: 0.02,
  delayMs: 1,
  listBehind: 20,
}

interface StoredObject {
  readonly bytes: Buffer
  readonly etag: string
}

/** The server of a test. */
export class ObjectServer {
  readonly #random: Random
  faults: ObjectFaults
  /** The first write of each object with such a key has its effect, and its reply is lost. */
  losesFirstReply: (key: string) => boolean = () => false
  /** Requests with this access key are refused, as if a network were cut between their sender and the server. */
  refusedKey: string | undefined
  readonly #objects = new Map<string, StoredObject>()
  /** What lists showed after each write, newest last. */
  readonly #listed: (readonly string[])[] = [[]]
  readonly #counts = new Map<string, number>()

  constructor(random: Random, faults: ObjectFaults = soundObjects) {
    this.#random = random
    this.faults = faults
  }

  /** Listens until the test ends; the S3 variables of this process point to it. */
  async listen(t: Test): Promise<void> {
    const { environment, close } = await this.open()
    t.teardown(close)
    for (const [name, value] of Object.entries(environment)) setVariable(t, name, value)
  }

  /** Listens. Returns the variables with which programs reach it. */
  async open(): Promise<{ readonly environment: Readonly<Record<string, string>>; close(): void }> {
    const server = createServer((request, response) => void this.#answer(request, response))
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    return {
      environment: {
        AWS_ENDPOINT_URL_S3: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
        AWS_REGION: 'us-east-1',
        AWS_ACCESS_KEY_ID: 'key',
        AWS_SECRET_ACCESS_KEY: 'secret',
      },
      close() {
        server.closeAllConnections()
        server.close()
      },
    }
  }

  get keys(): readonly string[] {
    return [...this.#objects.keys()].sort()
  }

  /** The requests with this method so far. */
  requests(method: string): number {
    return this.#counts.get(method) ?? 0
  }

  /** The bucket is deleted and created again. */
  clear(): void {
    this.#objects.clear()
    this.#note()
  }

  /** Deletes one object. */
  lose(key: string): void {
    this.#objects.delete(key)
    this.#note()
  }

  /** Changes one byte of an object. */
  damage(key: string): void {
    const { bytes, etag } = this.#objects.get(key) ?? { bytes: Buffer.alloc(0), etag: '' }
    const changed = Buffer.from(bytes)
    const at = changed.length >> 1
    changed[at] = (changed[at] ?? 0) ^ 1
    this.#objects.set(key, { bytes: changed, etag })
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method = '', url = '' } = request
    this.#counts.set(method, this.requests(method) + 1)
    const body = await buffer(request)
    const { refuse, loseReply, late, delayMs, roundTripMs, answers, hangs } = this.faults
    if (hangs) return
    if (this.refusedKey !== undefined && request.headers.authorization?.includes(`Credential=${this.refusedKey}/`))
      return reply(response, { status: 403, body: errorXml('AccessDenied') }, method === 'HEAD')
    if (answers !== undefined)
      return reply(response, { status: answers.status, body: errorXml(answers.code) }, method === 'HEAD')
    const fate = this.#random.next()
    const act = () => this.#act(method, new URL(url, 'http://localhost'), request, body)
    if (roundTripMs > 0) await new Promise((resolve) => setTimeout(resolve, roundTripMs))
    if (delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.#random.next() * delayMs))
    if (fate < refuse) return reply(response, { status: 503 })
    if (fate < refuse + late && method === 'PUT') {
      setTimeout(act, this.#random.next() * 50)
      return reply(response, { status: 503 })
    }
    const before = this.#objects.size
    const answer = act()
    const isNew = method === 'PUT' && this.#objects.size > before
    if (fate > 1 - loseReply || (isNew && this.losesFirstReply(url))) {
      response.destroy()
      return
    }
    reply(response, answer, method === 'HEAD')
  }

  #act(method: string, url: URL, { headers }: IncomingMessage, body: Buffer): Answer {
    const [, , ...rest] = url.pathname.split('/')
    const key = decodeURIComponent(rest.join('/'))
    if (method === 'PUT') return this.#put(key, body, headers['if-none-match'], headers['if-match'])
    if (method === 'POST') return this.#deleteMany(body.toString())
    if (key === '') return this.#list(url.searchParams)
    const found = this.#objects.get(key)
    return found === undefined ? { status: 404 } : { status: 200, body: found.bytes, etag: found.etag }
  }

  #put(key: string, bytes: Buffer, ifNoneMatch: string | undefined, ifMatch: string | undefined): Answer {
    const there = this.#objects.get(key)
    if (this.faults.lacksConditions && (ifNoneMatch ?? ifMatch) !== undefined)
      return { status: 501, body: errorXml('NotImplemented') }
    if (ifNoneMatch === '*' && there !== undefined && !this.faults.ignoresIfNoneMatch) return { status: 412 }
    if (ifMatch !== undefined && ifMatch !== there?.etag && !this.faults.ignoresIfMatch) return { status: 412 }
    const etag = `"${createHash('md5').update(bytes).digest('hex')}"`
    this.#objects.set(key, { bytes, etag })
    this.#note()
    return { status: 200, etag }
  }

  #deleteMany(xml: string): Answer {
    for (const [, key = ''] of xml.matchAll(/<Key>([^<]*)<\/Key>/g)) this.#objects.delete(key)
    this.#note()
    return { status: 200, body: Buffer.from('<DeleteResult/>') }
  }

  #list(search: URLSearchParams): Answer {
    const shown = this.#listed[Math.max(0, this.#listed.length - 1 - this.faults.listBehind)] ?? []
    const prefix = search.get('prefix') ?? ''
    const count = Number(search.get('max-keys') ?? 1000)
    const after = search.get('start-after') ?? ''
    const keys = shown.filter((key) => key.startsWith(prefix) && key > after).slice(0, count)
    const contents = keys.map((key) => `<Contents><Key>${key}</Key></Contents>`).join('')
    return { status: 200, body: Buffer.from(`<ListBucketResult>${contents}</ListBucketResult>`) }
  }

  #note(): void {
    this.#listed.push(this.keys)
    if (this.#listed.length > 100) this.#listed.shift()
  }
}

function errorXml(code: string): Buffer {
  return Buffer.from(
    `<?xml version="1.0" encoding="UTF-8"?><Error><Code>${code}</Code><Message>${code}</Message></Error>`,
  )
}

interface Answer {
  readonly status: number
  readonly body?: Buffer
  readonly etag?: string
}

function reply(response: ServerResponse, { status, body, etag }: Answer, isHead = false): void {
  response.writeHead(status, { ...(etag && { etag }), 'content-length': body?.length ?? 0 })
  response.end(isHead ? undefined : body)
}
