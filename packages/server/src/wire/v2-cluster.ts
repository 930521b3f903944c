// A node and its cluster as JSON, in health and in the status of the cluster.
import type { ClusterStatus, ClusterView, KnownNode } from '../cluster/cluster-view.ts'

/** What this node knows. `leader` is absent while none is known. */
export function clusterJson(view: ClusterView) {
  return { ...statusJson(view.status()), nodes: view.nodes().map(nodeJson) }
}

function nodeJson({ url, seenMsAgo, ...status }: KnownNode) {
  return { ...statusJson(status), url, seen_ms_ago: Math.round(seenMsAgo) }
}

function statusJson(status: ClusterStatus) {
  const { node, role, epoch, lag, stalenessMs, digestLsn, leader, failovers, reason, syncInterval } = status
  return {
    ...{ node, role, epoch, lag, digest_lsn: digestLsn, failovers, sync_interval: syncInterval },
    ...(Number.isFinite(stalenessMs) && { staleness_ms: Math.ceil(stalenessMs) }),
    ...(leader !== undefined && { leader: { node: leader.node, url: leader.url, epoch: leader.epoch } }),
    ...(reason !== undefined && { reason }),
  }
}
