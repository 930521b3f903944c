// The settings of the running server. Secrets are shown only as set or not set.
import { configuration } from '../../api/server.ts'
import { useLoad } from '../../load.ts'
import { Badge, Panel } from '../../parts/panel.tsx'
import { Show } from '../../parts/states.tsx'
import { Table } from '../../parts/table.tsx'

export function Configuration() {
  const settings = useLoad((signal) => configuration({ signal }), ['configuration'])
  return (
    <Panel flush title="Current configuration">
      <Show source={settings}>
        {(list) => (
          <Table heads={['Setting', 'Value']} kind="tight">
            {list.map(({ name, value, fallback, meaning }) => (
              <tr key={name}>
                <td>
                  <div class="setting">
                    <span class="mono">{name}</span>
                    <span class="muted small">{meaning.replaceAll('`', '')}</span>
                  </div>
                </td>
                <td class="fit num">
                  {value === fallback ? value || 'not set' : <Badge kind="accent">{value}</Badge>}
                </td>
              </tr>
            ))}
          </Table>
        )}
      </Show>
    </Panel>
  )
}
