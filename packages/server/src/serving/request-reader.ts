// Collects the bytes of a client until a head or a whole request is there. It knows bytes and heads, not what is done with a request.
import { type KnownHead, type ParsedHead, readHead } from './request-head.ts'

/** A head, with all bytes that have arrived from its beginning on. */
export interface HeadRead {
  readonly bytes: Buffer
  readonly head: ParsedHead
}

/** A request whose body has not arrived as a whole. */
interface Partial<Request> {
  readonly request: Request
  readonly bytesWanted: number
  readonly chunks: Buffer[]
  bytes: number
}

/** `Request` is what the connection knows of a request beyond its bytes. */
export class RequestReader<Request> {
  /** Bytes whose head has not been read. */
  #pending: Buffer | undefined
  #partial: Partial<Request> | undefined
  #known: KnownHead | undefined
  /** When the first bytes of an incomplete request arrived. */
  #begunSecond = 0

  /** Whether no bytes wait. */
  get isEmpty(): boolean {
    return this.#pending === undefined && this.#partial === undefined
  }

  /** Whether bytes wait whose head has not been read. */
  get hasPending(): boolean {
    return this.#pending !== undefined
  }

  /** Whether a request is incomplete for this time, although bytes of it keep arriving. */
  isOld(nowSeconds: number, seconds: number): boolean {
    return nowSeconds - this.#begunSecond >= seconds
  }

  /** The time that the client has for its request begins now. */
  restart(nowSeconds: number): void {
    this.#begunSecond = nowSeconds
  }

  /** Adds bytes. Returns the request that they complete, if its body was awaited. */
  add(chunk: Buffer, nowSeconds: number): { readonly bytes: Buffer; readonly request: Request } | undefined {
    const partial = this.#partial
    if (partial === undefined) {
      if (this.#pending === undefined) this.#begunSecond = nowSeconds
      this.#pending = this.#pending === undefined ? chunk : Buffer.concat([this.#pending, chunk])
      return undefined
    }
    partial.chunks.push(chunk)
    partial.bytes += chunk.length
    if (partial.bytes < partial.bytesWanted) return undefined
    this.#partial = undefined
    return { bytes: Buffer.concat(partial.chunks, partial.bytes), request: partial.request }
  }

  /** The next head, whose bytes no longer wait here. Undefined while more bytes are needed. `unusual`: see readHead. */
  next(): HeadRead | 'unusual' | undefined {
    const bytes = this.#pending
    if (bytes === undefined || this.#partial !== undefined) return undefined
    const known = readHead(bytes, this.#known)
    if (known === 'incomplete') return undefined
    if (known === 'unusual') return known
    this.#known = known
    this.#pending = undefined
    return { bytes, head: known.head }
  }

  /** Waits for the rest of the request that begins with these bytes. */
  awaitBody({ bytes, head }: HeadRead, request: Request, nowSeconds: number): void {
    const bytesWanted = head.headBytes + head.bodyBytes
    this.#partial = { request, bytesWanted, chunks: [bytes], bytes: bytes.length }
    this.#begunSecond = nowSeconds
  }

  /** These bytes, which follow a request, are those that wait. */
  putBack(chunks: readonly Buffer[]): void {
    this.#pending = chunks.length > 1 ? Buffer.concat(chunks) : chunks[0]
  }

  /** Removes all bytes that wait, with the request that they belong to. */
  take(): { readonly chunks: readonly Buffer[]; readonly request: Request | undefined } {
    const pending = this.#pending === undefined ? [] : [this.#pending]
    const taken = { chunks: this.#partial?.chunks ?? pending, request: this.#partial?.request }
    this.#pending = undefined
    this.#partial = undefined
    return taken
  }
}
