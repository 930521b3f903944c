// Dialog that creates or changes a schedule.
import { useState } from 'preact/hooks'
import { putSchedule, type Schedule } from '../../api/schedules.ts'
import { useAction } from '../../load.ts'
import { Buttons, Dialog } from '../../parts/dialog.tsx'
import { Check, NumberField, SelectField } from '../../parts/form.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'

export function ScheduleDialog(props: {
  /** Undefined to create a new schedule. */
  readonly schedule: Schedule | undefined
  readonly collections: readonly string[]
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const [collection, setCollection] = useState(props.schedule?.collection ?? props.collections[0] ?? '')
  const [every, setEvery] = useState<number | undefined>(props.schedule?.every_hours ?? 24)
  const [keep, setKeep] = useState<number | undefined>(props.schedule?.keep ?? 7)
  const [check, setCheck] = useState(props.schedule?.check ?? true)
  const { busy, error, run } = useAction()
  const save = () =>
    run(async () => {
      await putSchedule(collection, { every_hours: every ?? 0, keep: keep ?? 0, check })
      tell(`Schedule of ${collection} saved.`)
      props.onDone()
    })
  return (
    <Dialog
      title={props.schedule === undefined ? 'New schedule' : `Schedule of ${collection}`}
      onClose={props.onClose}
      onSubmit={() => void save()}
      footer={
        <Buttons
          onCancel={props.onClose}
          busy={busy}
          doing="Saving…"
          action="Save schedule"
          disabled={collection === ''}
        />
      }
    >
      <div class="form">
        {props.schedule === undefined && (
          <SelectField label="Collection" value={collection} options={props.collections} onInput={setCollection} />
        )}
        <div class="columns">
          <NumberField
            label="Hours between backups"
            value={every}
            min={1}
            max={8_760}
            required
            onInput={setEvery}
            hint="No backup is created while the collection does not change."
          />
          <NumberField label="Backups to keep" value={keep} min={1} max={10_000} required onInput={setKeep} />
        </div>
        <Check label="Verify each backup with a test restore" checked={check} onInput={setCheck} />
        <p class="muted">
          Backups created manually are never removed. The first scheduled backup starts within two minutes.
        </p>
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}
