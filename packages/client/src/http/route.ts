// A route converts an operation to a request, and the reply to a result.

import type { OperationName, Operations } from '../operations.ts'
import { jsonText } from './json-text.ts'
import type { ReadConditions } from './read-conditions.ts'

/** A request without its base URL and its token. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE'
  /** Below the base URL. */
  readonly path: string
  readonly body?: string | Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array> | Blob
  readonly contentType?: string
  readonly accept?: string
  /** The caller streams the reply; it is not read here. */
  readonly streamed?: boolean
}

/** A reply that was read, or its stream. */
export interface HttpReply {
  readonly status: number
  readonly bytes: Uint8Array
  readonly text: string
  /** Only for a `streamed` request, which has no bytes. */
  readonly stream?: ReadableStream<Uint8Array>
}

/**
 * When a failed call may be retried. `always`: reads, and writes that have the same effect when repeated. `when-refused`: only if it
 * certainly was not started, or has a request key and the server keeps keys. `never`: the caller needs the first reply.
 */
export type RetryRule = 'always' | 'when-refused' | 'never'

export interface Route<Name extends OperationName> {
  readonly retry: RetryRule
  /** The server keeps request keys for it, so every call has one. */
  readonly takesKey?: true
  /**
   * Any node of a cluster may answer it; others are for the leader. `body` and `query` are where the conditions of the read go; `none` has no
   * conditions.
   */
  readonly reads?: 'body' | 'query' | 'none'
  /** The default timeout of a call that takes long by nature. No other node is tried before the call ends. */
  readonly timeoutMs?: number
  /** `read` are the conditions of a route whose `reads` is `body`. */
  request(input: Operations[Name]['input'], read: ReadConditions): HttpRequest | Promise<HttpRequest>
  /** The same request in a form that servers of earlier versions refuse with 415. Undefined if this input has no such form. */
  readonly compact?: (input: Operations[Name]['input'], read: ReadConditions) => HttpRequest | undefined
  /** Statuses other than 2xx that are valid replies. */
  readonly answers?: (status: number, code: string | undefined) => boolean
  reply(
    reply: HttpReply,
    input: Operations[Name]['input'],
  ): Operations[Name]['output'] | Promise<Operations[Name]['output']>
}

export type Routes<Names extends OperationName> = { readonly [Name in Names]: Route<Name> }

export const messagePack = 'application/msgpack'
/** For routes that reply with a sentence. */
export const sentence = 'application/json, text/plain'

const json = 'application/json'

export function get(path: string): HttpRequest {
  return { method: 'GET', path, accept: json }
}

export function post(path: string, body: unknown, accept: string = json): HttpRequest {
  return { method: 'POST', path, body: jsonText(body, ''), contentType: json, accept }
}

export function remove(path: string, body?: unknown): HttpRequest {
  return body === undefined ? { method: 'DELETE', path, accept: json } : { ...post(path, body), method: 'DELETE' }
}

/** Segments that clients and proxies remove from a path, some of them also if the slashes around them are encoded. */
const dotSegment = /(^|\/)\.\.?(\/|$)/

/**
 * The path of an object. An id that a path cannot name unambiguously is also sent in the query string, because a server cannot know
 * whether `%` was encoded. An id with a segment `.` or `..` is sent there only: in a path, it could become the path of the collection.
 */
export function objectPath(before: string, id: string, after = ''): string {
  const encoded = segment(id)
  if (dotSegment.test(id)) return `${before}/-${after}?id=${encoded}`
  return encoded.includes('%') ? `${before}/${encoded}${after}?id=${encoded}` : `${before}/${encoded}${after}`
}

/** Encodes any name as one path segment. */
export function segment(name: string): string {
  return encodeURIComponent(name)
}
