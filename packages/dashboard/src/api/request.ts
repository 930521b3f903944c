// One request to the server with the token of the session, for pages that need requests and replies as they are on the wire (decision 32).
// The client sends it.
import {
  type HttpReply,
  type HttpRequest,
  httpRequests,
  objectPath,
  type RequestOptions,
  segment,
} from '@annal/client/http'
import { authorization } from '../session.ts'
import { connectionWith, workTimeoutMs } from './connection.ts'

export { AnnalError } from '@annal/client/http'
export { objectPath, segment }

export interface CallOptions {
  readonly body?: unknown
  /** Sent unchanged instead of as JSON. */
  readonly raw?: { readonly type: string; readonly data: Blob | string }
  readonly query?: { readonly [name: string]: string | number | undefined }
  readonly signal?: AbortSignal | undefined
  readonly scope?: 'data' | 'control'
  /** Replaces the token of the session while a token is being verified. */
  readonly token?: string
  readonly timeoutMs?: number
  /** Sent by a person, not by a page that keeps itself up to date. */
  readonly byHand?: boolean | undefined
}

export async function call<T>(method: HttpRequest['method'], path: string, options: CallOptions = {}): Promise<T> {
  const { text } = await send(requestOf(method, path, options), options)
  return parseJson(text) as T
}

/** The reply as text, whatever its status, for the console, which shows both; or only for the errors that `answers` accepts. */
export async function callText(
  method: HttpRequest['method'],
  path: string,
  { answers = () => true, ...options }: CallOptions & { readonly answers?: RequestOptions['answers'] } = {},
) {
  const started = performance.now()
  const { status, text } = await send(requestOf(method, path, options), options, answers)
  return { status, text, ms: performance.now() - started }
}

function send(request: HttpRequest, options: CallOptions, answers?: RequestOptions['answers']): Promise<HttpReply> {
  const { signal, scope, token = authorization(scope), byHand } = options
  // A request that changes something may work on a whole collection.
  const { timeoutMs = request.method === 'GET' ? undefined : workTimeoutMs } = options
  return httpRequests(connectionWith(token, { byHand })).send(request, { signal, timeoutMs, answers })
}

function requestOf(method: HttpRequest['method'], path: string, { body, raw, query }: CallOptions): HttpRequest {
  const request = { method, path: path + queryText(query), accept: 'application/json' }
  if (raw !== undefined) return { ...request, body: raw.data, contentType: raw.type }
  return body === undefined ? request : { ...request, body: JSON.stringify(body), contentType: 'application/json' }
}

function queryText(query: CallOptions['query'] = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
