// Removes a node from the roster of a cluster, and lets a removed one come back. A removed node holds nothing back any more, and takes no part
// until it is admitted again.
import { ServerError } from '../errors.ts'
import { isNodeName } from './cluster-config.ts'
import type { KnownNode } from './cluster-view.ts'
import type { ControlBucket } from './control-bucket.ts'
import { DigestWatch } from './digest-watch.ts'
import { isLive, Presence } from './presence.ts'
import type { Roster } from './snapshots/roster.ts'

/** What a removal looks at. */
export interface RemovalParts {
  readonly bucket: ControlBucket
  readonly roster: Roster
  /** This node. */
  readonly node: string
  readonly leaseMs: number
  readonly nodes: readonly KnownNode[]
  /** Ends the service of this node. */
  readonly leave: () => Promise<void>
}

/**
 * Removes a node. This node leaves service first if it is removed itself. Rejects with node_live for another node that is running, and for the
 * last one in service; with node_not_found for a name that does not belong to the cluster; and if nobody answers.
 */
export async function removeNode(name: string, parts: RemovalParts): Promise<void> {
  const { bucket, roster, node, nodes, leaseMs, leave } = parts
  if (!isNodeName(name)) throw notFound(name, 'belongs to the cluster')
  const live = nodes.filter((each) => isLive(each, leaseMs))
  const found = live.find((each) => each.node === name)
  if (found !== undefined && name !== node) {
    const how = `stop it, or remove it at its own URL, ${found.url}`
    throw new ServerError('node_live', `node "${name}" is running; ${how}`, { field: 'node', value: name })
  }
  if (!(await roster.has(name))) throw notFound(name, 'belongs to the cluster')
  if (name === node) {
    const others = live.filter((each) => each.node !== node && (each.role === 'follower' || each.role === 'leader'))
    if (others.length === 0) {
      const message = `node "${name}" is the only one in service`
      throw new ServerError('node_live', message, { field: 'node', value: name })
    }
    await leave()
  }
  await roster.remove(name)
  await Presence.forget(bucket, name)
  await DigestWatch.forget(bucket, name)
}

/** Lets a removed node come back. Rejects with node_not_found if it was not removed. */
export async function admitNode(name: string, { roster }: Pick<RemovalParts, 'roster'>): Promise<void> {
  if (!isNodeName(name) || !(await roster.admit(name))) throw notFound(name, 'was removed')
}

function notFound(name: string, what: string): ServerError {
  return new ServerError('node_not_found', `no node "${name}" ${what}`, { field: 'node', value: name })
}
