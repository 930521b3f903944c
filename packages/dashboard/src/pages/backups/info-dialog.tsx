// Details of one backup.
import type { Backup } from '../../api/backups.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/panel.tsx'
import { bytes, count, dateTime } from '../../show.ts'

export function BackupInfo({ backup, onClose }: { readonly backup: Backup; readonly onClose: () => void }) {
  return (
    <Dialog title={backup.name} onClose={onClose}>
      <Facts
        facts={[
          ['Collection', backup.original_collection],
          ['Created', dateTime(backup.timestamp * 1_000)],
          ['Newest event', `LSN ${count(backup.lsn)}, ${dateTime(Date.parse(backup.log_time))}`],
          ['Objects', count(backup.params.total_elements)],
          ['Size', bytes(backup.size_bytes)],
          [
            'Fields',
            backup.fields.map(({ name, kind, element_count: held }) => `${name} (${kind}, ${count(held)})`).join(', '),
          ],
          ['Digest', <span class="mono">{backup.digest}</span>],
        ]}
      />
    </Dialog>
  )
}
