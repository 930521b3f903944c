// The roster of a cluster: which nodes belong to it, by name, and what each one needs of the log. Unlike announcements, an entry stays until
// an operator removes the node. A node that was removed stays out until it is admitted again.
import type { ControlBucket, ControlEntry } from '../control-bucket.ts'

/** A node that belongs to the cluster, or was removed. */
export interface RosterEntry {
  readonly node: string
  /** LSN of its newest checkpoint: it needs the log from there on. */
  readonly checkpoint: number
  /** The name of the snapshot that it is loading. */
  readonly loading?: string
  readonly isRemoved?: boolean
}

/** This node was removed from the cluster by an operator. */
export class NodeRemovedError extends Error {
  override readonly name = 'NodeRemovedError'
  readonly code = 'node_removed'

  constructor(node: string) {
    super(
      `node ${node} was removed from the cluster. \`annal cluster admit ${node}\`, at another node, lets it come back`,
    )
  }
}

const prefix = 'roster'
const attemptsMax = 10

/** The roster, as one node sees it. */
export class Roster {
  readonly #bucket: ControlBucket
  readonly #node: string
  /** What this node has noted. */
  #noted: RosterEntry | undefined

  constructor(bucket: ControlBucket, node: string) {
    this.#bucket = bucket
    this.#node = node
  }

  /** Every entry, also of nodes that were removed, as any NATS server knows it. Rejects if nobody answers. */
  async list(): Promise<readonly RosterEntry[]> {
    return (await this.#bucket.list(prefix)).map(entryOf)
  }

  /**
   * Notes what this node needs; the first note adds it. Writes only what changed. Rejects with NodeRemovedError, and if nobody
   * answers.
   */
  async note(needs: Omit<RosterEntry, 'node' | 'isRemoved'>): Promise<void> {
    const { checkpoint, loading } = needs
    await this.verify()
    if (this.#noted?.checkpoint === checkpoint && this.#noted.loading === loading) return
    const wanted = { node: this.#node, checkpoint, ...(loading !== undefined && { loading }) }
    this.#noted = await this.#change(this.#node, (found) => {
      if (found?.isRemoved) throw new NodeRemovedError(this.#node)
      return wanted
    })
  }

  /** Rejects with NodeRemovedError if this node was removed, and if nobody answers. */
  async verify(): Promise<void> {
    const found = await this.#bucket.get(`${prefix}.${this.#node}`)
    if (found !== undefined && entryOf(found).isRemoved) throw new NodeRemovedError(this.#node)
  }

  /** Whether a node belongs to the cluster. Rejects if nobody answers. */
  async has(node: string): Promise<boolean> {
    const found = await this.#bucket.get(`${prefix}.${node}`)
    return found !== undefined && entryOf(found).isRemoved !== true
  }

  /** Removes a node. Rejects if nobody answers. */
  async remove(node: string): Promise<void> {
    await this.#change(node, () => ({ node, checkpoint: 0, isRemoved: true }))
  }

  /** Allows a removed node to join again. Resolves to whether it was removed. Rejects if nobody answers. */
  async admit(node: string): Promise<boolean> {
    const found = await this.#bucket.get(`${prefix}.${node}`)
    if (found === undefined || !entryOf(found).isRemoved) return false
    // Nothing is held back until it comes. It begins with a snapshot if the log does not have what it needs.
    await this.#change(node, () => ({ node, checkpoint: Number.MAX_SAFE_INTEGER }))
    return true
  }

  async #change(node: string, change: (found: RosterEntry | undefined) => RosterEntry): Promise<RosterEntry> {
    const key = `${prefix}.${node}`
    for (let attempt = 1; attempt <= attemptsMax; attempt++) {
      const found = await this.#bucket.get(key)
      const { node: _, ...value } = change(found && entryOf(found))
      const outcome = await this.#bucket.put(key, value, { expected: found?.revision ?? 0 })
      if (typeof outcome === 'number') return { node, ...value }
    }
    throw new Error(`the entry of node ${node} could not be changed`)
  }
}

function entryOf({ key, value }: ControlEntry): RosterEntry {
  return { ...(value as Omit<RosterEntry, 'node'>), node: key.slice(prefix.length + 1) }
}
