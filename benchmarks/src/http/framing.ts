// Where a reply of HTTP/1.1 ends. A client does no more than this with a reply.

const headEnd = Buffer.from('\r\n\r\n')

/** Length of the first reply in `bytes[0, length)`, or -1 if it is not complete. */
export function replyBytes(bytes: Buffer, length: number): number {
  const end = bytes.indexOf(headEnd)
  if (end < 0 || end + 4 > length) return -1
  const head = bytes.toString('latin1', 0, end)
  const declared = /\r\ncontent-length: *(\d+)/i.exec(head)?.[1]
  if (declared !== undefined) {
    const total = end + 4 + Number(declared)
    return total <= length ? total : -1
  }
  return /\r\ntransfer-encoding: *chunked/i.test(head) ? chunksEnd(bytes, end + 4, length) : end + 4
}

export function statusOf(reply: Buffer): number {
  return Number(reply.toString('latin1', 9, 12))
}

/** Whether the server closes the connection after the reply. */
export function isLastReply(reply: Buffer): boolean {
  return /\r\nconnection: *close\r\n/i.test(reply.toString('latin1', 0, reply.indexOf(headEnd) + 2))
}

/** The body of a complete reply. */
export function bodyOf(reply: Buffer): Buffer {
  const end = reply.indexOf(headEnd)
  const body = reply.subarray(end + 4)
  return /\r\ntransfer-encoding: *chunked/i.test(reply.toString('latin1', 0, end)) ? joinChunks(body) : body
}

function chunksEnd(bytes: Buffer, first: number, length: number): number {
  for (let from = first; ; ) {
    const lineEnd = bytes.indexOf('\r\n', from)
    if (lineEnd < 0 || lineEnd + 2 > length) return -1
    const size = Number.parseInt(bytes.toString('latin1', from, lineEnd), 16)
    from = lineEnd + 2 + size + 2
    if (from > length) return -1
    if (size === 0) return from
  }
}

function joinChunks(body: Buffer): Buffer {
  const chunks: Buffer[] = []
  for (let from = 0; ; ) {
    const lineEnd = body.indexOf('\r\n', from)
    const length = Number.parseInt(body.toString('latin1', from, lineEnd), 16)
    if (length === 0) return Buffer.concat(chunks)
    from = lineEnd + 2 + length + 2
    chunks.push(body.subarray(lineEnd + 2, from - 2))
  }
}
