// What a client with several URLs knows of the nodes behind them, and which node gets an attempt. Reads go to the nearest node and stay there.
// Writes go to the leader, or to any node, which forwards them, while the leader's URL cannot be reached. Sends no requests itself.
import type { AnnalError } from '../errors.ts'

export interface Node {
  readonly url: string
  /** Round trip of the last measurement. Undefined before the first. */
  rttMs: number | undefined
  /** No attempt before this time, in that of performance.now(), unless no other node is left. */
  awayUntilMs: number
  /** Attempts without a reply since the last reply. */
  silences: number
  /** The greatest LSN that it has certainly applied. */
  lsn: number
}

/** `leader`: writes, and reads that need the leader's reply. `any`: other reads. */
export type Target = 'leader' | 'any'

export interface Visit {
  readonly node: Node
  /** The node names the leader instead of forwarding the request. */
  readonly namesLeader: boolean
}

/** What one call has seen so far. */
export interface Course {
  readonly tried: Set<Node>
  /** How often a node named another one as the leader. */
  redirections: number
}

const awayFirstMs = 1_000
const awayLongestMs = 30_000
/** After the leader's URL did not answer, other nodes forward for this long before one has to name the leader again. */
const forwardForMs = 2_000
const redirectionsMax = 3
/** Another node becomes the nearest one if it is faster by this factor and by this time. */
const fasterFactor = 0.7
const fasterMs = 1

export class Nodes {
  readonly #all: Node[]
  /** The greatest LSN that a reply has named. */
  lsn = 0
  /** When round trips are measured again, in the time of performance.now(). */
  measureAtMs = 0
  #nearest: Node
  #leader: Node | undefined
  #forwardUntilMs = 0

  /** At least one URL, without trailing slashes. */
  constructor(urls: readonly [string, ...string[]]) {
    this.#all = [...new Set(urls)].map(newNode)
    this.#nearest = this.#all[0] as Node
  }

  get all(): readonly Node[] {
    return this.#all
  }

  choose(target: Target, { tried, redirections }: Course, nowMs: number): Visit {
    const isRedirected = redirections >= redirectionsMax
    const leader = target === 'leader' ? this.#leader : undefined
    if (leader !== undefined && !tried.has(leader) && nowMs >= leader.awayUntilMs) {
      return { node: leader, namesLeader: !isRedirected }
    }
    const namesLeader = target === 'leader' && nowMs >= this.#forwardUntilMs && !isRedirected
    return { node: this.#reachable(tried, nowMs), namesLeader }
  }

  #reachable(tried: Set<Node>, nowMs: number): Node {
    const known = this.#known()
    if (known.every((node) => tried.has(node))) tried.clear()
    const left = known.filter((node) => !tried.has(node))
    const here = left.filter((node) => nowMs >= node.awayUntilMs)
    if (here.includes(this.#nearest)) return this.#nearest
    const [first, ...others] = here.length > 0 ? here : left
    // At least one node is left.
    if (here.length > 0) return others.reduce(nearer, first as Node)
    return others.reduce((a, b) => (b.awayUntilMs < a.awayUntilMs ? b : a), first as Node)
  }

  /** Nodes that a reply named count once they have replied. */
  #known(): readonly Node[] {
    return this.#all.filter(({ awayUntilMs }) => awayUntilMs !== Number.POSITIVE_INFINITY)
  }

  replied(node: Node): void {
    node.silences = 0
    node.awayUntilMs = 0
  }

  /** The node has applied everything up to this LSN. */
  applied(node: Node, lsn: number): void {
    node.lsn = Math.max(node.lsn, lsn)
    this.lsn = Math.max(this.lsn, lsn)
  }

  /** Takes a failed attempt into account. Returns whether another node may be tried at once. */
  failed({ node, namesLeader }: Visit, error: AnnalError, course: Course, nowMs: number): boolean {
    const { tried } = course
    const { status, code } = error
    // An LSN of another log: the nodes were restored to an earlier state.
    if (code === 'lsn_not_reached' && error.value === this.lsn) this.lsn = 0
    if (status === undefined) return this.#isSilent(node, tried, nowMs)
    if (code === 'not_leader' || status === 421) {
      if (this.#leader === node) this.#leader = undefined
      if (!namesLeader || error.leaderUrl === undefined) return false
      course.redirections += 1
      this.#follow(error.leaderUrl, node, nowMs)
      return true
    }
    if (isElsewhere(error)) {
      node.awayUntilMs = nowMs + awayFirstMs
      return this.#isLeft(node, tried)
    }
    return false
  }

  #isSilent(node: Node, tried: Set<Node>, nowMs: number): boolean {
    node.awayUntilMs = nowMs + Math.min(awayFirstMs * 2 ** node.silences, awayLongestMs)
    node.silences += 1
    // It may be another process when it is back.
    node.lsn = 0
    if (this.#leader === node) {
      this.#leader = undefined
      this.#forwardUntilMs = nowMs + forwardForMs
    }
    if (this.#nearest === node) {
      const [next = node, ...others] = this.#known().filter((one) => nowMs >= one.awayUntilMs)
      this.#nearest = others.reduce(nearer, next)
    }
    return this.#isLeft(node, tried)
  }

  #isLeft(node: Node, tried: Set<Node>): boolean {
    tried.add(node)
    return this.#known().some((one) => !tried.has(one))
  }

  /** A URL that nobody configured is used after it replied to a measurement. Until then, other nodes forward. */
  #follow(url: string, source: Node, nowMs: number): void {
    let leader = this.#all.find((node) => node.url === url)
    // The token must not travel in the clear because of a reply.
    if (leader === undefined && (url.startsWith('https:') || source.url.startsWith('http:'))) {
      leader = newNode(url)
      leader.awayUntilMs = Number.POSITIVE_INFINITY
      this.#all.push(leader)
      this.measureAtMs = 0
    }
    if (leader !== undefined && nowMs >= leader.awayUntilMs) this.#leader = leader
    else this.#forwardUntilMs = nowMs + forwardForMs
  }

  /** The reply to a measurement: its round trip, or undefined if there was none or the node does not serve. */
  measured(node: Node, rttMs: number | undefined, nowMs: number): void {
    if (rttMs === undefined) {
      if (node.awayUntilMs < nowMs) node.awayUntilMs = nowMs + awayFirstMs
      return
    }
    this.replied(node)
    node.rttMs = rttMs
    // A node that replied is among the known ones.
    const best = this.#known().reduce(nearer, node)
    const { rttMs: now, awayUntilMs } = this.#nearest
    const isFaster = now !== undefined && rttOf(best) < now * fasterFactor && rttOf(best) < now - fasterMs
    if (nowMs < awayUntilMs || isFaster) this.#nearest = best
  }
}

function newNode(url: string): Node {
  return { url, rttMs: undefined, awayUntilMs: 0, silences: 0, lsn: 0 }
}

function nearer(a: Node, b: Node): Node {
  return rttOf(b) < rttOf(a) ? b : a
}

function rttOf({ rttMs }: Node): number {
  return rttMs ?? Number.POSITIVE_INFINITY
}

/** Whether another node may answer at once. A node that is too busy is not left alone: the others would be next. */
function isElsewhere({ status, code }: AnnalError): boolean {
  if (status === 502 || status === 504) return true
  return status === 503 && !staysHere.has(code)
}

const staysHere: ReadonlySet<string> = new Set([
  'archive_late',
  'archive_unconfirmed',
  'log_failed',
  'log_overloaded',
  'outcome_unknown',
  'overloaded',
])
