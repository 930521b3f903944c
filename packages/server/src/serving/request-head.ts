// Reads the head of an HTTP request of the most common form. Every other form is left to the HTTP server of the main thread, which
// receives the bytes unchanged: so this parser may be strict, and a request that could be read in two ways is never read here.
import type { IncomingHttpHeaders } from 'node:http'

export interface ParsedHead {
  readonly method: string
  readonly url: string
  readonly headers: IncomingHttpHeaders
  /** Bytes of the head, including the empty line. */
  readonly headBytes: number
  /** Bytes of the body. */
  readonly bodyBytes: number
  /** Whether the client closes the connection after this request. */
  readonly isLast: boolean
  /** False if a header occurs more than once: its meaning depends on the header. */
  readonly hasUniqueHeaders: boolean
}

/** Larger heads are rare. The limit of the server is higher. */
const headBytesMax = 8_192
const requestLine = /^(GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS) ([\x21-\x7e]+) HTTP\/1\.1$/
const headerLine =
  /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+):[ \t]*((?:[\x21-\x7e\x80-\xff](?:[\t\x20-\x7e\x80-\xff]*[\x21-\x7e\x80-\xff])?)?)[ \t]*$/
/** The beginnings of a request line and of a header. */
const requestLineStart =
  /^(G|GE|P|PO|POS|PU|PA|PAT|PATC|D|DE|DEL|DELE|DELET|H|HE|HEA|O|OP|OPT|OPTI|OPTIO|OPTION|(GET|POST|PUT|DELETE|PATCH|HEAD|OPTIONS)( [\x21-\x7e]*( (H|HT|HTT|HTTP|HTTP\/|HTTP\/1|HTTP\/1\.|HTTP\/1\.1\r?)?)?)?)$/
const headerLineStart = /^([!#$%&'*+\-.^_`|~0-9A-Za-z]+(:[\t\x20-\x7e\x80-\xff]*)?)?\r?$/
const bodyLength = /^\d{1,12}$/
/** With one of these, the length of the request or the meaning of the connection is another. */
const unusualHeaders: ReadonlySet<string> = new Set([
  'transfer-encoding',
  'upgrade',
  'expect',
  'te',
  'trailer',
  'http2-settings',
  'proxy-connection',
  'keep-alive',
])
const headEnd = Buffer.from('\r\n\r\n')

/**
 * A head with its text before and after the number of Content-Length: most requests of a connection repeat the head of the previous one
 * but for this number. Without Content-Length, all text is `before`.
 */
export interface KnownHead {
  readonly before: string
  readonly after: string
  readonly hasLength: boolean
  readonly head: ParsedHead
}

/**
 * The head at the beginning of the bytes. `incomplete`: more bytes are needed. `unusual`: only the HTTP server of the main thread may read
 * it. A head that repeats `known` has the same `headers` object, with the Content-Length of the newer one: the request of `known` must be
 * complete.
 */
export function readHead(bytes: Buffer, known: KnownHead | undefined): KnownHead | 'incomplete' | 'unusual' {
  const end = bytes.indexOf(headEnd)
  if (end < 0) return bytes.length < headBytesMax && canBecomeHead(bytes.toString('latin1')) ? 'incomplete' : 'unusual'
  if (end >= headBytesMax) return 'unusual'
  const text = bytes.toString('latin1', 0, end)
  return repeatHead(text, known) ?? parseHead(text) ?? 'unusual'
}

function repeatHead(text: string, known: KnownHead | undefined): KnownHead | undefined {
  if (known === undefined) return undefined
  const { before, after, hasLength, head } = known
  if (!hasLength) return text === before ? known : undefined
  if (!text.startsWith(before) || !text.endsWith(after)) return undefined
  // Empty, which is not a number, if `before` and `after` overlap.
  const length = text.slice(before.length, text.length - after.length)
  if (!bodyLength.test(length)) return undefined
  const { headers } = head
  if (headers['content-length'] === length) return known
  headers['content-length'] = length
  const { method, url, isLast, hasUniqueHeaders } = head
  const headBytes = text.length + headEnd.length
  return {
    before,
    after,
    hasLength,
    head: { method, url, headers, headBytes, bodyBytes: Number(length), isLast, hasUniqueHeaders },
  }
}

/** What is wrong is answered when it arrives, not when the rest has arrived. */
function canBecomeHead(text: string): boolean {
  const lines = text.split('\r\n')
  const last = lines.pop()!
  if (lines.length === 0) return requestLineStart.test(last)
  if (!requestLine.test(lines[0]!) || !headerLineStart.test(last)) return false
  return lines.every((line, index) => index === 0 || headerLine.test(line))
}

function parseHead(text: string): KnownHead | undefined {
  const lines = text.split('\r\n')
  const [, method, url] = requestLine.exec(lines[0]!) ?? []
  if (method === undefined || url === undefined) return undefined
  const headers: Record<string, string> = Object.create(null)
  let hasUniqueHeaders = true
  let lengthAt = -1
  let at = lines[0]!.length
  for (let line = 1; line < lines.length; line++) {
    const [, name = '', value = ''] = headerLine.exec(lines[line]!) ?? []
    const lineAt = at + 2
    at = lineAt + lines[line]!.length
    const key = name.toLowerCase()
    if (key === '' || unusualHeaders.has(key)) return undefined
    if (headers[key] !== undefined) {
      // Two lengths, or two statements about the connection.
      if (key === 'content-length' || key === 'connection' || key === 'host') return undefined
      hasUniqueHeaders = false
    }
    headers[key] = value
    // Only a colon and blanks are between the name and the value.
    if (key === 'content-length') lengthAt = lineAt + lines[line]!.indexOf(value, name.length + 1)
  }
  const length = headers['content-length'] ?? '0'
  const connection = headers.connection?.toLowerCase() ?? 'keep-alive'
  if (!bodyLength.test(length) || headers.host === undefined) return undefined
  if (connection !== 'keep-alive' && connection !== 'close') return undefined
  const headBytes = text.length + headEnd.length
  const isLast = connection === 'close'
  const head = { method, url, headers, headBytes, bodyBytes: Number(length), isLast, hasUniqueHeaders }
  if (lengthAt < 0) return { before: text, after: '', hasLength: false, head }
  return { before: text.slice(0, lengthAt), after: text.slice(lengthAt + length.length), hasLength: true, head }
}
