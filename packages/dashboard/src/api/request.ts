// One call to the server: JSON request and reply, the token in its header, and one kind of error for every failure.
import { authorization } from '../session.ts'

export interface CallOptions {
  readonly body?: unknown
  /** Sent unchanged instead of as JSON. */
  readonly raw?: { readonly type: string; readonly data: Blob | string }
  readonly query?: { readonly [name: string]: string | number | undefined }
  readonly signal?: AbortSignal | undefined
  readonly scope?: 'data' | 'control'
  /** Replaces the token of the session while a token is being verified. */
  readonly token?: string
}

/** An error reply of the server, or the reason why there was no reply. */
export class CallFailure extends Error {
  override readonly name = 'CallFailure'
  readonly code: string
  readonly status: number
  readonly field: string | undefined
  readonly limit: unknown
  readonly requestId: string | undefined

  constructor(
    message: string,
    about: { code: string; status: number; field?: string; limit?: unknown; requestId?: string },
  ) {
    super(message)
    this.code = about.code
    this.status = about.status
    this.field = about.field
    this.limit = about.limit
    this.requestId = about.requestId
  }
}

export async function call<T>(method: string, path: string, options: CallOptions = {}): Promise<T> {
  const response = await send(method, path, options)
  const text = await response.text()
  if (!response.ok) throw failureOf(response, text)
  return parseJson(text) as T
}

/** The reply as text, whatever its status, for the console, which shows both. */
export async function callText(method: string, path: string, options: CallOptions = {}) {
  const started = performance.now()
  const response = await send(method, path, options)
  const text = await response.text()
  return { status: response.status, headers: [...response.headers], text, ms: performance.now() - started }
}

export async function download(path: string, options: CallOptions = {}): Promise<Blob> {
  const response = await send('GET', path, { ...options })
  if (!response.ok) throw failureOf(response, await response.text())
  return response.blob()
}

async function send(method: string, path: string, options: CallOptions): Promise<Response> {
  const { body, raw, query, signal, scope, token = authorization(scope) } = options
  const headers: Record<string, string> = { accept: 'application/json' }
  if (token !== undefined) headers.authorization = token
  if (raw !== undefined) headers['content-type'] = raw.type
  else if (body !== undefined) headers['content-type'] = 'application/json'
  const sent = raw?.data ?? (body === undefined ? undefined : JSON.stringify(body))
  try {
    return await fetch(path + queryText(query), {
      method,
      headers,
      cache: 'no-store',
      credentials: 'omit',
      ...(signal === undefined ? {} : { signal }),
      ...(sent === undefined ? {} : { body: sent }),
    })
  } catch (error) {
    if (signal?.aborted) throw error
    throw new CallFailure('the server does not respond', { code: 'unreachable', status: 0 })
  }
}

function queryText(query: CallOptions['query'] = {}): string {
  const given = Object.entries(query).filter(([, value]) => value !== undefined)
  return given.length === 0 ? '' : `?${new URLSearchParams(given.map(([name, value]) => [name, String(value)]))}`
}

function failureOf(response: Response, text: string): CallFailure {
  const said = parseJson(text)
  const requestId = response.headers.get('x-request-id') ?? undefined
  if (typeof said !== 'object' || said === null || !('code' in said)) {
    const message = text.slice(0, 300) || `the server responded with status ${response.status}`
    return new CallFailure(message, { code: 'http_error', status: response.status, ...(requestId && { requestId }) })
  }
  const { error, code, field, limit } = said as { error?: unknown; code?: unknown; field?: unknown; limit?: unknown }
  return new CallFailure(String(error), {
    code: String(code),
    status: response.status,
    limit,
    ...(typeof field === 'string' && { field }),
    ...(requestId && { requestId }),
  })
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Encodes user input as one path segment. */
export const segment = encodeURIComponent

/** Segments that browsers and proxies remove from a path. */
const dotSegment = /(^|\/)\.\.?(\/|$)/

/** The path of an object. An id that a path cannot name unambiguously is also sent in the query string, or only there. */
export function objectPath(before: string, id: string, after = ''): string {
  const encoded = segment(id)
  if (dotSegment.test(id)) return `${before}/-${after}?id=${encoded}`
  return encoded.includes('%') ? `${before}/${encoded}${after}?id=${encoded}` : `${before}/${encoded}${after}`
}
