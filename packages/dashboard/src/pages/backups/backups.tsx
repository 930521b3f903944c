// Backups: what there is, making one, and what can be done with each.
import { useState } from 'preact/hooks'
import { type Backup, deleteBackup, downloadBackup, listBackups, verifyBackup } from '../../api/backups.ts'
import { useAction, useLoad } from '../../load.ts'
import { TypedConfirmation } from '../../parts/dialog.tsx'
import { Icon } from '../../parts/icon.tsx'
import { PageHead, Panel } from '../../parts/panel.tsx'
import { Empty, Failure, Show } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { count } from '../../show.ts'
import { collections } from '../../watch.ts'
import { BackupTable } from './backup-table.tsx'
import { BackupInfo } from './info-dialog.tsx'
import { NewBackup } from './new-backup.tsx'
import { BackupProgress, watchBackup } from './progress.tsx'
import { Reach } from './reach.tsx'
import { Restore } from './restore-dialog.tsx'
import { Schedules } from './schedules.tsx'
import { Upload } from './upload-dialog.tsx'

export type BackupAction = 'restore' | 'info' | 'download' | 'verify' | 'delete'
type Asked =
  | { readonly kind: 'create' | 'upload' }
  | { readonly kind: 'restore' | 'info' | 'delete'; readonly of: Backup }

const everyMs = 5_000

export function Backups() {
  const [asked, setAsked] = useState<Asked>()
  const list = useLoad((signal) => listBackups({ signal }), ['backups'], { everyMs })
  const { busy, error, run } = useAction()
  const close = () => setAsked(undefined)
  const changed = () => {
    close()
    list.again()
  }
  const act = (kind: BackupAction, of: Backup) => {
    if (kind === 'download') void run(() => save(of))
    else if (kind === 'verify') void run(() => verify(of))
    else setAsked({ kind, of })
  }
  return (
    <>
      <PageHead
        title="Backups"
        actions={
          <>
            <button type="button" onClick={() => setAsked({ kind: 'upload' })}>
              <Icon name="upload" size={14} /> Upload
            </button>
            <button
              type="button"
              class="primary"
              disabled={collections.value?.length === 0}
              onClick={() => setAsked({ kind: 'create' })}
            >
              <Icon name="plus" size={14} /> New backup
            </button>
          </>
        }
      />
      <div class="stack">
        <BackupProgress onChange={list.again} />
        {busy && <p class="muted">Working on it…</p>}
        {error && <Failure error={error} />}
        <Reach />
        <Schedules />
        <Show of={list}>
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
                    A backup is a whole collection as it was at one event. Making one neither stops searches nor holds
                    writes up for long.
                  </p>
                </Empty>
              ) : (
                <BackupTable of={backups} onAct={act} />
              )}
            </Panel>
          )}
        </Show>
      </div>
      {asked?.kind === 'create' && (
        <NewBackup
          onClose={close}
          onBegun={() => {
            close()
            watchBackup()
          }}
        />
      )}
      {asked?.kind === 'upload' && <Upload onClose={close} onDone={changed} />}
      {asked?.kind === 'info' && <BackupInfo of={asked.of} onClose={close} />}
      {asked?.kind === 'restore' && <Restore of={asked.of} onClose={close} />}
      {asked?.kind === 'delete' && (
        <TypedConfirmation
          title="Delete backup"
          name={asked.of.name}
          action="Delete backup"
          onClose={close}
          onConfirm={async () => {
            await deleteBackup(asked.of.name)
            tell(`Backup ${asked.of.name} deleted.`)
            changed()
          }}
        >
          <p>
            The backup of <strong>{asked.of.original_collection}</strong> with {count(asked.of.params.total_elements)}{' '}
            objects is deleted. The collection stays as it is.
          </p>
        </TypedConfirmation>
      )}
    </>
  )
}

/** The token goes in the header, so the bytes come here first and are handed to the browser as a file. */
async function save(of: Backup): Promise<void> {
  const address = URL.createObjectURL(await downloadBackup(of.name))
  const link = document.createElement('a')
  link.href = address
  link.download = `${of.name}.tar`
  link.click()
  setTimeout(() => URL.revokeObjectURL(address), 60_000)
}

async function verify(of: Backup): Promise<void> {
  const { status, faults } = await verifyBackup(of.name)
  if (status === 'ok') tell(`Backup ${of.name} is whole: every file, and the collection built from it.`)
  else throw new Error(`backup ${of.name} is damaged: ${faults.map((fault) => JSON.stringify(fault)).join('; ')}`)
}
