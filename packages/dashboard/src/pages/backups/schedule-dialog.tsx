// A schedule that is made or changed.
import { useState } from 'preact/hooks'
import { putSchedule, type Schedule } from '../../api/schedules.ts'
import { useAction } from '../../load.ts'
import { Buttons, Dialog } from '../../parts/dialog.tsx'
import { Check, NumberField, SelectField } from '../../parts/form.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'

export function ScheduleDialog(props: {
  /** A new one when not given. */
  readonly of: Schedule | undefined
  readonly collections: readonly string[]
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const [collection, setCollection] = useState(props.of?.collection ?? props.collections[0] ?? '')
  const [every, setEvery] = useState<number | undefined>(props.of?.every_hours ?? 24)
  const [keep, setKeep] = useState<number | undefined>(props.of?.keep ?? 7)
  const [check, setCheck] = useState(props.of?.check ?? true)
  const { busy, error, run } = useAction()
  const save = () =>
    run(async () => {
      await putSchedule(collection, { every_hours: every ?? 0, keep: keep ?? 0, check })
      tell(`${collection} is backed up by itself.`)
      props.onDone()
    })
  return (
    <Dialog
      title={props.of === undefined ? 'New schedule' : `Schedule of ${collection}`}
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
        {props.of === undefined && (
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
            hint="Nothing is made while nothing changes."
          />
          <NumberField label="Backups kept" value={keep} min={1} max={10_000} required onInput={setKeep} />
        </div>
        <Check label="Prove each: build it aside and compare" checked={check} onInput={setCheck} />
        <p class="muted">Backups that people made are never removed. The first one is made within a minute or two.</p>
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}
