// One row per backup.
import type { BackupInfo } from '@annal/client'
import { Icon } from '../../parts/icon.tsx'
import { Name } from '../../parts/stored.tsx'
import { actions, Table } from '../../parts/table.tsx'
import { bytesIn, count, dateTime } from '../../show.ts'

export type BackupAction = 'restore' | 'info' | 'download' | 'verify' | 'delete'

export function BackupTable(props: {
  readonly backups: readonly BackupInfo[]
  readonly onAct: (action: BackupAction, backup: BackupInfo) => void
}) {
  const show = bytesIn(props.backups.map(({ bytes }) => bytes))
  return (
    <Table
      heads={[
        'Name',
        'Collection',
        'Created',
        { name: 'Objects', right: true },
        { name: 'LSN', right: true },
        { name: 'Size', right: true },
        actions,
      ]}
    >
      {props.backups.map((backup) => {
        const act = (action: BackupAction) => () => props.onAct(action, backup)
        return (
          <tr key={backup.name}>
            <td>
              <button type="button" class="link" onClick={act('info')}>
                <strong>
                  <Name text={backup.name} />
                </strong>
              </button>
            </td>
            <td>
              <Name text={backup.original} />
            </td>
            <td class="fit muted">{dateTime(backup.createdAt.getTime())}</td>
            <td class="right">{count(backup.objects)}</td>
            <td class="right">{count(backup.lsn)}</td>
            <td class="right fit">{show(backup.bytes)}</td>
            <td class="fit">
              <span class="row tight together">
                <button type="button" class="compact" aria-label={`Restore ${backup.name}`} onClick={act('restore')}>
                  Restore…
                </button>
                <button type="button" class="compact" aria-label={`Verify ${backup.name}`} onClick={act('verify')}>
                  Verify
                </button>
                <button
                  type="button"
                  class="compact icon"
                  aria-label={`Download ${backup.name}`}
                  title="Download"
                  onClick={act('download')}
                >
                  <Icon name="download" size={14} />
                </button>
                <button
                  type="button"
                  class="compact icon danger"
                  aria-label={`Delete ${backup.name}`}
                  title="Delete"
                  onClick={act('delete')}
                >
                  <Icon name="trash" size={14} />
                </button>
              </span>
            </td>
          </tr>
        )
      })}
    </Table>
  )
}
