// Rebuild, vacuum, delete: what works on a whole collection, with its progress.
import { useState } from 'preact/hooks'
import {
  type Collection,
  deleteCollection,
  hasGraph,
  type RebuildStatus,
  rebuild,
  rebuildStatus,
  shrink,
} from '../../api/collections.ts'
import { useAction, useLoad } from '../../load.ts'
import { Buttons, Dialog, TypedConfirmation } from '../../parts/dialog.tsx'
import { type GraphChoice, GraphFields } from '../../parts/graph-fields.tsx'
import { Bar, Panel } from '../../parts/panel.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { go } from '../../route.ts'
import { bytes, count, dateTime } from '../../show.ts'
import { refresh } from '../../watch.ts'
import { BackupButton } from '../backups/backup-button.tsx'
import type { CollectionTab } from './collection.tsx'

const runningMs = 500
const idleMs = 5_000

export function Maintenance({ of, again }: { readonly of: Collection; readonly again: CollectionTab['again'] }) {
  const [asked, setAsked] = useState<'rebuild' | 'delete'>()
  const [running, setRunning] = useState(false)
  const status = useLoad((signal) => rebuildStatus(of.name, { signal }), [of.name], {
    everyMs: running ? runningMs : idleMs,
  })
  const state = status.kind === 'ready' ? status.value : undefined
  const inProgress = state?.status === 'in_progress'
  if (inProgress !== running && state !== undefined) setRunning(inProgress)
  const { busy, error, run } = useAction()
  const vacuum = () =>
    run(async () => {
      const { reclaimed_bytes: reclaimed } = await shrink(of.name)
      tell(reclaimed > 0 ? `${bytes(reclaimed)} given back.` : 'There was nothing to give back.')
      again()
      status.again()
    })
  return (
    <Panel title="Maintenance">
      <div class="stack tight">
        <div class="row">
          <BackupButton collection={of.name} />
          <button type="button" disabled={inProgress} onClick={() => setAsked('rebuild')}>
            Rebuild…
          </button>
          <button type="button" disabled={busy || inProgress} onClick={() => void vacuum()}>
            {busy ? 'Vacuuming…' : 'Vacuum'}
          </button>
          <button type="button" class="danger" onClick={() => setAsked('delete')}>
            Delete…
          </button>
        </div>
        <p class="muted">
          A rebuild links everything anew; a vacuum gives back what deleted objects held. Searches go on meanwhile,
          writes wait.
        </p>
        {error && <Failure error={error} />}
        {state && <Progress of={state} />}
      </div>
      {asked === 'rebuild' && (
        <Rebuild
          of={of}
          onClose={() => setAsked(undefined)}
          onBegun={() => {
            setAsked(undefined)
            status.again()
          }}
        />
      )}
      {asked === 'delete' && (
        <TypedConfirmation
          title="Delete collection"
          name={of.name}
          action="Delete collection"
          onClose={() => setAsked(undefined)}
          onConfirm={async () => {
            await deleteCollection(of.name)
            await refresh()
            tell(`Collection ${of.name} deleted.`)
            go('#/collections')
          }}
        >
          <p>
            {count(of.total_elements)} objects and their index are deleted. Backups of it stay. This cannot be undone.
          </p>
        </TypedConfirmation>
      )}
    </Panel>
  )
}

function Progress({ of }: { readonly of: RebuildStatus }) {
  if (of.status === 'idle') return null
  if (of.status === 'failed') return <Failure error={new Error(of.error ?? 'The rebuild failed.')} />
  if (of.status === 'completed') {
    const at = of.completed_at === undefined ? '' : ` ${dateTime(Date.parse(of.completed_at))}`
    return <p class="good">Rebuilt{at}.</p>
  }
  return (
    <div class="stack tight" role="status">
      <Bar share={of.percent_complete / 100} label="Progress of the rebuild" />
      <p class="muted num">
        Rebuilding: {count(of.objects_processed)} of {count(of.total_objects)} objects
      </p>
    </div>
  )
}

function Rebuild(props: { readonly of: Collection; readonly onClose: () => void; readonly onBegun: () => void }) {
  const dense = props.of.fields.filter(hasGraph)
  const [chosen, setChosen] = useState<{ readonly [field: string]: GraphChoice }>({})
  const { busy, error, run } = useAction()
  const begin = () =>
    run(async () => {
      await rebuild(
        props.of.name,
        dense.map(({ name }) => {
          const { M, ef } = chosen[name] ?? {}
          return { field: name, ...(M !== undefined && { M }), ...(ef !== undefined && { ef_con: ef }) }
        }),
      )
      props.onBegun()
    })
  return (
    <Dialog
      title={`Rebuild ${props.of.name}`}
      onClose={props.onClose}
      onSubmit={() => void begin()}
      footer={<Buttons onCancel={props.onClose} busy={busy} doing="Starting…" action="Rebuild" />}
    >
      <div class="form">
        <p class="muted">Empty means: as it is. Distance and precision cannot be changed.</p>
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
