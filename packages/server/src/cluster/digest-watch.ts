// Watches that nodes have the same state: each one announces the digests of its newest states, and compares those that others announced.
import { digestRequestKey, type ReplicatedEngine } from '@annal/engine/replicated'
import type { NodeDigests, StatePart } from './cluster-view.ts'
import type { ControlBucket } from './control-bucket.ts'
import { type AnnouncedDigests, digestVerdict } from './digest-verdict.ts'

/** A collection that is written to is hashed once in at least so many records. The same in every node. */
export const digestEvery = 16_384

/** The parts that a watch looks at. */
export interface DigestWatchParts {
  readonly bucket: ControlBucket
  readonly engine: Pick<ReplicatedEngine, 'stateDigests' | 'stateLsns' | 'digestQuiet' | 'control' | 'lsnApplied'>
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

  /** Removes the digests of a node that was removed from the cluster. */
  static async forget(bucket: ControlBucket, node: string): Promise<void> {
    await bucket.put(`${prefix}.${node}`, [], { ttl: keptFor })
  }

  /** The newest LSN at which this node and others had the same state; 0 before the first. */
  get lsnEqual(): number {
    return this.#lsnEqual
  }

  /** Announces and compares. Resolves to why this node must leave service. Does nothing if nobody answers. */
  async look(): Promise<string | undefined> {
    const { engine, node, leader } = this.#parts
    await engine.digestQuiet()
    const own = engine.stateDigests
    let others: readonly AnnouncedDigests[]
    try {
      await this.#announce(own.map(({ part, lsn, digest }) => [part, lsn, digest]))
      others = await this.#others()
    } catch {
      return undefined
    }
    const { lsnEqual, differs, isTie } = digestVerdict({ node, own, others, leader: leader() })
    this.#lsnEqual = Math.max(this.#lsnEqual, lsnEqual)
    this.#ties = isTie ? this.#ties + 1 : 0
    return isTie && this.#ties < tieLooksMin ? undefined : differs
  }

  /** The digests of every node, by name; only those of this node if nobody answers. */
  async all(): Promise<readonly NodeDigests[]> {
    const { engine, node } = this.#parts
    const names = new Map(engine.stateLsns.map(({ part, name }) => [part, name]))
    const named = (part: number) => {
      const name = names.get(part)
      return name === undefined ? {} : { name }
    }
    const all = [...(await this.#others().catch(() => [])), { node, digests: engine.stateDigests }]
    return all
      .map((each) => ({
        node: each.node,
        digests: each.digests.map(({ part, lsn, digest }) => ({ part, ...named(part), lsn, digest })),
      }))
      .sort((a, b) => (a.node < b.node ? -1 : 1))
  }

  /** Makes every node hash what is written to. Resolves with the newest record of each part before that. */
  async request(): Promise<readonly StatePart[]> {
    const { engine } = this.#parts
    const parts = engine.stateLsns
    await engine.control.putSetting(digestRequestKey, `${engine.lsnApplied}`)
    return parts
  }

  /** Announces that this node has no digests: it has left service, and they must decide nothing. */
  async withdraw(): Promise<void> {
    await this.#parts.bucket.put(this.#key, [], { ttl: keptFor })
  }

  async #others(): Promise<readonly AnnouncedDigests[]> {
    const entries = (await this.#parts.bucket.list(prefix)).filter(({ key }) => key !== this.#key)
    return entries.map(({ key, value }) => ({ node: key.slice(prefix.length + 1), digests: parse(value) }))
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
