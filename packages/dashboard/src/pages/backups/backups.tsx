// Backups: the list, creating one, and the actions on each.

import type { BackupInfo } from '@annal/client'
import { useState } from 'preact/hooks'
import { client } from '../../api/client.ts'
import { workTimeoutMs } from '../../api/connection.ts'
import { backupsChanged, backupsVersion } from '../../backups-version.ts'
import { useAction, useLoad } from '../../load.ts'
import { TypedConfirmation } from '../../parts/dialog.tsx'
import { Icon } from '../../parts/icon.tsx'
import { PageHead, Panel } from '../../parts/panel.tsx'
import { Empty, Failure, Show } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { count } from '../../show.ts'
import { collections } from '../../watch.ts'
import { type BackupAction, BackupTable } from './backup-table.tsx'
import { InfoDialog } from './info-dialog.tsx'
import { NewBackup } from './new-backup.tsx'
import { BackupProgress, watchBackup } from './progress.tsx'
import { Reach } from './reach.tsx'
import { Restore } from './restore-dialog.tsx'
import { Schedules } from './schedules.tsx'
import { Upload } from './upload-dialog.tsx'

type OpenDialog =
  | { readonly kind: 'create' | 'upload' }
  | { readonly kind: 'restore' | 'info' | 'delete'; readonly backup: BackupInfo }

const everyMs = 5_000

export function Backups() {
  const [openDialog, setOpenDialog] = useState<OpenDialog>()
  const list = useLoad(newestFirst, ['backups'], { everyMs, version: backupsVersion.value })
  const { busy, error, run } = useAction()
  const close = () => setOpenDialog(undefined)
  const changed = () => {
    close()
    backupsChanged()
  }
  const act = (kind: BackupAction, backup: BackupInfo) => {
    if (kind === 'download') void run(() => save(backup))
    else if (kind === 'verify') void run(() => verify(backup))
    else setOpenDialog({ kind, backup })
  }
  return (
    <>
      <PageHead
        title="Backups"
        actions={
          <>
            <button type="button" onClick={() => setOpenDialog({ kind: 'upload' })}>
              <Icon name="upload" size={14} /> Upload
            </button>
            <button
              type="button"
              class="primary"
              disabled={collections.value?.length === 0}
              onClick={() => setOpenDialog({ kind: 'create' })}
            >
              <Icon name="plus" size={14} /> New backup
            </button>
          </>
        }
      />
      <div class="stack">
        <BackupProgress />
        {busy && <p class="muted">Working…</p>}
        {error && <Failure error={error} />}
        <Reach />
        <Schedules />
        <Show source={list}>
          {(backups) => (
            <Panel
              flush
              title={
                <span class="num">
                  {count(backups.length)} {backups.length === 1 ? 'backup' : 'backups'}
                </span>
              }
            >
              {backups.length === 0 ? (
                <Empty title="No backups yet">
                  <p>
                    A backup is a copy of a collection as of one event. Searches continue while it is created, and
                    writes pause only briefly.
                  </p>
                </Empty>
              ) : (
                <BackupTable backups={backups} onAct={act} />
              )}
            </Panel>
          )}
        </Show>
      </div>
      {openDialog?.kind === 'create' && (
        <NewBackup
          onClose={close}
          onBegun={() => {
            close()
            watchBackup()
          }}
        />
      )}
      {openDialog?.kind === 'upload' && <Upload onClose={close} onDone={changed} />}
      {openDialog?.kind === 'info' && <InfoDialog backup={openDialog.backup} onClose={close} />}
      {openDialog?.kind === 'restore' && <Restore backup={openDialog.backup} onClose={close} />}
      {openDialog?.kind === 'delete' && (
        <TypedConfirmation
          title="Delete backup"
          name={openDialog.backup.name}
          action="Delete backup"
          onClose={close}
          onConfirm={async () => {
            await client().backups.delete(openDialog.backup.name)
            tell(`Backup ${openDialog.backup.name} deleted.`)
            changed()
          }}
        >
          <p>
            The backup of <strong>{openDialog.backup.original}</strong> with {count(openDialog.backup.objects)} objects
            is deleted. The collection stays as it is.
          </p>
        </TypedConfirmation>
      )}
    </>
  )
}

async function newestFirst(signal: AbortSignal): Promise<readonly BackupInfo[]> {
  const backups = await client().backups.list({ signal })
  return backups.toSorted((a, b) => b.createdAt.getTime() - a.createdAt.getTime() || a.name.localeCompare(b.name))
}

/** The token is sent in a header, so the page downloads the bytes and hands them to the browser as a file. */
async function save({ name }: BackupInfo): Promise<void> {
  const content = await client().backups.download(name, { timeoutMs: workTimeoutMs })
  const address = URL.createObjectURL(await new Response(content).blob())
  const link = document.createElement('a')
  link.href = address
  link.download = `${name}.tar`
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}

async function verify({ name }: BackupInfo): Promise<void> {
  const faults = await client().backups.verify(name, { deep: true, timeoutMs: workTimeoutMs })
  if (faults.length > 0) throw new Error(`backup ${name} is damaged: ${faults.join('; ')}`)
  tell(`Backup ${name} is intact: every file was verified, and the collection was rebuilt from it.`)
}
