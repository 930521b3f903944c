// Writes the heads of replies that a serving thread answers itself. What replies of one form have in common is encoded once a second, and only
// the request id, the length of the body, and a few other lines are written for each reply. The headers are in the order in which the main thread writes
// them.
import { randomFillSync } from 'node:crypto'
import type { Admission, HotReply } from '../hot/contract.ts'
import { keepAliveTimeoutMs, requestsPerSocketMax } from '../limits.ts'
import { nodeHttp } from '../node-modules.ts'

/** What a head depends on, except for the request id and the length of the body. */
export interface ReplyHeadForm extends Pick<HotReply, 'status' | 'contentType'>, Pick<Admission, 'replyHeaders'> {
  /** The `Date` header. */
  readonly date: string
  /** Whether the connection closes after the reply. */
  readonly isLast: boolean
}

/** The encoded parts of a head: a space for the request id is in `before`, which ends where the lines may be. The length follows `type`. */
interface EncodedHead {
  readonly form: ReplyHeadForm
  readonly before: Buffer
  readonly idAt: number
  readonly type: Buffer
  readonly after: Buffer
}

const idLength = 36
/** Servers have few forms of replies. */
const formsMax = 16
const keepAliveLines = `Connection: keep-alive\r\nKeep-Alive: timeout=${keepAliveTimeoutMs / 1_000}, max=${requestsPerSocketMax}\r\n\r\n`

/** The heads of one thread. */
export class ReplyHeads {
  #encoded: EncodedHead[] = []

  /** A reply with this head and body, in one buffer. `lines` are headers with their line ends. */
  reply(form: ReplyHeadForm, body: Uint8Array, lines = ''): WrittenReply {
    const { before, type, after, idAt } = this.#encodedHead(form)
    const length = `${body.length}`
    const headBytes = before.length + lines.length + type.length + length.length + after.length
    const bytes = Buffer.allocUnsafe(headBytes + body.length)
    bytes.set(before)
    writeRequestId(bytes, idAt)
    let at = before.length
    if (lines !== '') at += bytes.write(lines, at, 'latin1')
    bytes.set(type, at)
    at += type.length
    for (let i = 0; i < length.length; i++) bytes[at++] = length.charCodeAt(i)
    bytes.set(after, at)
    bytes.set(body, at + after.length)
    return { bytes, requestId: () => bytes.toString('latin1', idAt, idAt + idLength) }
  }

  #encodedHead(form: ReplyHeadForm): EncodedHead {
    for (const encoded of this.#encoded) if (isSame(encoded.form, form)) return encoded
    // All of them have the date of an earlier second, if there are many.
    if (this.#encoded.length >= formsMax || this.#encoded[0]?.form.date !== form.date) this.#encoded = []
    const encoded = encode(form)
    this.#encoded.push(encoded)
    return encoded
  }
}

export interface WrittenReply {
  readonly bytes: Buffer
  /** Call it in the same turn. */
  requestId(): string
}

function isSame(a: ReplyHeadForm, b: ReplyHeadForm): boolean {
  return (
    a.contentType === b.contentType &&
    a.isLast === b.isLast &&
    a.date === b.date &&
    a.status === b.status &&
    a.replyHeaders === b.replyHeaders
  )
}

function encode(form: ReplyHeadForm): EncodedHead {
  const { status, contentType, replyHeaders, date, isLast } = form
  const start = `HTTP/1.1 ${status} ${reasonOf(status)}\r\nx-request-id: `
  let lines = `\r\nx-content-type-options: nosniff\r\n`
  for (const [name, value] of replyHeaders) lines += `${name}: ${value}\r\n`
  return {
    form,
    before: Buffer.from(start + ' '.repeat(idLength) + lines, 'latin1'),
    idAt: start.length,
    type: Buffer.from(`content-type: ${contentType}\r\ncontent-length: `, 'latin1'),
    after: Buffer.from(`\r\nDate: ${date}\r\n${isLast ? 'Connection: close\r\n\r\n' : keepAliveLines}`, 'latin1'),
  }
}

/** Most replies of a thread have status 200, so it may never load the names of the others. */
function reasonOf(status: number): string {
  return status === 200 ? 'OK' : (nodeHttp().STATUS_CODES[status] ?? '')
}

const idBytes = 16
const random = new Uint8Array(256 * idBytes)
let randomUsed = random.length
const digits = Buffer.from('0123456789abcdef', 'latin1')

/** Writes a UUID of version 4, like `randomUUID` of node:crypto but without a text. */
function writeRequestId(target: Buffer, offset: number): void {
  if (randomUsed === random.length) {
    randomFillSync(random)
    randomUsed = 0
  }
  const first = randomUsed
  randomUsed += idBytes
  let at = offset
  for (let i = 0; i < idBytes; i++) {
    let byte = random[first + i]!
    if (i === 6) byte = (byte & 0x0f) | 0x40
    else if (i === 8) byte = (byte & 0x3f) | 0x80
    if (i === 4 || i === 6 || i === 8 || i === 10) target[at++] = 0x2d
    target[at++] = digits[byte >>> 4]!
    target[at++] = digits[byte & 0x0f]!
  }
}
