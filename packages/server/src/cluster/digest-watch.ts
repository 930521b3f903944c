// Watches that nodes have the same state: each one announces the digests of its newest states, and compares those that others announced.
import type { ReplicatedEngine } from '@annal/engine/replicated'
import type { ControlBucket } from './control-bucket.ts'
import { type AnnouncedDigests, digestVerdict } from './digest-verdict.ts'

/** A collection that is written to is hashed once in at least so many records. The same in every node. */
export const digestEvery = 16_384

/** The parts that a watch looks at. */
export interface DigestWatchParts {
  readonly bucket: ControlBucket
  readonly engine: Pick<ReplicatedEngine, 'stateDigests' | 'digestQuiet'>
  readonly node: string
  /** The node that leads, as far as this one knows. */
  readonly leader: () => string | undefined
}

/** In the bucket: part, LSN, digest. */
type Entry = readonly [part: number, lsn: number, digest: string]

const prefix = 'digests'
const keptFor = '1h'
const renewMs = 20 * 60_000
/** A tie counts when it was found so many times in a row, because other nodes may decide it. */
const tieLooksMin = 4

/** The digests of a cluster, as one node compares them. */
export class DigestWatch {
  readonly #parts: DigestWatchParts
  /** What was announced last, and when. */
  #announced: { readonly newest: unknown; readonly timeMs: number } | undefined
  #ties = 0
  #lsnEqual = 0

  constructor(parts: DigestWatchParts) {
    this.#parts = parts
  }

  /** The newest LSN at which this node and others had the same state; 0 before the first. */
  get lsnEqual(): number {
    return this.#lsnEqual
  }

  /** Announces and compares. Resolves to why this node must leave service. Does nothing if nobody answers. */
  async look(): Promise<string | undefined> {
    const { bucket, engine, node, leader } = this.#parts
    await engine.digestQuiet()
    const own = engine.stateDigests
    let others: AnnouncedDigests[]
    try {
      await this.#announce(own.map(({ part, lsn, digest }) => [part, lsn, digest]))
      const entries = (await bucket.list(prefix)).filter(({ key }) => key !== this.#key)
      others = entries.map(({ key, value }) => ({ node: key.slice(prefix.length + 1), digests: parse(value) }))
    } catch {
      return undefined
    }
    const { lsnEqual, differs, isTie } = digestVerdict({ node, own, others, leader: leader() })
    this.#lsnEqual = Math.max(this.#lsnEqual, lsnEqual)
    this.#ties = isTie ? this.#ties + 1 : 0
    return isTie && this.#ties < tieLooksMin ? undefined : differs
  }

  /** Announces that this node has no digests: it has left service, and they must decide nothing. */
  async withdraw(): Promise<void> {
    await this.#parts.bucket.put(this.#key, [], { ttl: keptFor })
  }

  get #key(): string {
    return `${prefix}.${this.#parts.node}`
  }

  async #announce(entries: readonly Entry[]): Promise<void> {
    const newest = entries.at(-1)?.join('/')
    const { timeMs = Number.NEGATIVE_INFINITY } = this.#announced ?? {}
    const isKnown = this.#announced?.newest === newest && performance.now() - timeMs < renewMs
    if (this.#announced !== undefined && isKnown) return
    const outcome = await this.#parts.bucket.put(this.#key, entries, { ttl: keptFor })
    if (typeof outcome === 'number') this.#announced = { newest, timeMs: performance.now() }
  }
}

function parse(value: unknown): AnnouncedDigests['digests'] {
  return (value as readonly Entry[]).map(([part, lsn, digest]) => ({ part, lsn, digest }))
}
