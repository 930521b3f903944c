// Restores a backup, or a past state of its collection, into a new collection. Existing collections do not change.

import type { BackupInfo, RestoreOptions } from '@annal/client'
import { useState } from 'preact/hooks'
import { go, href } from '../../address.ts'
import { client } from '../../api/client.ts'
import { workTimeoutMs } from '../../api/connection.ts'
import type { Safety } from '../../api/server.ts'
import { useAction } from '../../load.ts'
import { Buttons, Dialog } from '../../parts/dialog.tsx'
import { NumberField, Segmented, TextField } from '../../parts/form.tsx'
import { KeepExpired } from '../../parts/keep-expired.tsx'
import { Bar } from '../../parts/panel.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { count, dateTime } from '../../show.ts'
import { refresh } from '../../watch.ts'
import { useSafety } from './reach.tsx'

export function Restore({ backup, onClose }: { readonly backup: BackupInfo; readonly onClose: () => void }) {
  const [target, setTarget] = useState(`${backup.original}_restored`)
  const [kind, setKind] = useState<'backup' | 'lsn' | 'time'>('backup')
  const [lsn, setLsn] = useState<number | undefined>(backup.lsn)
  const [time, setTime] = useState('')
  const [keepExpired, setKeepExpired] = useState(false)
  const safety = useSafety()
  const [percent, setPercent] = useState(0)
  const { busy, error, run } = useAction()
  const restore = () =>
    run(async () => {
      setPercent(0)
      await client().backups.restore(backup.name, {
        target,
        ...momentOf(kind, lsn, time),
        keepExpired,
        onProgress: (job) => setPercent(job.percent ?? 0),
        timeoutMs: workTimeoutMs,
      })
      await refresh()
      tell(`Restored as ${target}.`)
      go(href(['collections', target]))
    })
  return (
    <Dialog
      title={`Restore ${backup.name}`}
      onClose={onClose}
      onSubmit={() => void restore()}
      footer={<Buttons onCancel={onClose} busy={busy} doing="Restoring…" action="Restore" disabled={target === ''} />}
    >
      <div class="form">
        <TextField label="New collection name" value={target} onInput={setTarget} required />
        <div class="field">
          <span class="label">As of</span>
          <Segmented
            label="As of"
            value={kind}
            options={[
              ['backup', 'Backup'],
              ['lsn', 'Event'],
              ['time', 'Time'],
            ]}
            onInput={setKind}
          />
        </div>
        {kind === 'backup' && (
          <p class="muted">
            {count(backup.objects)} objects as of LSN {count(backup.lsn)}, {dateTime(backup.logTime.getTime())}.
          </p>
        )}
        {kind === 'lsn' && (
          <NumberField
            label="Event (LSN)"
            value={lsn}
            min={0}
            onInput={setLsn}
            hint={`Up to and including this event. ${reachText(safety)}`}
          />
        )}
        {kind === 'time' && (
          <TextField
            label="Time (local)"
            type="datetime-local"
            value={time}
            onInput={setTime}
            hint={`Every write acknowledged up to this time. ${reachText(safety)}`}
          />
        )}
        <KeepExpired checked={keepExpired} onInput={setKeepExpired} />
        {busy && <Bar share={percent / 100} label="Restore progress" />}
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}

function reachText(safety: Safety | undefined): string {
  if (safety === undefined) return 'As far back as the log is kept.'
  const from = safety.restorable_from
  if (from === undefined) return 'Point-in-time restore is off. Set NDD_ARCHIVE_HOURS to turn it on.'
  return `History begins at LSN ${count(from.lsn)}, ${dateTime(Date.parse(from.time))}.`
}

function momentOf(
  kind: 'backup' | 'lsn' | 'time',
  lsn: number | undefined,
  time: string,
): Pick<RestoreOptions, 'lsn' | 'time'> {
  if (kind === 'backup') return {}
  if (kind === 'lsn') {
    if (lsn === undefined) throw new Error('enter the LSN of an event')
    return { lsn }
  }
  const moment = new Date(time)
  if (Number.isNaN(moment.getTime())) throw new Error('enter a time')
  return { time: moment }
}
