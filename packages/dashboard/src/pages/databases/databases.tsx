// Databases, for the root token: creating, activating, deactivating and deleting them, and their tokens.
import { useEffect, useState } from 'preact/hooks'
import { go } from '../../address.ts'
import { createDatabase, type Database, deleteDatabase, setActive } from '../../api/databases.ts'
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
  | { readonly kind: 'delete'; readonly database: Database }
  | { readonly kind: 'tokens'; readonly database: Database }
  | { readonly kind: 'made'; readonly name: string; readonly token: string }

export function Databases() {
  const [openDialog, setOpenDialog] = useState<OpenDialog>()
  const { error, run } = useAction()
  useEffect(() => void run(refreshDatabases), [])
  const all = databases.value
  const close = () => setOpenDialog(undefined)
  const toggle = (database: Database) =>
    run(async () => {
      await setActive(database.db_name, !database.is_active)
      await refreshDatabases()
      tell(`Database ${database.db_name} ${database.is_active ? 'deactivated' : 'activated'}.`)
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
      {openDialog?.kind === 'tokens' && <Tokens database={openDialog.database.db_name} onClose={close} />}
      {openDialog?.kind === 'delete' && (
        <TypedConfirmation
          title="Delete database"
          name={openDialog.database.db_name}
          action="Delete database"
          onClose={close}
          onConfirm={async () => {
            await deleteDatabase(openDialog.database.db_name)
            await refreshDatabases()
            tell(`Database ${openDialog.database.db_name} deleted.`)
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
  readonly databases: readonly Database[]
  readonly onOpen: (dialog: OpenDialog) => void
  readonly onToggle: (database: Database) => void
}) {
  return (
    <Table heads={['Name', 'Type', 'State', 'Created', actions]}>
      {props.databases.map((database) => (
        <tr key={database.db_name}>
          <td>
            <button
              type="button"
              class="link"
              onClick={() => {
                chooseDatabase(database.db_name)
                go('#/collections')
              }}
            >
              <strong>{database.db_name}</strong>
            </button>
          </td>
          <td>{database.db_type}</td>
          <td>
            <Badge kind={database.is_active ? 'good' : 'warn'}>{database.is_active ? 'active' : 'deactivated'}</Badge>
          </td>
          <td class="muted fit">{createdText(database.created_at)}</td>
          <td class="fit">
            <span class="row tight together">
              <button type="button" class="compact" onClick={() => props.onOpen({ kind: 'tokens', database })}>
                <Icon name="key" size={13} /> Tokens
              </button>
              <button type="button" class="compact" onClick={() => props.onToggle(database)}>
                {database.is_active ? 'Deactivate' : 'Activate'}
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
      const made = await createDatabase(name, type)
      await refreshDatabases()
      props.onMade(name, made.db_token)
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

function createdText(created: number | string): string {
  if (created === 0) return 'from the start'
  return dateTime(typeof created === 'number' ? created * 1_000 : Date.parse(created))
}
