// Writes requests as HTTP/1.1 in every form that clients and attackers use: spellings of headers and paths, chunked and split bodies,
// pipelining, and heads and bodies that are wrong or end early.
import type { Choices } from './choices.ts'
import type { Plan } from './hot-requests.ts'
import type { Exchange, Turn } from './raw-connection.ts'

export interface Authority {
  readonly host: string
  /** Values of Authorization that are right. None if the server needs no token. */
  readonly tokens: readonly string[]
}

/** One to four requests over one connection. Only the last may be malformed, because a server may close the connection after it. */
export function rawExchange(choices: Choices, authority: Authority, plan: () => Plan): Exchange {
  const count = choices.one([1, 1, 2, 3, 4])
  const written = Array.from({ length: count }, (_, i) => writeRequest(choices, authority, plan(), i === count - 1))
  const isCut = written.at(-1)?.isCut ?? false
  const methods = written.map(({ method }) => method)
  // An error in the last request would end the connection while the replies to others are on their way. A reply may end the connection, and
  // then it depends on the time whether a server makes the changes of the requests that have already arrived.
  const isPipelined = choices.chance(0.4) && !isOdd(written) && written.slice(1).every(({ isRead }) => isRead)
  const turns: Turn[] = isPipelined
    ? [{ parts: split(choices, Buffer.concat(written.map(({ bytes }) => bytes)), false), methods }]
    : written.map((one) => ({ parts: split(choices, one.bytes, one.isOdd), methods: [one.method] }))
  return { turns, isCut }
}

interface Written {
  readonly method: string
  readonly bytes: Buffer
  readonly isCut: boolean
  readonly isOdd: boolean
  /** Changes nothing. */
  readonly isRead: boolean
}

const reads = /\/(search|batch|query|get|scroll|count|facets)$/

function isOdd(written: readonly Written[]): boolean {
  return written.some((one) => one.isOdd)
}

/**
 * A server that has rejected the first part closes the connection while the others are on their way, and the system may then drop the reply:
 * malformed requests are sent at once.
 */
function split(choices: Choices, bytes: Buffer, isOdd: boolean): Buffer[] {
  if (isOdd || choices.chance(0.6)) return [bytes]
  const cuts = Array.from({ length: 1 + choices.below(3) }, () => choices.below(bytes.length)).sort((a, b) => a - b)
  return [0, ...cuts].map((from, i) => bytes.subarray(from, cuts[i])).filter((part) => part.length > 0)
}

function writeRequest(choices: Choices, authority: Authority, plan: Plan, isLast: boolean): Written {
  const { method, path, type, body = Buffer.alloc(0) } = plan
  const hasBody = plan.body !== undefined
  const headers: [string, string][] = [['Host', authority.host]]
  if (authority.tokens.length > 0) headers.push(['Authorization', choices.one(authority.tokens)])
  if (type !== undefined) headers.push(['Content-Type', type])
  if (choices.chance(0.5)) headers.push(['Accept', choices.one(accepts)])
  if (choices.chance(0.12)) headers.push(choices.one(harmless))
  const isChunked = hasBody && choices.chance(0.15)
  if (isChunked) headers.push(['Transfer-Encoding', choices.one(['chunked', 'Chunked'])])
  else if (hasBody) headers.push(['Content-Length', `${body.length}`])
  if (isLast && choices.chance(0.3)) headers.push(['Connection', choices.one(['close', 'Close', 'close, x'])])
  const line = `${method} ${choices.chance(0.95) ? path : oddPath(choices, path, authority)} HTTP/1.1`
  const lines = shuffled(choices, headers).map(([name, value]) => `${spelled(choices, name)}: ${value}`)
  const sent = isChunked ? chunked(choices, body) : body
  const head = `${[line, ...lines].join('\r\n')}\r\n\r\n`
  const whole = Buffer.concat([Buffer.from(head, 'latin1'), sent])
  const isRead = method === 'GET' || (method === 'POST' && reads.test(path))
  const normal: Written = { method, bytes: whole, isCut: false, isOdd: false, isRead }
  return isLast && choices.chance(0.12) ? malformed(choices, { normal, line, lines, sent }) : normal
}

const accepts = [
  'application/json',
  'application/msgpack',
  '*/*',
  'application/json, text/plain, */*',
  'application/msgpack;q=0.5, application/json',
  'text/html',
  'application/*',
  '',
  'APPLICATION/JSON',
]

const harmless: [string, string][] = [
  ['X-Request-Id', 'mine'],
  ['Origin', 'https://example.com'],
  ['Origin', 'null'],
  ['Expect', '100-continue'],
  ['Expect', 'something'],
  ['Content-Encoding', 'gzip'],
  ['Content-Encoding', 'identity'],
  ['Accept-Encoding', 'gzip, br'],
  ['Cookie', 'a=b'],
  ['X-Forwarded-For', '10.0.0.1'],
  ['Traceparent', '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01'],
  ['User-Agent', 'ünïcode'],
  ['If-None-Match', '*'],
  ['Range', 'bytes=0-3'],
  ['Upgrade', 'h2c'],
  ['X-HTTP-Method-Override', 'DELETE'],
  ['Access-Control-Request-Method', 'POST'],
  ['Date', 'x'],
  ['Authorization', 'wrong'],
]

function oddPath(choices: Choices, path: string, { host }: Authority): string {
  const position = 1 + choices.below(path.length - 1)
  return choices.one([
    `${path}/`,
    `/${path}`,
    `${path}?`,
    `${path}?a=b&k=3`,
    `${path};x`,
    `http://${host}${path}`,
    `${path.slice(0, position)}/../${path.slice(position)}`,
    `${path.slice(0, position)}%${path.slice(position)}`,
    `${path.slice(0, position)}%2F${path.slice(position)}`,
    `${path.slice(0, position)}%00${path.slice(position)}`,
    path.replace(/[a-z]/, (letter) => `%${letter.charCodeAt(0).toString(16)}`),
    path.replace('docs', '%64%6Fcs'),
    path.replace('docs', 'DOCS'),
    path.toUpperCase(),
    path.replace('/api', ''),
    `${path}#x`,
    `${path}${'x'.repeat(3_000)}`,
    '*',
    '/',
  ])
}

function spelled(choices: Choices, name: string): string {
  if (choices.chance(0.6)) return name
  return choices.one([
    name.toLowerCase(),
    name.toUpperCase(),
    [...name].map((c) => (choices.chance(0.5) ? c.toUpperCase() : c.toLowerCase())).join(''),
  ])
}

function shuffled<T>(choices: Choices, list: readonly T[]): T[] {
  return list
    .map((value) => [choices.next(), value] as const)
    .sort(([a], [b]) => a - b)
    .map(([, value]) => value)
}

function chunked(choices: Choices, body: Buffer): Buffer {
  const parts: Buffer[] = []
  for (let from = 0; from < body.length; ) {
    const length = Math.min(body.length - from, 1 + choices.below(body.length))
    const size = length.toString(16)
    parts.push(
      Buffer.from(`${choices.one([size, size.toUpperCase(), `0${size}`])}${choices.one(['', '', ';a=b'])}\r\n`),
      body.subarray(from, from + length),
      Buffer.from('\r\n'),
    )
    from += length
  }
  parts.push(Buffer.from(choices.chance(0.8) ? '0\r\n\r\n' : '0\r\nX-Trailer: y\r\n\r\n'))
  return Buffer.concat(parts)
}

interface Parts {
  readonly normal: Written
  readonly line: string
  readonly lines: readonly string[]
  readonly sent: Buffer
}

function malformed(choices: Choices, { normal, line, lines, sent }: Parts): Written {
  const write = (first: string, rest: readonly string[], isCut = false): Written => ({
    method: normal.method,
    bytes: Buffer.concat([Buffer.from(`${[first, ...rest].join('\r\n')}\r\n\r\n`, 'latin1'), sent]),
    isCut,
    isOdd: true,
    isRead: normal.isRead,
  })
  const withLength = (length: string): string[] =>
    lines.map((one) => (/^content-length/i.test(one) ? `Content-Length: ${length}` : one))
  const [, ...rest] = lines
  return choices.one<() => Written>([
    () => ({
      ...normal,
      bytes: normal.bytes.subarray(0, choices.below(normal.bytes.length)),
      isCut: true,
      isOdd: true,
    }),
    () => write(line.replace('HTTP/1.1', 'HTTP/1.0'), lines),
    () => write(line.replace('HTTP/1.1', 'HTTP/2.0'), lines),
    () => write(line.replace(' HTTP/1.1', ''), lines),
    () => write(line.toLowerCase(), lines),
    () => write(line.replace(/^\w+/, 'BREW'), lines),
    () => write(line.replace(' ', '  '), lines),
    () => write(line, rest),
    () => write(line, [...lines, 'Host: other.example']),
    () => write(line, ['Host: other.example', ...lines.filter((one) => !/^host/i.test(one))]),
    () => write(line, [...lines, 'no colon']),
    () => write(line, [...lines, 'Bad Name: x']),
    () => write(line, [...lines, 'X-Null: a\0b']),
    () => write(line, [...lines, 'X-Folded: a\r\n b']),
    () => write(line, [...lines, `X-Long: ${'x'.repeat(20_000)}`]),
    () => write(line, [...lines, ...Array.from({ length: 1_500 }, (_, i) => `x${i}: y`)]),
    () => write(line, [...lines, 'Transfer-Encoding: gzip, chunked'], true),
    () => write(line, [...lines, 'Transfer-Encoding: chunked', 'Content-Length: 3'], true),
    () => write(line, withLength(`${sent.length + 7}`), true),
    () => write(line, withLength('-1'), true),
    () => write(line, withLength('1e3'), true),
    () => write(line, withLength(`+${sent.length}`), true),
    () => write(line, withLength('99999999999999999999'), true),
    () => write(line, withLength('9000000'), true),
    () => write(line, [...lines, 'Connection: upgrade', 'Upgrade: websocket']),
    () => ({
      ...normal,
      bytes: Buffer.from('\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03', 'latin1'),
      isCut: true,
      isOdd: true,
    }),
    () => ({ ...normal, bytes: Buffer.from('PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'), isCut: true, isOdd: true }),
    () => ({ ...normal, bytes: Buffer.concat([Buffer.from('\r\n\r\n'), normal.bytes]), isOdd: true }),
    () => ({ ...normal, bytes: Buffer.concat([normal.bytes, Buffer.from('garbage')]), isCut: true, isOdd: true }),
  ])()
}
