// The facts of one backup.
import type { Backup } from '../../api/backups.ts'
import { Dialog } from '../../parts/dialog.tsx'
import { Facts } from '../../parts/panel.tsx'
import { bytes, count, dateTime } from '../../show.ts'

export function BackupInfo({ of, onClose }: { readonly of: Backup; readonly onClose: () => void }) {
  return (
    <Dialog title={of.name} onClose={onClose}>
      <Facts
        of={[
          ['Collection', of.original_collection],
          ['Taken', dateTime(of.timestamp * 1_000)],
          ['Newest event', `LSN ${count(of.lsn)}, ${dateTime(Date.parse(of.log_time))}`],
          ['Objects', count(of.params.total_elements)],
          ['Size', bytes(of.size_bytes)],
          [
            'Fields',
            of.fields.map(({ name, kind, element_count: held }) => `${name} (${kind}, ${count(held)})`).join(', '),
          ],
          ['Digest', <span class="mono">{of.digest}</span>],
        ]}
      />
    </Dialog>
  )
}
