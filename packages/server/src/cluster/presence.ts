// Who is there: each node announces its state every few seconds, and reads what the others announced. For operators and clients; no
// node decides by it.
import type { ClusterStatus, KnownNode } from './cluster-view.ts'
import type { ControlBucket } from './control-bucket.ts'

interface Announcement {
  readonly status: ClusterStatus
  readonly url: string
  readonly instance: string
  /** The newest record that the node has read. */
  readonly lsn: number
}

/** A record that a node has read, so the log has it. */
export interface ReadBy {
  readonly node: string
  readonly lsn: number
}

/** A node that is gone is listed for this long. */
const keptFor = '1h'
const forgottenAfter = '1s'
const prefix = 'nodes'

/** Announcements come at least this often, and at least as often as the lease is long. */
const announceMsMax = 3000
/** A node that missed so many of them is not live. They come up to a quarter late. */
const missedMax = 2.5

/** How often a node announces itself, in milliseconds, on average. */
export function announceEveryMs(leaseMs: number): number {
  return Math.min(leaseMs, announceMsMax)
}

/** Whether a node has announced itself as often as it should. */
export function isLive({ seenMsAgo }: Pick<KnownNode, 'seenMsAgo'>, leaseMs: number): boolean {
  return seenMsAgo < missedMax * announceEveryMs(leaseMs)
}

/** What this node announces. */
export interface PresenceOptions {
  readonly bucket: ControlBucket
  readonly url: string
  readonly instance: string
  readonly status: () => ClusterStatus
  /** The newest record that this node has read. */
  readonly lsn: () => number
  /** The time of the servers, in milliseconds since 1970. */
  readonly serverTimeMs: () => number
}

/** The announcements of a cluster. */
export class Presence {
  readonly #options: PresenceOptions
  #others: readonly { readonly announced: Announcement; readonly timeMs: number }[] = []
  /** Of the newest announcement of this node. */
  #revision = 0
  #isNameTaken = false

  constructor(options: PresenceOptions) {
    this.#options = options
  }

  /** Removes the announcement of a node that was removed from the cluster. */
  static async forget(bucket: ControlBucket, node: string): Promise<void> {
    const found = await bucket.get(`${prefix}.${node}`)
    if (found !== undefined) await bucket.put(found.key, found.value, { ttl: forgottenAfter })
  }

  /** Every node that has announced itself, by name. */
  get nodes(): readonly KnownNode[] {
    const { status, url, serverTimeMs } = this.#options
    const own = status()
    const now = serverTimeMs()
    const others = this.#others
      .filter(({ announced }) => announced.status.node !== own.node)
      .map(({ announced, timeMs }) => ({
        ...announced.status,
        // JSON has no infinity.
        stalenessMs: announced.status.stalenessMs ?? Number.POSITIVE_INFINITY,
        url: announced.url,
        seenMsAgo: Math.max(0, Math.round(now - timeMs)),
      }))
    return [...others, { ...own, url, seenMsAgo: 0 }].sort((a, b) => (a.node < b.node ? -1 : 1))
  }

  /** What each node had read when it announced itself, also an earlier process with the name of this one. */
  get read(): readonly ReadBy[] {
    return this.#others.map(({ announced: { status, lsn } }) => ({ node: status.node, lsn: lsn ?? 0 }))
  }

  /** Whether another process announces itself with the name of this node. */
  get isNameTaken(): boolean {
    return this.#isNameTaken
  }

  /** Announces this node, and reads the others. Does nothing if nobody answers. */
  async exchange(): Promise<void> {
    const { bucket, status, lsn, url, instance } = this.#options
    const own = status()
    const key = `${prefix}.${own.node}`
    try {
      const entries = await bucket.list(prefix)
      this.#others = entries.map(({ value, timeMs }) => ({ announced: value as Announcement, timeMs }))
      const ofName = entries.find((entry) => entry.key === key)
      const isForeign = (ofName?.value as Announcement | undefined)?.instance !== instance
      // A process that ended has left its announcement; one that runs has written after this one.
      const isNewer = this.#revision > 0 && ofName !== undefined && ofName.revision > this.#revision
      this.#isNameTaken = isForeign && isNewer
      const announced: Announcement = { status: own, url, instance, lsn: lsn() }
      const revision = await bucket.put(key, announced, { ttl: keptFor })
      if (typeof revision === 'number') this.#revision = revision
    } catch {
      // The list stays unchanged, and its ages show that.
    }
  }
}
