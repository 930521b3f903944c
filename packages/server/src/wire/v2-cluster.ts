// A node and its cluster as JSON, in health and in the status of the cluster.
import type { ClusterStatus, ClusterView, KnownNode, NodeDigests, StatePart } from '../cluster/cluster-view.ts'

/** What this node knows. `leader` is absent while none is known. */
export function clusterJson(view: ClusterView) {
  return { ...statusJson(view.status()), nodes: view.nodes().map(nodeJson) }
}

function nodeJson({ url, seenMsAgo, ...status }: KnownNode) {
  return { ...statusJson(status), url, seen_ms_ago: Math.round(seenMsAgo) }
}

function statusJson(status: ClusterStatus) {
  const { node, role, epoch, lag, stalenessMs, digestLsn, snapshotLsn, leader } = status
  const { failovers, reason, syncInterval, version } = status
  return {
    ...{ node, role, epoch, lag, digest_lsn: digestLsn, snapshot_lsn: snapshotLsn },
    ...{ failovers, sync_interval: syncInterval },
    ...(version !== undefined && { version }),
    ...(Number.isFinite(stalenessMs) && { staleness_ms: Math.ceil(stalenessMs) }),
    ...(leader !== undefined && { leader: { node: leader.node, url: leader.url, epoch: leader.epoch } }),
    ...(reason !== undefined && { reason }),
  }
}

/** The digests that nodes have announced. */
export function digestsJson(nodes: readonly NodeDigests[]) {
  return {
    nodes: nodes.map(({ node, digests }) => ({
      node,
      digests: digests.map(({ digest, ...part }) => ({ ...partJson(part), digest })),
    })),
  }
}

/** The collections that digests were requested of. */
export function digestRequestJson(parts: readonly StatePart[]) {
  return { parts: parts.map(partJson) }
}

function partJson({ part, name, lsn }: StatePart) {
  return { part, ...(name !== undefined && { collection: name }), lsn }
}
