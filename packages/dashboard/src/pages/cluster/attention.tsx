// What needs attention in a cluster: no leader, nodes that have left service, and data of an unknown age.
import type { ComponentChildren } from 'preact'
import type { Cluster } from '../../api/cluster.ts'
import { Icon } from '../../parts/icon.tsx'
import { wait } from '../../show.ts'

/** Operators are advised to alert at this staleness. */
const staleMs = 10_000

export function Attention({
  cluster: { node, role, leader, staleness_ms: staleness, nodes },
}: {
  readonly cluster: Cluster
}) {
  const knowsLeader = role !== 'bootstrapping' && role !== 'out-of-service'
  // A node that takes the lead, or loses it, names itself and does not take writes.
  const hasLeader = role === 'leader' || (leader !== undefined && leader.node !== node)
  const out = nodes.filter((each) => each.role === 'out-of-service')
  return (
    <>
      <div role="status">
        {knowsLeader && !hasLeader && (
          <Notice kind="bad">
            <strong>No leader: writes are rejected.</strong> Reads continue. Writes work again when a node leads.
          </Notice>
        )}
        {out.map((each) => (
          <Notice key={each.node} kind="bad">
            <strong>
              {each.node} is out of service{each.reason === undefined ? '.' : ':'}
            </strong>{' '}
            {each.reason} <div class="muted">Find the cause before you restart it.</div>
          </Notice>
        ))}
      </div>
      {/* Not read out: its text changes with every reply. */}
      {role !== 'out-of-service' && staleness !== undefined && staleness > staleMs && (
        <Notice kind="warn">
          <strong>
            {node} last had everything {wait(staleness)} ago.
          </strong>{' '}
          Its reads may return old data, and another node may lead by now.
        </Notice>
      )}
    </>
  )
}

function Notice(props: { readonly kind: 'bad' | 'warn'; readonly children: ComponentChildren }) {
  return (
    <div class={`notice ${props.kind}`}>
      <Icon name="warning" />
      <div class="grow">{props.children}</div>
    </div>
  )
}
