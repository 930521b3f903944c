// Creates an alias, or switches one to another collection.
import { useState } from 'preact/hooks'
import { type AliasInfo, putAlias } from '../../api/past.ts'
import { useAction } from '../../load.ts'
import { Buttons, Dialog } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/form.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { collections } from '../../watch.ts'

export function AliasDialog(props: {
  /** Undefined for a new one. */
  readonly alias: AliasInfo | undefined
  /** Suggested for a new one. */
  readonly collection: string
  readonly onClose: () => void
  readonly onDone: () => void
}) {
  const { alias } = props
  const [name, setName] = useState(alias?.name ?? '')
  const [collection, setCollection] = useState(alias?.collection ?? props.collection)
  const { busy, error, run } = useAction()
  const names = (collections.value ?? []).map((one) => one.name)
  const put = () =>
    run(async () => {
      await putAlias(name, collection)
      tell(`${name} leads to ${collection}.`)
      props.onDone()
    })
  return (
    <Dialog
      title={alias === undefined ? 'New alias' : `Switch ${alias.name}`}
      onClose={props.onClose}
      onSubmit={() => void put()}
      footer={
        <Buttons
          onCancel={props.onClose}
          busy={busy}
          doing="Saving…"
          action={alias === undefined ? 'Create alias' : 'Switch alias'}
          disabled={name === ''}
        />
      }
    >
      <div class="form">
        <p class="muted">
          No request that begins after the switch reaches the old collection. If the alias exists, it is switched.
        </p>
        {alias === undefined && <TextField label="Alias" value={name} onInput={setName} required />}
        <SelectField
          label="Leads to"
          value={collection}
          options={names.includes(collection) ? names : [collection, ...names]}
          onInput={setCollection}
        />
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}
