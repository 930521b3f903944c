// Sends bytes over one connection and returns the bytes of the replies, for comparisons of two servers.
import net from 'node:net'

export interface Exchange {
  /** Bytes in the pieces in which they are sent. */
  readonly pieces: readonly Buffer[]
  /** Methods of the requests that the pieces contain: replies to HEAD have no body. One that is not HTTP counts as GET. */
  readonly methods: readonly string[]
}

/** Resolves to everything that was received when each request has its reply or the server has closed the connection. */
export function exchange(url: string, { pieces, methods }: Exchange): Promise<Buffer> {
  const { port, hostname } = new URL(url)
  return new Promise((resolve, reject) => {
    const socket = net.connect({ port: Number(port), host: hostname, noDelay: true })
    let received = Buffer.alloc(0)
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (countReplies(received, methods) === methods.length) socket.destroy()
    })
    // The server may close the connection while the client still sends.
    socket.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code !== 'ECONNRESET' && error.code !== 'EPIPE') reject(error)
    })
    // Only a server that neither replies nor closes the connection lets this time pass.
    socket.setTimeout(30_000, () => {
      received = Buffer.concat([received, Buffer.from('no reply')])
      socket.destroy()
    })
    socket.on('close', () => resolve(received))
    socket.on('connect', async () => {
      for (const piece of pieces) {
        if (socket.destroyed) return
        socket.write(piece)
        // In a turn of its own, so that pieces arrive one by one.
        await new Promise(setImmediate)
      }
    })
  })
}

/** Number of complete replies at the beginning of the bytes. Interim replies, such as 100, are not counted. */
function countReplies(bytes: Buffer, methods: readonly string[]): number {
  return repliesOf(bytes, methods, false).filter(({ status }) => status >= 200).length
}

interface Reply {
  readonly status: number
  /** Status line and headers, without those that say where the body ends. */
  readonly head: string
  readonly body: Buffer
}

/** The complete replies at the beginning of the bytes. A body without a length ends when the connection is closed. */
export function repliesOf(bytes: Buffer, methods: readonly string[], isClosed = true): Reply[] {
  const replies: Reply[] = []
  let [offset, request] = [0, 0]
  for (;;) {
    const end = bytes.indexOf('\r\n\r\n', offset)
    if (end < 0) return replies
    const head = bytes.toString('latin1', offset, end)
    const status = Number(head.slice(9, 12))
    const hasBody = status >= 200 && status !== 204 && status !== 304 && methods[request] !== 'HEAD'
    const body = hasBody ? bodyAt(bytes, end + 4, { head, isClosed }) : { bytes: Buffer.alloc(0), end: end + 4 }
    if (body === undefined) return replies
    offset = body.end
    if (status >= 200) request++
    const withoutLength = hasBody ? head.replace(/\r\n(content-length|transfer-encoding): [^\r]*/gi, '') : head
    replies.push({ status, head: withoutLength, body: body.bytes })
  }
}

/** Undefined: incomplete. */
function bodyAt(
  bytes: Buffer,
  start: number,
  { head, isClosed }: { readonly head: string; readonly isClosed: boolean },
): { readonly bytes: Buffer; readonly end: number } | undefined {
  if (/^transfer-encoding: chunked\r?$/im.test(head)) return chunksAt(bytes, start)
  const length = /^content-length: (\d+)\r?$/im.exec(head)?.[1]
  if (length === undefined && !isClosed) return undefined
  const end = length === undefined ? bytes.length : start + Number(length)
  return end > bytes.length ? undefined : { bytes: bytes.subarray(start, end), end }
}

function chunksAt(bytes: Buffer, start: number): { readonly bytes: Buffer; readonly end: number } | undefined {
  const chunks: Buffer[] = []
  for (let offset = start; ; ) {
    const line = bytes.indexOf('\r\n', offset)
    if (line < 0) return undefined
    const size = Number.parseInt(bytes.toString('latin1', offset, line), 16)
    offset = line + 2 + size + 2
    if (offset > bytes.length) return undefined
    if (size === 0) return { bytes: Buffer.concat(chunks), end: offset }
    chunks.push(bytes.subarray(line + 2, line + 2 + size))
  }
}

/**
 * The same text for replies that differ only in ids of requests, times, durations, LSNs, and framing. A reply whose body takes long to build is
 * sent in chunks, and the engine appends records of its own.
 */
export function comparable(bytes: Buffer, { methods }: Exchange): string {
  return (
    repliesOf(bytes, methods)
      .map(({ head, body }) => `${head}\r\n\r\n${body.toString('latin1')}`)
      .join('\n--\n')
      .replace(/[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'REQUEST-ID')
      .replace(/^Date: .*$/gm, 'Date: DATE')
      // Servers with different numbers of threads are compared.
      .replace(/"serving_threads":\{"running":\d+,"configured":\d+/g, '"serving_threads":{"running":0,"configured":0')
      .replace(/"(created_at|uptime[a-z_]*|time[a-z_]*|seconds|took[a-z_]*|lsn)":[\d.e-]+/g, '"$1":0')
  )
}
