// Gives a collection the name and the aliases of another one, which is kept under another name.
import { useState } from 'preact/hooks'
import { go, href } from '../../address.ts'
import { promote } from '../../api/past.ts'
import { useAction } from '../../load.ts'
import { Buttons, Dialog } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/form.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'

export function PromoteDialog(props: {
  readonly name: string
  /** Names of the tree. */
  readonly others: readonly string[]
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const { name } = props
  const targets = props.others.filter((other) => other !== name)
  const [over, setOver] = useState(targets[0] ?? '')
  const [keepAs, setKeepAs] = useState(`${targets[0] ?? ''}_old`)
  const { busy, error, run } = useAction()
  const start = () =>
    run(async () => {
      await promote(name, over, keepAs)
      tell(`${name} is named ${over} now.`)
      props.onDone()
      go(href(['collections', over, 'branches']))
    })
  return (
    <Dialog
      title={`Promote ${name}`}
      onClose={props.onClose}
      onSubmit={() => void start()}
      footer={
        <Buttons
          onCancel={props.onClose}
          busy={busy}
          doing="Promoting…"
          action="Promote"
          disabled={over === '' || keepAs === ''}
        />
      }
    >
      <div class="form">
        <p class="muted">
          {name} gets the name and the aliases of the other collection in one event. The other one stays under a new
          name until you delete it.
        </p>
        <SelectField label="Takes the name of" value={over} options={targets} onInput={setOver} />
        <TextField label={`Keep ${over} as`} value={keepAs} onInput={setKeepAs} required />
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}
