// The schema of a cluster as a node knows it, in health and in the replies of its routes.
import { integer, list, object, oneOfTexts, text } from './build.ts'

const status = {
  node: text('Name of the node.'),
  role: oneOfTexts(['bootstrapping', 'catching-up', 'follower', 'candidate', 'leader', 'deposed', 'out-of-service']),
  epoch: integer('Number of the newest term of a leader that the node knows; 0 before the first.'),
  lag: integer('Records that are in the log and that the node has not applied.'),
  digest_lsn: integer(
    'Newest LSN at which the state of the node was equal to that of other nodes; 0 before the first.',
  ),
  snapshot_lsn: integer('LSN of the newest snapshot that the node knows; 0 before the first.'),
  failovers: integer('Changes of the leader that the node has seen since it started.'),
  sync_interval: oneOfTexts(
    ['always', 'unverified', 'weak'],
    'Whether the NATS servers are known to sync each message: weak if one does not.',
  ),
}
const sometimes = {
  version: text('Version of Annal on the node. Earlier versions name none.'),
  staleness_ms: integer(
    'Milliseconds since the node last knew that it had everything. Absent until it first has everything.',
  ),
  leader: object({ node: text(), url: text(), epoch: integer() }),
  reason: text('Why the node is out of service, or cannot lead.'),
}

export const clusterSchema = object(
  {
    ...status,
    nodes: list(
      object(
        { ...status, url: text(), seen_ms_ago: integer('Milliseconds since its newest announcement.') },
        sometimes,
      ),
      'The nodes that have announced themselves, with this one.',
    ),
  },
  sometimes,
)

const part = {
  part: integer('Number of the collection; 0 is the catalog: databases, tokens, settings, and definitions.'),
  lsn: integer('The newest record of the part.'),
}
const partName = { collection: text('Name of the collection, if this node has it.') }

export const clusterDigestsSchema = object({
  nodes: list(
    object({
      node: text('Name of the node.'),
      digests: list(
        object({ ...part, digest: text('Equal for equal states.') }, partName),
        'Oldest first, at most 2,048.',
      ),
    }),
  ),
})

export const digestRequestSchema = object({
  parts: list(object(part, partName), 'The newest record of each part before the request.'),
})
