// /api/v2/cluster: the status of the cluster as this node knows it, the digests of its nodes, handing the lead to another node, and which
// nodes belong to the cluster.
import type { FastifyInstance } from 'fastify'
import type { ClusterView } from '../cluster/cluster-view.ts'
import { ServerError } from '../errors.ts'
import { notLeader } from '../hooks/forwarding.ts'
import type { RouteDoc } from '../http/route-doc.ts'
import type { RouteContext } from '../route-context.ts'
import { clusterJson, digestRequestJson, digestsJson } from '../wire/v2-cluster.ts'

/** Adds the routes of a cluster, which a single server answers with not_clustered. */
export function v2ClusterRoutes(app: FastifyInstance, { slot, config }: RouteContext): void {
  const view = (): ClusterView => {
    if (slot.cluster !== undefined) return slot.cluster
    if (config.cluster !== undefined) throw new ServerError('starting', 'the node is starting')
    throw new ServerError('not_clustered', 'this server is not a node of a cluster')
  }

  app.get('/cluster', { config: { doc: docs.status } }, async () => clusterJson(view()))

  app.get('/cluster/digests', { config: { doc: docs.digests } }, async () => digestsJson(await view().digests()))

  const request = { doc: docs.requestDigests, requestKey: { refused: 'it changes no data' } } as const
  app.post('/cluster/digests', { config: request }, async () => digestRequestJson(await view().requestDigests()))

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

  const keyless = { onThisServer: true, requestKey: { refused: 'it changes no data' } } as const
  const remove = { ...keyless, doc: docs.remove, audit: 'cluster.remove_node' }
  app.delete<NodeParams>('/cluster/nodes/:node', { config: remove }, async ({ params }) => {
    await view().removeNode(params.node)
    return clusterJson(view())
  })

  const admit = { ...keyless, doc: docs.admit, audit: 'cluster.admit_node' }
  app.post<NodeParams>('/cluster/nodes/:node/admit', { config: admit }, async ({ params }) => {
    await view().admitNode(params.node)
    return clusterJson(view())
  })
}

interface NodeParams {
  readonly Params: { readonly node: string }
}

const docs = {
  status: {
    access: 'server',
    summary: 'Returns the status of the cluster as this node knows it.',
    reply: { description: 'This node, the leader, and every node that has announced itself.', json: 'Cluster' },
  },
  digests: {
    access: 'server',
    summary: 'Returns the digests that the nodes have announced, so that their data can be compared.',
    reply: { description: 'For each node, the digests of its newest states.', json: 'ClusterDigests' },
  },
  requestDigests: {
    access: 'server',
    summary: 'Makes every node hash each collection as of one record. Idle collections are hashed anyway.',
    reply: {
      description: 'The parts of the state, each with its newest record before the request.',
      json: 'DigestRequest',
    },
  },
  stepDown: {
    access: 'server',
    summary: 'Makes this node hand the lead to another one, and replies when it follows.',
    reply: { description: 'The status of the cluster.', json: 'Cluster' },
  },
  remove: {
    access: 'server',
    summary: 'Removes a node that is not running, or this node, from the cluster.',
    reply: { description: 'The status of the cluster.', json: 'Cluster' },
  },
  admit: {
    access: 'server',
    summary: 'Allows a removed node to join again.',
    reply: { description: 'The status of the cluster.', json: 'Cluster' },
  },
} satisfies Record<string, RouteDoc>
