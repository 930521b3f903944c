// The headers of a request that one node of a cluster forwards to another, and of the reply. What belongs to a connection stays behind, as in
// every proxy. What was decided here by the name and the origin of this node is not sent, because the other node has another name.
import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http'

/** Header with the name of the node that forwards a request. */
const forwardedByHeader = 'annal-forwarded-by'
/** `never`: the client follows the leader itself. */
const forwardHeader = 'annal-forward'
/** Header with the URL of the leader. */
export const leaderHeader = 'annal-leader'
/** Header of the replies to writes: reads that see this record see the write. */
export const lsnHeader = 'annal-lsn'
/** Headers of the replies of a node. */
export const lagHeader = 'annal-lag'
export const stalenessHeader = 'annal-staleness'

const ofConnection: ReadonlySet<string> = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection'],
  ...['te', 'trailer', 'transfer-encoding', 'upgrade'],
])
const decidedHere: ReadonlySet<string> = new Set([
  ...['host', 'expect', 'origin', 'referer', 'cookie', 'x-forwarded-host', 'x-forwarded-for'],
  ...[forwardHeader, forwardedByHeader],
])

/** Whether a node that does not lead answers 421: the client follows the leader itself, or another node took this one for the leader. */
export function isMisdirected(headers: IncomingHttpHeaders): boolean {
  return headers[forwardHeader] === 'never' || headers[forwardedByHeader] !== undefined
}

export interface Sender {
  /** Name of this node. */
  readonly node: string
  /** Address of the client. */
  readonly address: string | undefined
  /** Size of the body if it has arrived. */
  readonly bodyBytes?: number
}

/** The headers to send to the other node. */
export function requestHeaders(
  headers: IncomingHttpHeaders,
  { node, address, bodyBytes }: Sender,
): OutgoingHttpHeaders {
  const dropped = namedIn(headers.connection)
  const kept: OutgoingHttpHeaders = {}
  for (const [name, value] of Object.entries(headers)) {
    if (ofConnection.has(name) || decidedHere.has(name) || name.startsWith('sec-') || dropped.has(name)) continue
    kept[name] = value
  }
  const isChunked = headers['transfer-encoding'] !== undefined
  if (bodyBytes !== undefined) kept['content-length'] = bodyBytes
  // Node.js would send a DELETE with a body of unknown length without a length.
  else if (isChunked) kept['transfer-encoding'] = 'chunked'
  const addresses = [headers['x-forwarded-for'], address].filter((one) => one !== undefined)
  if (addresses.length > 0) kept['x-forwarded-for'] = addresses.join(', ')
  return { ...kept, [forwardedByHeader]: node }
}

/** The headers of a reply, names and values by turns: those of the other node, and those of `own` that it does not have. */
export function replyHeaders(
  rawHeaders: readonly string[],
  own: Readonly<Record<string, number | string | string[] | undefined>>,
): string[] {
  const pairs: [string, string][] = []
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) pairs.push([rawHeaders[i] ?? '', rawHeaders[i + 1] ?? ''])
  const dropped = namedIn(pairs.find(([name]) => name.toLowerCase() === 'connection')?.[1])
  const kept = pairs.filter(([name]) => !ofConnection.has(name.toLowerCase()) && !dropped.has(name.toLowerCase()))
  const names = new Set(kept.map(([name]) => name.toLowerCase()))
  const added = Object.entries(own).filter(([name, value]) => value !== undefined && !names.has(name))
  return [...kept.flat(), ...added.flatMap(([name, value]) => [name, String(value)])]
}

function namedIn(connection: string | undefined): ReadonlySet<string> {
  return new Set(connection?.toLowerCase().split(/\s*,\s*/) ?? [])
}
