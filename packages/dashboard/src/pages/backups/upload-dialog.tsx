// Uploads a downloaded backup of this or another server. The server verifies it completely before it is listed.
import { useState } from 'preact/hooks'
import { client } from '../../api/client.ts'
import { workTimeoutMs } from '../../api/connection.ts'
import { useAction } from '../../load.ts'
import { Buttons, Dialog } from '../../parts/dialog.tsx'
import { TextField } from '../../parts/form.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { bytes } from '../../show.ts'

export function Upload({ onClose, onDone }: { readonly onClose: () => void; readonly onDone: () => void }) {
  const [file, setFile] = useState<File>()
  const [name, setName] = useState('')
  const { busy, error, run } = useAction()
  const upload = () =>
    run(async () => {
      if (file === undefined) return
      await client().backups.upload(name, file, { timeoutMs: workTimeoutMs })
      tell(`Backup ${name} uploaded.`)
      onDone()
    })
  return (
    <Dialog
      title="Upload a backup"
      onClose={onClose}
      onSubmit={() => void upload()}
      footer={
        <Buttons
          onCancel={onClose}
          busy={busy}
          doing="Uploading and verifying…"
          action="Upload"
          disabled={file === undefined || name === ''}
        />
      }
    >
      <div class="form">
        <label class="field">
          <span class="label">Backup file (.tar)</span>
          <input
            type="file"
            accept=".tar"
            onChange={(event) => {
              const chosen = event.currentTarget.files?.[0]
              setFile(chosen)
              if (chosen !== undefined) setName(nameFrom(chosen.name))
            }}
          />
        </label>
        {file && <p class="muted num">{bytes(file.size)}</p>}
        <TextField label="Backup name" value={name} onInput={setName} required />
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}

function nameFrom(file: string): string {
  return file.replace(/\.tar$/i, '').replaceAll(/[^\w-]/g, '_')
}
