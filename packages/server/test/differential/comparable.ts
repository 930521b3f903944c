// What two servers with the same content must reply alike: every byte but request ids, dates, times, log positions, memory in use, and the
// order of hits of equal score.
import { decode } from '@msgpack/msgpack'
import { type RawReply, splitReplies } from './raw-connection.ts'

const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g

/**
 * A reply without the parts that differ between two runs of one server. A busy server sends a reply in chunks that it otherwise sends with its
 * length; splitReplies has checked either.
 */
function masked({ head, body }: RawReply): { readonly head: string; readonly body: string } {
  return {
    head: head
      .replace(uuid, 'uuid')
      .replace(/\r\ndate: [^\r]*/i, '\r\ndate: D')
      .replace(/\r\n(content-length: \d+|transfer-encoding: chunked)/i, ''),
    body: body
      .toString('latin1')
      .replace(changing, '"$1":0')
      .replace(memory, '"memory":{}')
      .replace(progress, '')
      .replace(ofTheServer, '')
      .replace(uuid, 'uuid')
      .replace(timestamp, 'timestamp'),
  }
}

function withoutConnection<T extends { readonly head: string }>(reply: T): T {
  return { ...reply, head: reply.head.replace(/\r\n(connection|keep-alive): [^\r]*/gi, '') }
}

const timestamp = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g
/** Memory in use depends on which results a thread keeps for later. */
const memory = /"memory":\{[^}]*\}/g
/** Health reports a checkpoint while it is written. */
const progress = /,"progress":\{[^}]*\}/g
/** Health reports how many threads serve, and how many measurements run in the background. */
const ofTheServer = /,"(serving_threads|calibrations)":\{[^}]*\}/g
/** Times, and positions in the log, to which a server adds the time now and then. */
const changing =
  /"(lsn|content_lsn|timestamp|\w+_at|\w*_?time|\w+_ms|\w+_seconds|seconds|ms|uptime)":\s*("[^"]*"|[\d.e+-]+)/g

/**
 * The difference between the replies to the same requests, or undefined. A server that has rejected a request before its body ended may or may
 * not have sent a second error when the connection closes. If a client closes its side, its last reply says that the server closes the
 * connection, or not if the reply is written before the end has arrived. Node.js sends 100 Continue for a request behind another one before or
 * after its reply. `mayMove`: a thread with many connections ends one with a reply, so that its client opens one to another thread.
 */
export function difference(
  first: Buffer,
  second: Buffer,
  methods: readonly string[],
  {
    isCut,
    isPipelined,
    mayMove,
  }: { readonly isCut: boolean; readonly isPipelined: boolean; readonly mayMove: boolean },
): string | undefined {
  const isCompared = ({ status }: RawReply) => !isPipelined || status < 100 || status >= 200
  const [a, b] = [first, second].map((bytes) => repliesTo(bytes, methods).filter(isCompared))
  const mask = (reply: RawReply) => (isCut ? withoutConnection(masked(reply)) : masked(reply))
  const [masksA, masksB] = [a!.map(mask), b!.map(mask)]
  for (let i = 0; i < Math.max(masksA.length, masksB.length); i++) {
    const [one, other] = [masksA[i], masksB[i]]
    // Bytes behind a request that are not HTTP may be read before its reply is written. The connection then ends with an error.
    const isRefused = [one, other].some((reply) => reply?.head.startsWith('HTTP/1.1 400 Refused'))
    if (isCut && i === methods.length - 1 && isRefused) continue
    if (one === undefined || other === undefined) return `reply ${i} is missing in one`
    const isMoved = mayMove && a![i]!.status === 200 && withoutConnection(one).head === withoutConnection(other).head
    if (one.head !== other.head && !isMoved) return `the head of reply ${i}:\n${one.head}\n${other.head}`
    if (one.body !== other.body && !sameButForTies(a![i]!, b![i]!))
      return `the body of reply ${i}:\n${one.body}\n${other.body}`
  }
  return undefined
}

function repliesTo(bytes: Buffer, methods: readonly string[]): RawReply[] {
  let final = 0
  return splitReplies(bytes, methods).filter(({ status }) => {
    const isWanted = final < methods.length
    if (status < 100 || status >= 200) final += 1
    return isWanted
  })
}

function sameButForTies(a: RawReply, b: RawReply): boolean {
  const [one, other] = [a, b].map(({ head, body }) => JSON.stringify(sortTies(parse(head, body))))
  return one !== undefined && one === other
}

function parse(head: string, body: Buffer): unknown {
  try {
    return /\r\ncontent-type: application\/json/i.test(head) ? JSON.parse(body.toString()) : decode(body)
  } catch {
    return undefined
  }
}

/** Sorts lists of hits by their score, then by their text. Scores stand first, or under `similarity` or `score`. */
function sortTies(value: unknown): unknown {
  if (Array.isArray(value)) {
    const sorted = value.map(sortTies)
    if (value.length === 0 || !value.every((hit) => scoreOf(hit) !== undefined)) return sorted
    const keyed = sorted.map((hit) => ({ hit, score: scoreOf(hit)!, text: JSON.stringify(hit) }))
    keyed.sort((x, y) => y.score - x.score || (x.text < y.text ? -1 : 1))
    return keyed.map(({ hit }) => hit)
  }
  if (typeof value !== 'object' || value === null || value instanceof Uint8Array) return value
  return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, sortTies(entry)]))
}

function scoreOf(hit: unknown): number | undefined {
  if (Array.isArray(hit)) return typeof hit[0] === 'number' && typeof hit[1] === 'string' ? hit[0] : undefined
  if (typeof hit !== 'object' || hit === null) return undefined
  const { similarity, score } = hit as { readonly similarity?: unknown; readonly score?: unknown }
  const value = similarity ?? score
  return typeof value === 'number' ? value : undefined
}
