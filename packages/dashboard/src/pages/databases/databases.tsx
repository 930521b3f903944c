// Databases, for the root token: creating, activating, deactivating and deleting them, and their tokens.

import type { DatabaseInfo } from '@annal/client'
import { useEffect, useState } from 'preact/hooks'
import { go } from '../../address.ts'
import { client } from '../../api/client.ts'
import { databases, refreshDatabases } from '../../databases.ts'
import { useAction } from '../../load.ts'
import { Buttons, Dialog, TypedConfirmation } from '../../parts/dialog.tsx'
import { SelectField, TextField } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Badge, PageHead, Panel } from '../../parts/panel.tsx'
import { Empty, Failure, Loading } from '../../parts/states.tsx'
import { actions, Table } from '../../parts/table.tsx'
import { tell } from '../../parts/toast.tsx'
import { chooseDatabase } from '../../session.ts'
import { dateTime } from '../../show.ts'
import { NewToken, Tokens } from './tokens.tsx'

type OpenDialog =
  | { readonly kind: 'create' }
  | { readonly kind: 'delete'; readonly database: DatabaseInfo }
  | { readonly kind: 'tokens'; readonly database: DatabaseInfo }
  | { readonly kind: 'made'; readonly name: string; readonly token: string }

export function Databases() {
  const [openDialog, setOpenDialog] = useState<OpenDialog>()
  const { error, run } = useAction()
  useEffect(() => void run(refreshDatabases), [])
  const all = databases.value
  const close = () => setOpenDialog(undefined)
  const toggle = (database: DatabaseInfo) =>
    run(async () => {
      const { databases } = client('control')
      await (database.isActive ? databases.deactivate(database.name) : databases.activate(database.name))
      await refreshDatabases()
      tell(`Database ${database.name} ${database.isActive ? 'deactivated' : 'activated'}.`)
    })
  return (
    <>
      <PageHead
        title="Databases"
        actions={
          <button type="button" class="primary" onClick={() => setOpenDialog({ kind: 'create' })}>
            <Icon name="plus" size={14} /> New database
          </button>
        }
      />
      <div class="stack">
        {error && <Failure error={error} retry={() => void run(refreshDatabases)} />}
        {all === undefined ? (
          !error && <Loading />
        ) : (
          <Panel flush label="Databases">
            {all.length === 0 ? (
              <Empty title="No databases yet">
                <p>A database holds collections and has its own tokens.</p>
              </Empty>
            ) : (
              <DatabaseTable databases={all} onOpen={setOpenDialog} onToggle={(database) => void toggle(database)} />
            )}
          </Panel>
        )}
      </div>
      {openDialog?.kind === 'create' && (
        <Create onClose={close} onMade={(name, token) => setOpenDialog({ kind: 'made', name, token })} />
      )}
      {openDialog?.kind === 'made' && (
        <NewToken title={`Database ${openDialog.name} created`} token={openDialog.token} onClose={close} />
      )}
      {openDialog?.kind === 'tokens' && <Tokens database={openDialog.database.name} onClose={close} />}
      {openDialog?.kind === 'delete' && (
        <TypedConfirmation
          title="Delete database"
          name={openDialog.database.name}
          action="Delete database"
          onClose={close}
          onConfirm={async () => {
            await client('control').databases.delete(openDialog.database.name)
            await refreshDatabases()
            tell(`Database ${openDialog.database.name} deleted.`)
            close()
          }}
        >
          <p>All its collections and tokens will be deleted. This cannot be undone.</p>
        </TypedConfirmation>
      )}
    </>
  )
}

function DatabaseTable(props: {
  readonly databases: readonly DatabaseInfo[]
  readonly onOpen: (dialog: OpenDialog) => void
  readonly onToggle: (database: DatabaseInfo) => void
}) {
  return (
    <Table heads={['Name', 'Type', 'State', 'Created', actions]}>
      {props.databases.map((database) => (
        <tr key={database.name}>
          <td>
            <button
              type="button"
              class="link"
              onClick={() => {
                chooseDatabase(database.name)
                go('#/collections')
              }}
            >
              <strong>{database.name}</strong>
            </button>
          </td>
          <td>{database.type}</td>
          <td>
            <Badge kind={database.isActive ? 'good' : 'warn'}>{database.isActive ? 'active' : 'deactivated'}</Badge>
          </td>
          <td class="muted fit">{createdText(database.createdAt)}</td>
          <td class="fit">
            <span class="row tight together">
              <button type="button" class="compact" onClick={() => props.onOpen({ kind: 'tokens', database })}>
                <Icon name="key" size={13} /> Tokens
              </button>
              <button type="button" class="compact" onClick={() => props.onToggle(database)}>
                {database.isActive ? 'Deactivate' : 'Activate'}
              </button>
              <button type="button" class="compact danger" onClick={() => props.onOpen({ kind: 'delete', database })}>
                Delete…
              </button>
            </span>
          </td>
        </tr>
      ))}
    </Table>
  )
}

function Create(props: { readonly onClose: () => void; readonly onMade: (name: string, token: string) => void }) {
  const [name, setName] = useState('')
  const [type, setType] = useState<'starter' | 'pro' | 'scale' | 'enterprise'>('enterprise')
  const { busy, error, run } = useAction()
  const create = () =>
    run(async () => {
      const token = await client('control').databases.create(name, type)
      await refreshDatabases()
      props.onMade(name, token)
    })
  return (
    <Dialog
      title="New database"
      onClose={props.onClose}
      onSubmit={() => void create()}
      footer={
        <Buttons
          onCancel={props.onClose}
          busy={busy}
          doing="Creating…"
          action="Create database"
          disabled={name === ''}
        />
      }
    >
      <div class="form">
        <TextField label="Name" value={name} onInput={setName} focus required />
        <SelectField
          label="Type"
          value={type}
          options={['starter', 'pro', 'scale', 'enterprise']}
          onInput={setType}
          hint="Smaller types limit size and number."
        />
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}

/** The first database has no time of creation. */
function createdText(created: Date): string {
  return created.getTime() === 0 ? 'from the start' : dateTime(created.getTime())
}
