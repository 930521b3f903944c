// The cluster as this node knows it: what needs attention, the leader, the state of every node, and handing the lead to another node.
import { useState } from 'preact/hooks'
import { type Cluster, cluster, type NodeRole, stepDown } from '../../api/cluster.ts'
import { AnnalError } from '../../api/request.ts'
import { useAction, useLoad } from '../../load.ts'
import { Buttons, Dialog } from '../../parts/dialog.tsx'
import { Badge, Facts, PageHead, Panel } from '../../parts/panel.tsx'
import { Empty, Failure, Show } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { count, wait } from '../../show.ts'
import { Attention } from './attention.tsx'
import { equalUpTo, NodeTable, NodeUrl, RoleBadge } from './node-table.tsx'

const everyMs = 2_000

const meanings: { readonly [role in NodeRole]: string } = {
  bootstrapping: 'Waits for NATS, or reads its checkpoint and the log.',
  'catching-up': 'Applies what the others wrote. May answer with old data.',
  follower: 'Has everything and answers reads. Sends writes to the leader.',
  candidate: 'Takes the lead, or waits for NATS to confirm it. Rejects writes.',
  leader: 'Takes writes.',
  deposed: 'Completes the writes in progress, then follows.',
  'out-of-service': 'Its data or its log differs from that of the others. Answers no reads of data.',
}

/** What the monitors say about NATS, and what to do. */
const natsSync: {
  readonly [sync in Cluster['sync_interval']]: {
    readonly kind: 'good' | 'warn' | 'bad'
    readonly text: string
    readonly advice?: string
  }
} = {
  always: { kind: 'good', text: 'syncs every message' },
  unverified: {
    kind: 'warn',
    text: 'sync not verified',
    advice:
      'Without sync of every message, a power cut can lose acknowledged writes. Set NDD_CLUSTER_MONITOR_URL to verify it. If it is set, a monitor does not answer: see the server log.',
  },
  weak: {
    kind: 'bad',
    text: 'does not sync every message',
    advice: 'A power cut can lose acknowledged writes. Set sync_interval: always in each NATS server, and restart it.',
  },
}

export function ClusterPage() {
  const loaded = useLoad((signal) => cluster({ signal }), ['cluster'], { everyMs })
  const [isConfirming, setConfirming] = useState(false)
  const leads = loaded.kind === 'ready' && loaded.value.role === 'leader'
  if (loaded.kind === 'failed' && loaded.error instanceof AnnalError && loaded.error.code === 'not_clustered')
    return (
      <>
        <PageHead title="Cluster" />
        <Empty title="Not a cluster">
          <p>This server is not a node of a cluster. Set NDD_CLUSTER_URL to make it one.</p>
        </Empty>
      </>
    )
  return (
    <>
      <PageHead
        title="Cluster"
        actions={
          leads && (
            <button type="button" onClick={() => setConfirming(true)}>
              Step down
            </button>
          )
        }
      />
      <Show source={loaded}>
        {(known) => (
          <>
            <Attention cluster={known} />
            <div class="stack">
              <div class="halves">
                <ThisNode cluster={known} />
                <Leader cluster={known} />
              </div>
              <NodeTable cluster={known} />
            </div>
            {isConfirming && (
              <StepDown
                node={known.node}
                onClose={() => setConfirming(false)}
                onDone={() => {
                  setConfirming(false)
                  loaded.again()
                }}
              />
            )}
          </>
        )}
      </Show>
    </>
  )
}

function ThisNode({ cluster: { node, role, reason, epoch, lag, failovers, ...rest } }: { readonly cluster: Cluster }) {
  return (
    <Panel title="This node" actions={<RoleBadge role={role} />}>
      <Facts
        facts={[
          ['Name', <strong>{node}</strong>],
          ['Role', meanings[role]],
          ...(reason === undefined ? [] : [['Reason', reason] as const]),
          ['Epoch', count(epoch)],
          ['Lag', lag === 1 ? '1 record' : `${count(lag)} records`],
          ['Staleness', rest.staleness_ms === undefined ? 'not known yet' : wait(rest.staleness_ms)],
          ['Equal data up to', `LSN ${equalUpTo(rest.digest_lsn)}`],
          ['Failovers', `${count(failovers)} since this node started`],
        ]}
      />
    </Panel>
  )
}

function Leader({ cluster: { node, leader, sync_interval: sync } }: { readonly cluster: Cluster }) {
  const nats = natsSync[sync]
  return (
    <Panel title="Leader and log">
      <div class="stack tight">
        <Facts
          facts={[
            ['Leader', leader === undefined ? 'none known' : <strong>{leader.node}</strong>],
            ...(leader === undefined
              ? []
              : ([
                  ['URL', <NodeUrl url={leader.url} isHere={leader.node === node} />],
                  ['Epoch', count(leader.epoch)],
                ] as const)),
            ['NATS', <Badge kind={nats.kind}>{nats.text}</Badge>],
          ]}
        />
        {nats.advice && <p class="muted small">{nats.advice}</p>}
      </div>
    </Panel>
  )
}

function StepDown(props: { readonly node: string; readonly onClose: () => void; readonly onDone: () => void }) {
  const { busy, error, run } = useAction()
  const handOver = () =>
    run(async () => {
      const { leader } = await stepDown()
      tell(`${props.node} no longer leads.${leader === undefined ? '' : ` ${leader.node} does.`}`)
      props.onDone()
    })
  return (
    <Dialog
      title={`Step down ${props.node}`}
      onClose={props.onClose}
      onSubmit={() => void handOver()}
      footer={<Buttons onCancel={props.onClose} action="Hand over the lead" doing="Handing over…" busy={busy} danger />}
    >
      <div class="form">
        <p>
          This node completes the writes in progress and then follows. Writes are rejected until another node leads, and
          reads continue.
        </p>
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}
