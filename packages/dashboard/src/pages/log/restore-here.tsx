// A collection as it was at the place in the log that is looked at, as a new one. Nothing that exists is touched.
import { useState } from 'preact/hooks'
import { restorePast } from '../../api/log.ts'
import { useAction } from '../../load.ts'
import { Buttons, Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/form.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { go, href } from '../../route.ts'
import { count } from '../../show.ts'
import { collections, refresh } from '../../watch.ts'

export function RestoreHere(props: {
  readonly collection: string | undefined
  readonly at: number
  readonly onClose: () => void
}) {
  const names = (collections.value ?? []).map(({ name }) => name)
  const [collection, setCollection] = useState(props.collection ?? names[0] ?? '')
  const [target, setTarget] = useState(collection === '' ? '' : `${collection}_${props.at}`)
  const { busy, error, run } = useAction()
  const restore = () =>
    run(async () => {
      await restorePast(collection, target, { lsn: props.at })
      await refresh()
      tell(`Restored as ${target}.`)
      go(href(['collections', target]))
    })
  return (
    <Dialog
      title={`Restore to LSN ${count(props.at)}`}
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
          A new collection is made with what the one named here held just after this event, also if that one was deleted
          since. Nothing that exists is touched.
        </p>
        <TextField label="Collection" value={collection} onInput={setCollection} list={names} required />
        <TextField label="Name of the new collection" value={target} onInput={setTarget} required />
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}
