// Details of one backup.
import type { BackupInfo } from '@annal/client'
import { Dialog } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/panel.tsx'
import { bytes, count, dateTime } from '../../show.ts'

export function InfoDialog({ backup, onClose }: { readonly backup: BackupInfo; readonly onClose: () => void }) {
  return (
    <Dialog title={backup.name} onClose={onClose}>
      <Facts
        facts={[
          ['Collection', backup.original],
          ['Created', dateTime(backup.createdAt.getTime())],
          ['Newest event', `LSN ${count(backup.lsn)}, ${dateTime(backup.logTime.getTime())}`],
          ['Objects', count(backup.objects)],
          ['Size', bytes(backup.bytes)],
          [
            'Fields',
            backup.fields.map(({ name, kind, count: held }) => `${name} (${kind}, ${count(held)})`).join(', '),
          ],
          ['Digest', <span class="mono">{backup.digest}</span>],
        ]}
      />
    </Dialog>
  )
}
