// /api/v2/cluster: the status of the cluster as this node knows it, and handing the lead to another node.
import type { FastifyInstance } from 'fastify'
import type { ClusterView } from '../cluster/cluster-view.ts'
import { ServerError } from '../http/errors.ts'
import { notLeader } from '../http/forwarding.ts'
import type { RouteContext } from '../http/route-context.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import { clusterJson } from '../wire/v2-cluster.ts'

/** Adds the routes of a cluster, which a single server answers with not_clustered. */
export function v2ClusterRoutes(app: FastifyInstance, { slot, config }: RouteContext): void {
  const view = (): ClusterView => {
    if (slot.cluster !== undefined) return slot.cluster
    if (config.cluster !== undefined) throw new ServerError('starting', 'the node is starting')
    throw new ServerError('not_clustered', 'this server is not a node of a cluster')
  }

  app.get('/cluster', { config: { doc: docs.status } }, async () => clusterJson(view()))

  const stepDown = {
    doc: docs.stepDown,
    audit: 'cluster.step_down',
    onThisServer: true,
    requestKey: { refused: 'it changes no data' },
    statuses: { not_leader: 421 },
  } as const
  app.post('/cluster/step-down', { config: stepDown }, async () => {
    const cluster = view()
    const { role, leader } = cluster.status()
    if (role !== 'leader') {
      const who = leader === undefined ? 'no leader is known' : `"${leader.node}" at ${leader.url} does`
      throw notLeader(cluster, `this node does not lead the cluster; ${who}`)
    }
    await cluster.stepDown()
    return clusterJson(cluster)
  })
}

const docs = {
  status: {
    access: 'server',
    summary: 'Returns the status of the cluster as this node knows it.',
    reply: { description: 'This node, the leader, and every node that has announced itself.', json: 'Cluster' },
  },
  stepDown: {
    access: 'server',
    summary: 'Makes this node hand the lead to another one, and replies when it follows.',
    reply: { description: 'The status of the cluster.', json: 'Cluster' },
  },
} satisfies Record<string, RouteDoc>
