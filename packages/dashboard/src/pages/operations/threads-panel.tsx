// The threads that accept connections: their share of the searches, and their connections.
import { Panel } from '../../parts/panel.tsx'
import { Table } from '../../parts/table.tsx'
import { count, share } from '../../show.ts'
import { metric } from './history.ts'
import type { Sample } from './metrics-text.ts'
import { servingThreads } from './serving-threads.ts'

export function ThreadsPanel({ samples }: { readonly samples: readonly Sample[] }) {
  const threads = servingThreads(samples)
  if (threads.length === 0) return null
  const all = threads.reduce((sum, { searches }) => sum + searches, 0)
  const lost = metric(samples, 'annal_serving_threads_lost_total')
  const replaced = metric(samples, 'annal_serving_threads_replaced_total')
  return (
    <Panel
      title="Serving threads"
      actions={
        <span class="muted num">
          {count(metric(samples, 'annal_serving_threads'))} running
          {lost > 0 && `, ${count(lost)} lost, ${count(replaced)} replaced`}
        </span>
      }
    >
      <Table
        heads={[
          'Thread',
          { name: 'Searches', right: true },
          { name: 'Share', right: true },
          { name: 'Requests', right: true },
          { name: 'Connections', right: true },
          { name: 'Moved', right: true },
        ]}
      >
        {threads.map(({ thread, searches, requests, connections, moved }) => (
          <tr key={thread}>
            <td>{thread}</td>
            <td class="right num">{count(searches)}</td>
            <td class="right num">{all === 0 ? '' : share(searches / all)}</td>
            <td class="right num">{count(requests)}</td>
            <td class="right num">{connections === undefined ? '' : count(connections)}</td>
            <td class="right num">{moved === undefined ? '' : count(moved)}</td>
          </tr>
        ))}
      </Table>
    </Panel>
  )
}
