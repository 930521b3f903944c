// The nodes of a cluster, as each one last announced itself.
import type { Cluster, KnownNode, NodeRole } from '../../api/cluster.ts'
import { Badge, Panel } from '../../parts/panel.tsx'
import { Table } from '../../parts/table.tsx'
import { count, wait } from '../../show.ts'

/** A node announces itself every 3 s or more often. One that has been silent this long may be gone, and its row is old. */
const silentMs = 15_000

export function NodeTable({ cluster: { node, nodes } }: { readonly cluster: Cluster }) {
  return (
    <Panel flush title="Nodes" actions={<span class="muted num">{count(nodes.length)}</span>}>
      <Table
        heads={[
          'Node',
          'Role',
          'Version',
          { name: 'Epoch', right: true },
          { name: 'Lag (records)', right: true },
          { name: 'Staleness', right: true },
          { name: 'Equal up to (LSN)', right: true },
          { name: 'Last seen', right: true },
          'URL',
          'Reason',
        ]}
      >
        {nodes.map((known) => (
          <Row key={known.node} known={known} isHere={known.node === node} />
        ))}
      </Table>
      <p class="muted small more">
        Every node announces itself every few seconds. Its row shows what it last announced, for up to an hour after it
        is gone.
      </p>
    </Panel>
  )
}

function Row({ known, isHere }: { readonly known: KnownNode; readonly isHere: boolean }) {
  const {
    node,
    role,
    version,
    epoch,
    lag,
    staleness_ms: staleness,
    digest_lsn: digest,
    seen_ms_ago: seen,
    url,
    reason,
  } = known
  return (
    <tr>
      <td>
        <strong>{node}</strong> {isHere && <span class="muted">(this node)</span>}
      </td>
      <td>{seen > silentMs && !isHere ? <Badge kind="warn">silent, was {role}</Badge> : <RoleBadge role={role} />}</td>
      <td>{version ?? <span class="muted">not announced</span>}</td>
      <td class="right num">{count(epoch)}</td>
      <td class="right num">{count(lag)}</td>
      <td class="right num">{staleness === undefined ? 'not known yet' : wait(staleness)}</td>
      <td class="right num">{equalUpTo(digest)}</td>
      <td class="right num">{isHere ? 'now' : `${wait(seen)} ago`}</td>
      <td class="mono">
        <NodeUrl url={url} isHere={isHere} />
      </td>
      <td>{reason}</td>
    </tr>
  )
}

/** The newest record at which a node's data was equal to that of other nodes. */
export function equalUpTo(digestLsn: number): string {
  return digestLsn === 0 ? 'not compared yet' : count(digestLsn)
}

/** A link to the same page of another node. A node announces its own URL, so only a web address becomes a link. */
export function NodeUrl({ url, isHere }: { readonly url: string; readonly isHere: boolean }) {
  if (isHere || !/^https?:\/\//i.test(url)) return <>{url}</>
  return (
    <a href={`${url.replace(/\/+$/, '')}/#/cluster`} rel="noreferrer">
      {url}
    </a>
  )
}

export function RoleBadge({ role }: { readonly role: NodeRole }) {
  const kinds = { leader: 'good', follower: 'accent', 'out-of-service': 'bad' } as const
  return <Badge kind={role in kinds ? kinds[role as keyof typeof kinds] : 'warn'}>{role}</Badge>
}
