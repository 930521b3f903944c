// Dialog that starts a backup of a collection. The server creates it in the background.
import { useState } from 'preact/hooks'
import { createBackup } from '../../api/collections.ts'
import { useAction } from '../../load.ts'
import { Buttons, Dialog } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/form.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { collections } from '../../watch.ts'

export function NewBackup(props: {
  /** Backs up this collection. Without it the user chooses one. */
  readonly collection?: string
  readonly onClose: () => void
  readonly onBegun: () => void
}) {
  const names = (collections.value ?? []).map(({ name }) => name)
  const [collection, setCollection] = useState(props.collection ?? names[0] ?? '')
  const [name, setName] = useState('')
  const { busy, error, run } = useAction()
  const begin = () =>
    run(async () => {
      const { backup_name: made } = await createBackup(collection, name)
      tell(`Backup ${made} started.`)
      props.onBegun()
    })
  return (
    <Dialog
      title={props.collection === undefined ? 'New backup' : `Back up ${props.collection}`}
      onClose={props.onClose}
      onSubmit={() => void begin()}
      footer={
        <Buttons
          onCancel={props.onClose}
          busy={busy}
          doing="Starting…"
          action="Create backup"
          disabled={collection === ''}
        />
      }
    >
      <div class="form">
        {props.collection === undefined && (
          <SelectField label="Collection" value={collection} options={names} onInput={setCollection} />
        )}
        <TextField
          label="Backup name"
          value={name}
          onInput={setName}
          placeholder="default: collection and time"
          hint="Letters, digits, underscores, and hyphens."
        />
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}
