// Gives objects the content that they had at a moment: counts what that changes, asks, and shows the progress.
import { useState } from 'preact/hooks'
import { client } from '../../api/client.ts'
import { cancelUndo, type UndoChoice, type Undone, type UndoRequest, undo } from '../../api/past.ts'
import { useAction, useLoad } from '../../load.ts'
import { Buttons, Dialog } from '../../parts/dialog.tsx'
import { Check, NumberField, Segmented, TextField } from '../../parts/form.tsx'
import { Bar } from '../../parts/panel.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { count } from '../../show.ts'
import { Written } from '../filter/written.tsx'

const pollMs = 500

export interface UndoProps {
  readonly collection: string
  readonly choice: UndoChoice
  /** The moment, if it is chosen already. */
  readonly lsn?: number
  readonly onClose: () => void
  readonly onWritten: () => void
}

export function UndoDialog({ collection, choice, lsn: chosen, onClose, onWritten }: UndoProps) {
  const [kind, setKind] = useState<'lsn' | 'time'>('lsn')
  const [lsn, setLsn] = useState(chosen)
  const [time, setTime] = useState('')
  const [keepExpired, setKeepExpired] = useState(false)
  const [counted, setCounted] = useState<Undone>()
  const { busy, error, run } = useAction()
  const countChanges = () =>
    run(async () =>
      setCounted(await undo(collection, choice, { asOf: momentOf(kind, lsn, time), keepExpired, dryRun: true })),
    )
  const runUndo = (moment: number) =>
    run(async () => {
      const { restored, deleted } = await undo(collection, choice, { asOf: { lsn: moment }, keepExpired })
      tell(`Objects restored: ${count(restored)}, deleted: ${count(deleted)}.`)
      onWritten()
    })
  const forget =
    <T,>(set: (value: T) => void) =>
    (value: T) => {
      setCounted(undefined)
      set(value)
    }
  const isNothing = counted !== undefined && counted.restored + counted.deleted === 0
  return (
    <Dialog
      title={'ids' in choice ? `Undo changes of ${choice.ids.join(', ')}` : 'Undo changes of matching objects'}
      onClose={onClose}
      onSubmit={() => void (counted === undefined ? countChanges() : runUndo(counted.asOfLsn))}
      footer={
        <Buttons
          onCancel={onClose}
          busy={busy}
          doing={counted === undefined ? 'Counting…' : 'Undoing…'}
          action={counted === undefined ? 'Count changes' : 'Undo'}
          danger={counted !== undefined}
          disabled={isNothing}
        />
      }
    >
      <div class="form">
        <p class="muted">
          The objects get the content that they had at the moment. Those that did not exist then are deleted. All of it
          is one write, which can be undone too.
        </p>
        {'filter' in choice && <Written filter={choice.filter} />}
        {chosen === undefined && (
          <div class="field">
            <span class="label">As of</span>
            <Segmented
              label="As of"
              value={kind}
              options={[
                ['lsn', 'Event'],
                ['time', 'Time'],
              ]}
              onInput={forget(setKind)}
            />
          </div>
        )}
        {kind === 'lsn' ? (
          <NumberField label="Event (LSN)" value={lsn} min={0} onInput={forget(setLsn)} hint="Just after this event." />
        ) : (
          <TextField label="Time (local)" type="datetime-local" value={time} onInput={forget(setTime)} />
        )}
        <Check
          label="Objects that return do not expire"
          hint="Otherwise they get the expiry that they had. Those whose time has passed are hidden at once."
          checked={keepExpired}
          onInput={forget(setKeepExpired)}
        />
        {counted && <Counted counted={counted} />}
        {busy && <Progress collection={collection} />}
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}

function Counted({ counted }: { readonly counted: Undone }) {
  const { restored, deleted, asOfLsn } = counted
  return (
    <div class={`notice ${restored + deleted === 0 ? '' : 'warn'}`} role="status">
      {restored + deleted === 0 ? (
        <span>Nothing differs from LSN {count(asOfLsn)}.</span>
      ) : (
        <span>
          Objects that return to LSN {count(asOfLsn)}: <strong class="num">{count(restored)}</strong>. Objects that are
          deleted: <strong class="num">{count(deleted)}</strong>.
        </span>
      )}
    </div>
  )
}

/** The progress of an undo is that of a restore. */
function Progress({ collection }: { readonly collection: string }) {
  const { error, run } = useAction()
  const status = useLoad((signal) => client().backups.restoreStatus({ signal }), [collection], { everyMs: pollMs })
  const job = status.kind === 'ready' && status.value.status === 'running' ? status.value : undefined
  if (job?.collection !== collection) return null
  return (
    <div class="stack tight" role="status">
      <span class="muted">Reading the collection as of the moment.</span>
      <Bar share={(job.percent ?? 0) / 100} label="Undo progress" />
      <div class="row">
        <button type="button" class="compact" onClick={() => void run(async () => void (await cancelUndo()))}>
          Cancel this undo
        </button>
      </div>
      {error && <Failure error={error} />}
    </div>
  )
}

function momentOf(kind: 'lsn' | 'time', lsn: number | undefined, time: string): UndoRequest['asOf'] {
  if (kind === 'lsn') {
    if (lsn === undefined) throw new Error('enter the LSN of an event')
    return { lsn }
  }
  const moment = new Date(time)
  if (Number.isNaN(moment.getTime())) throw new Error('enter a time')
  return { time: moment }
}
