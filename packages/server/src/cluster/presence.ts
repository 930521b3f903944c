// Who is there: each node announces its state every few seconds, and reads what the others announced. For operators and clients; no
// node decides by it.
import type { ClusterStatus, KnownNode } from './cluster-view.ts'
import type { ControlBucket } from './control-bucket.ts'

interface Announcement {
  readonly status: ClusterStatus
  readonly url: string
  readonly instance: string
}

/** A node that is gone is listed for this long. */
const keptFor = '1h'
const prefix = 'nodes'

/** What this node announces. */
export interface PresenceOptions {
  readonly bucket: ControlBucket
  readonly url: string
  readonly instance: string
  readonly status: () => ClusterStatus
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

  /** Whether another process announces itself with the name of this node. */
  get isNameTaken(): boolean {
    return this.#isNameTaken
  }

  /** Announces this node, and reads the others. Does nothing if nobody answers. */
  async exchange(): Promise<void> {
    const { bucket, status, url, instance } = this.#options
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
      const revision = await bucket.put(key, { status: own, url, instance } satisfies Announcement, { ttl: keptFor })
      if (typeof revision === 'number') this.#revision = revision
    } catch {
      // The list stays unchanged, and its ages show that.
    }
  }
}
