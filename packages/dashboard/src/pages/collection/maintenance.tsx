// Actions on a whole collection (rebuild, vacuum, delete) and their progress.
import { useState } from 'preact/hooks'
import { go } from '../../address.ts'
import {
  type Collection,
  deleteCollection,
  hasGraph,
  type RebuildStatus,
  rebuild,
  rebuildStatus,
  vacuum,
} from '../../api/collections.ts'
import { useAction, useLoad } from '../../load.ts'
import { Buttons, Dialog, TypedConfirmation } from '../../parts/dialog.tsx'
import { type GraphChoice, GraphFields } from '../../parts/graph-fields.tsx'
import { Bar, Panel } from '../../parts/panel.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { bytes, count, dateTime } from '../../show.ts'
import { refresh } from '../../watch.ts'
import { BackupButton } from '../backups/backup-button.tsx'
import type { CollectionTab } from '../collection-tab.ts'

const runningMs = 500
const idleMs = 5_000

export function Maintenance({
  collection,
  again,
}: {
  readonly collection: Collection
  readonly again: CollectionTab['again']
}) {
  const [openDialog, setOpenDialog] = useState<'rebuild' | 'delete'>()
  const [running, setRunning] = useState(false)
  const status = useLoad((signal) => rebuildStatus(collection.name, { signal }), [collection.name], {
    everyMs: running ? runningMs : idleMs,
  })
  const state = status.kind === 'ready' ? status.value : undefined
  const inProgress = state?.status === 'in_progress'
  const hasGraphs = collection.fields.some(hasGraph)
  if (inProgress !== running && state !== undefined) setRunning(inProgress)
  const { busy, error, run } = useAction()
  const runVacuum = () =>
    run(async () => {
      const { reclaimed_bytes: reclaimed } = await vacuum(collection.name)
      tell(reclaimed > 0 ? `${bytes(reclaimed)} freed.` : 'No memory to free.')
      again()
      status.again()
    })
  return (
    <Panel title="Maintenance">
      <div class="stack tight">
        <div class="row">
          <BackupButton collection={collection.name} />
          {hasGraphs && (
            <button type="button" disabled={inProgress} onClick={() => setOpenDialog('rebuild')}>
              Rebuild…
            </button>
          )}
          <button type="button" disabled={busy || inProgress} onClick={() => void runVacuum()}>
            {busy ? 'Vacuuming…' : 'Vacuum'}
          </button>
          <button type="button" class="danger" onClick={() => setOpenDialog('delete')}>
            Delete…
          </button>
        </div>
        <p class="muted">
          {hasGraphs && 'Rebuild recreates the graph. '}Vacuum frees the memory of deleted objects. Searches continue
          meanwhile; writes wait.
        </p>
        {error && <Failure error={error} />}
        {state && <Progress status={state} />}
      </div>
      {openDialog === 'rebuild' && (
        <Rebuild
          collection={collection}
          onClose={() => setOpenDialog(undefined)}
          onStarted={() => {
            setOpenDialog(undefined)
            status.again()
          }}
        />
      )}
      {openDialog === 'delete' && (
        <TypedConfirmation
          title="Delete collection"
          name={collection.name}
          action="Delete collection"
          onClose={() => setOpenDialog(undefined)}
          onConfirm={async () => {
            await deleteCollection(collection.name)
            await refresh()
            tell(`Collection ${collection.name} deleted.`)
            go('#/collections')
          }}
        >
          <p>
            {count(collection.total_elements)} objects and their index will be deleted. Backups of the collection are
            kept. This cannot be undone.
          </p>
        </TypedConfirmation>
      )}
    </Panel>
  )
}

function Progress({ status }: { readonly status: RebuildStatus }) {
  if (status.status === 'idle') return null
  if (status.status === 'failed') return <Failure error={new Error(status.error ?? 'The rebuild failed.')} />
  if (status.status === 'completed') {
    const completed = status.completed_at === undefined ? '' : ` ${dateTime(Date.parse(status.completed_at))}`
    return <p class="good">Rebuilt{completed}.</p>
  }
  return (
    <div class="stack tight" role="status">
      <Bar share={status.percent_complete / 100} label="Rebuild progress" />
      <p class="muted num">
        Rebuilding: {count(status.objects_processed)} of {count(status.total_objects)} objects
      </p>
    </div>
  )
}

function Rebuild(props: {
  readonly collection: Collection
  readonly onClose: () => void
  readonly onStarted: () => void
}) {
  const dense = props.collection.fields.filter(hasGraph)
  const [chosen, setChosen] = useState<{ readonly [field: string]: GraphChoice }>({})
  const { busy, error, run } = useAction()
  const start = () =>
    run(async () => {
      await rebuild(
        props.collection.name,
        dense.map(({ name }) => {
          const { M, ef } = chosen[name] ?? {}
          return { field: name, ...(M !== undefined && { M }), ...(ef !== undefined && { ef_con: ef }) }
        }),
      )
      props.onStarted()
    })
  return (
    <Dialog
      title={`Rebuild ${props.collection.name}`}
      onClose={props.onClose}
      onSubmit={() => void start()}
      footer={<Buttons onCancel={props.onClose} busy={busy} doing="Starting…" action="Rebuild" />}
    >
      <div class="form">
        <p class="muted">Empty fields keep their current value. Distance and precision cannot be changed.</p>
        {dense.map(({ name, params }) => (
          <fieldset key={name}>
            <legend>{name}</legend>
            <GraphFields
              chosen={chosen[name] ?? {}}
              fallback={{ M: params.M, ef: params.ef_con }}
              onChange={(choice) => setChosen({ ...chosen, [name]: { ...chosen[name], ...choice } })}
            />
          </fieldset>
        ))}
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}
