// Restores a collection as of the selected log position into a new collection. Existing collections do not change.
import { useState } from 'preact/hooks'
import { go, href } from '../../address.ts'
import { restorePast } from '../../api/log.ts'
import { useAction } from '../../load.ts'
import { Buttons, Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/form.tsx'
import { KeepExpired } from '../../parts/keep-expired.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { count } from '../../show.ts'
import { collections, refresh } from '../../watch.ts'

export function RestoreHere(props: {
  readonly collection: string | undefined
  readonly lsn: number
  readonly onClose: () => void
}) {
  const names = (collections.value ?? []).map(({ name }) => name)
  const [collection, setCollection] = useState(props.collection ?? names[0] ?? '')
  const [target, setTarget] = useState(collection === '' ? '' : `${collection}_${props.lsn}`)
  const [keepExpired, setKeepExpired] = useState(false)
  const { busy, error, run } = useAction()
  const restore = () =>
    run(async () => {
      await restorePast(collection, target, { lsn: props.lsn, keepExpired })
      await refresh()
      tell(`Restored as ${target}.`)
      go(href(['collections', target]))
    })
  return (
    <Dialog
      title={`Restore to LSN ${count(props.lsn)}`}
      onClose={props.onClose}
      onSubmit={() => void restore()}
      footer={
        <Buttons
          onCancel={props.onClose}
          busy={busy}
          doing="Restoring…"
          action="Restore"
          disabled={target === '' || collection === ''}
        />
      }
    >
      <div class="form">
        <p class="muted">
          Creates a new collection with the state of the named one just after this event, even if that one was deleted
          later. Existing collections do not change.
        </p>
        <TextField label="Collection" value={collection} onInput={setCollection} list={names} required />
        <TextField label="New collection name" value={target} onInput={setTarget} required />
        <KeepExpired checked={keepExpired} onInput={setKeepExpired} />
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}
