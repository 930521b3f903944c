// Buttons that back up and clone the collection of this page.
import { useState } from 'preact/hooks'
import { go, href } from '../../address.ts'
import { cloneCollection } from '../../api/collections.ts'
import { useAction } from '../../load.ts'
import { Buttons, Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/form.tsx'
import { KeepExpired } from '../../parts/keep-expired.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { refresh } from '../../watch.ts'
import { NewBackup } from './new-backup.tsx'
import { watchBackup } from './progress.tsx'

export function BackupButton({ collection }: { readonly collection: string }) {
  const [openDialog, setOpenDialog] = useState<'backup' | 'clone'>()
  const close = () => setOpenDialog(undefined)
  return (
    <>
      <button type="button" onClick={() => setOpenDialog('backup')}>
        Back up…
      </button>
      <button type="button" onClick={() => setOpenDialog('clone')}>
        Clone…
      </button>
      {openDialog === 'backup' && (
        <NewBackup
          collection={collection}
          onClose={close}
          onBegun={() => {
            close()
            watchBackup()
            go('#/backups')
          }}
        />
      )}
      {openDialog === 'clone' && <Clone collection={collection} onClose={close} />}
    </>
  )
}

function Clone({ collection, onClose }: { readonly collection: string; readonly onClose: () => void }) {
  const [target, setTarget] = useState(`${collection}_copy`)
  const [keepExpired, setKeepExpired] = useState(false)
  const { busy, error, run } = useAction()
  const clone = () =>
    run(async () => {
      await cloneCollection(collection, target, { keepExpired })
      await refresh()
      tell(`Cloned as ${target}.`)
      go(href(['collections', target]))
    })
  return (
    <Dialog
      title={`Clone ${collection}`}
      onClose={onClose}
      onSubmit={() => void clone()}
      footer={<Buttons onCancel={onClose} busy={busy} doing="Cloning…" action="Clone" disabled={target === ''} />}
    >
      <div class="form">
        <p class="muted">
          Creates a new collection with the current content of this one. They are independent from then on.
        </p>
        <TextField label="Clone name" value={target} onInput={setTarget} required />
        <KeepExpired checked={keepExpired} onInput={setKeepExpired} />
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}
