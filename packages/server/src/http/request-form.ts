// Rejects requests that Node's HTTP parser accepts, or would answer without a body, although RFC 9110 and 9112 forbid them.
import type { IncomingMessage } from 'node:http'
import { ServerError } from '../errors.ts'

/** Throws ServerError bad_request or expectation_failed. */
export function checkRequestForm({ headers, rawHeaders, httpVersionMajor, httpVersionMinor }: IncomingMessage): void {
  // RFC 9112, 3.2: exactly one, because a proxy and the server might choose different ones.
  const hosts = countHosts(rawHeaders)
  if (hosts > 1 || (hosts === 0 && headers.host === undefined && httpVersionMajor === 1 && httpVersionMinor === 1)) {
    throw new ServerError('bad_request', 'a request must have exactly one Host header', {
      ...{ field: 'Host', value: hosts, limit: 1 },
    })
  }
  const coding = headers['transfer-encoding']
  if (coding !== undefined && coding.toLowerCase() !== 'chunked') {
    const details = { field: 'Transfer-Encoding', value: coding, limit: 'chunked' }
    throw new ServerError('bad_request', 'the only Transfer-Encoding that is accepted is chunked', details)
  }
  const { expect } = headers
  if (expect !== undefined && expect.toLowerCase() !== '100-continue') {
    const details = { field: 'Expect', value: expect, limit: '100-continue' }
    throw new ServerError('expectation_failed', 'the only Expect header that is accepted is 100-continue', details)
  }
}

/** `headers` has only the first of several. Names and values alternate. */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const name = rawHeaders[i] as string
    if (name.length === 4 && name.toLowerCase() === 'host') count += 1
  }
  return count
}
