// A backup, or the past of its collection, as a new collection. Nothing that exists is touched.
import { useState } from 'preact/hooks'
import { type Backup, type Moment, restoreBackup, restoreStatus } from '../../api/backups.ts'
import type { Safety } from '../../api/server.ts'
import { useAction, useLoad } from '../../load.ts'
import { Buttons, Dialog } from '../../parts/dialog.tsx'
import { NumberField, Segmented, TextField } from '../../parts/form.tsx'
import { Bar } from '../../parts/panel.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { go, href } from '../../route.ts'
import { count, dateTime } from '../../show.ts'
import { refresh } from '../../watch.ts'
import { useSafety } from './reach.tsx'

const progressMs = 500

export function Restore({ of, onClose }: { readonly of: Backup; readonly onClose: () => void }) {
  const [target, setTarget] = useState(`${of.original_collection}_restored`)
  const [kind, setKind] = useState<'backup' | 'lsn' | 'time'>('backup')
  const [lsn, setLsn] = useState<number | undefined>(of.lsn)
  const [time, setTime] = useState('')
  const safety = useSafety()
  const { busy, error, run } = useAction()
  const restore = () =>
    run(async () => {
      await restoreBackup(of.name, target, momentOf(kind, lsn, time))
      await refresh()
      tell(`Restored as ${target}.`)
      go(href(['collections', target]))
    })
  return (
    <Dialog
      title={`Restore ${of.name}`}
      onClose={onClose}
      onSubmit={() => void restore()}
      footer={<Buttons onCancel={onClose} busy={busy} doing="Restoring…" action="Restore" disabled={target === ''} />}
    >
      <div class="form">
        <TextField label="Name of the new collection" value={target} onInput={setTarget} required />
        <div class="field">
          <span class="label">As of</span>
          <Segmented
            label="As of"
            value={kind}
            options={[
              ['backup', 'The backup'],
              ['lsn', 'An event'],
              ['time', 'A time'],
            ]}
            onInput={setKind}
          />
        </div>
        {kind === 'backup' && (
          <p class="muted">
            {count(of.params.total_elements)} objects as of LSN {count(of.lsn)}, {dateTime(Date.parse(of.log_time))}.
          </p>
        )}
        {kind === 'lsn' && (
          <NumberField
            label="Event (LSN)"
            value={lsn}
            min={0}
            onInput={setLsn}
            hint={`Up to and with this event. ${reachText(safety)}`}
          />
        )}
        {kind === 'time' && (
          <TextField
            label="Time, in your time zone"
            type="datetime-local"
            value={time}
            onInput={setTime}
            hint={`Everything acknowledged up to then. ${reachText(safety)}`}
          />
        )}
        {busy && <RestoreProgress />}
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}

function RestoreProgress() {
  const status = useLoad((signal) => restoreStatus({ signal }), ['restore'], { everyMs: progressMs })
  const job = status.kind === 'ready' && status.value.status === 'running' ? status.value : undefined
  return <Bar share={(job?.percent_complete ?? 0) / 100} label="Progress of the restore" />
}

function reachText(safety: Safety | undefined): string {
  if (safety === undefined) return 'As far back as the log is kept.'
  const from = safety.restorable_from
  if (from === undefined) return 'This server keeps no moments of the past: NDD_ARCHIVE_HOURS turns that on.'
  return `Kept from LSN ${count(from.lsn)}, ${dateTime(Date.parse(from.time))}.`
}

function momentOf(kind: 'backup' | 'lsn' | 'time', lsn: number | undefined, time: string): Moment | undefined {
  if (kind === 'backup') return undefined
  if (kind === 'lsn') {
    if (lsn === undefined) throw new Error('name the event, by its LSN')
    return { lsn }
  }
  const at = new Date(time)
  if (Number.isNaN(at.getTime())) throw new Error('name the time')
  return { time: at.toISOString() }
}
