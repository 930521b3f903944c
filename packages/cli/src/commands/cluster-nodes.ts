// `annal cluster remove` and `annal cluster admit`: which nodes belong to a cluster.
import { exitCode } from '../exit-code.ts'
import type { Terminal } from '../terminal.ts'
import { type Cluster, type ClusterOptions, call } from './cluster.ts'

export async function clusterRemove(node: string, options: ClusterOptions, terminal: Terminal): Promise<number> {
  const cluster = await call<Cluster>('DELETE', `/api/v2/cluster/nodes/${encodeURIComponent(node)}`, options)
  terminal.line(options.json ? JSON.stringify(cluster) : `${node} no longer belongs to the cluster`)
  return exitCode.good
}

export async function clusterAdmit(node: string, options: ClusterOptions, terminal: Terminal): Promise<number> {
  const cluster = await call<Cluster>('POST', `/api/v2/cluster/nodes/${encodeURIComponent(node)}/admit`, options)
  terminal.line(options.json ? JSON.stringify(cluster) : `${node} may be started again`)
  return exitCode.good
}
