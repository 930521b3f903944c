// Creates a branch: a collection with the content of another one as of now or of an event.
import { useState } from 'preact/hooks'
import { branch } from '../../api/past.ts'
import { useAction } from '../../load.ts'
import { Buttons, Dialog } from '../../parts/dialog.tsx'
import { NumberField, TextField } from '../../parts/form.tsx'
import { KeepExpired } from '../../parts/keep-expired.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'

export function BranchDialog(props: {
  readonly collection: string
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const [name, setName] = useState(`${props.collection}_trial`)
  const [lsn, setLsn] = useState<number>()
  const [keepExpired, setKeepExpired] = useState(false)
  const { busy, error, run } = useAction()
  const create = () =>
    run(async () => {
      await branch(props.collection, name, { asOf: lsn === undefined ? undefined : { lsn }, keepExpired })
      tell(`Branch ${name} created.`)
      props.onDone()
    })
  return (
    <Dialog
      title={`New branch of ${props.collection}`}
      onClose={props.onClose}
      onSubmit={() => void create()}
      footer={
        <Buttons onCancel={props.onClose} busy={busy} doing="Creating…" action="Create branch" disabled={name === ''} />
      }
    >
      <div class="form">
        <p class="muted">
          The branch begins with the content of {props.collection}. They are independent from then on.
        </p>
        <TextField label="Branch name" value={name} onInput={setName} required />
        <NumberField
          label="As of event (LSN)"
          value={lsn}
          min={1}
          placeholder="now"
          onInput={setLsn}
          hint="Empty: as of now. An earlier moment takes as long as a restore."
        />
        <KeepExpired checked={keepExpired} onInput={setKeepExpired} />
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}
