// Backing up, and cloning, the collection whose page this is.
import { useState } from 'preact/hooks'
import { cloneCollection } from '../../api/backups.ts'
import { useAction } from '../../load.ts'
import { Buttons, Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/form.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { go, href } from '../../route.ts'
import { refresh } from '../../watch.ts'
import { NewBackup } from './new-backup.tsx'
import { watchBackup } from './progress.tsx'

export function BackupButton({ collection }: { readonly collection: string }) {
  const [asked, setAsked] = useState<'backup' | 'clone'>()
  const close = () => setAsked(undefined)
  return (
    <>
      <button type="button" onClick={() => setAsked('backup')}>
        Back up…
      </button>
      <button type="button" onClick={() => setAsked('clone')}>
        Clone…
      </button>
      {asked === 'backup' && (
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
      {asked === 'clone' && <Clone collection={collection} onClose={close} />}
    </>
  )
}

function Clone({ collection, onClose }: { readonly collection: string; readonly onClose: () => void }) {
  const [target, setTarget] = useState(`${collection}_copy`)
  const { busy, error, run } = useAction()
  const clone = () =>
    run(async () => {
      await cloneCollection(collection, target)
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
        <p class="muted">A new collection with what this one holds now; both go their own ways from there.</p>
        <TextField label="Name of the clone" value={target} onInput={setTarget} required />
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}
