// The recall that searches of a field state: its default, and the measurements that choose ef.
import { useState } from 'preact/hooks'
import {
  type Calibration,
  type Collection,
  calibrate,
  calibrations,
  isDense,
  updateFields,
} from '../../api/collections.ts'
import { useAction, useLoad } from '../../load.ts'
import { NumberField, SelectField } from '../../parts/form.tsx'
import { Bar, Panel } from '../../parts/panel.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { count, dateTime } from '../../show.ts'
import type { CollectionTab } from '../collection-tab.ts'
import { RecallCurve } from './recall-curve.tsx'

const runningMs = 1_000
const idleMs = 10_000

export function StatedRecall({
  collection,
  again,
}: {
  readonly collection: Collection
  readonly again: CollectionTab['again']
}) {
  const dense = collection.fields.filter(isDense)
  const [name, setName] = useState(dense[0]?.name ?? '')
  const field = dense.find((one) => one.name === name)
  const [limit, setLimit] = useState<number | undefined>(10)
  const [running, setRunning] = useState(false)
  const { busy, error, run } = useAction()
  const loaded = useLoad((signal) => calibrations(collection.name, { signal }), [collection.name], {
    everyMs: running || busy ? runningMs : idleMs,
  })
  if (field === undefined) return null
  const known = loaded.kind === 'ready' ? loaded.value.filter((one) => one.field === name) : []
  const isRunning = known.some(({ state }) => state === 'running')
  if (isRunning !== running) setRunning(isRunning)
  const measure = () =>
    run(async () => {
      await calibrate(collection.name, { field: name, limit: limit ?? 10 })
      loaded.again()
    })
  return (
    <Panel title="Recall by ef">
      <div class="stack tight">
        <p class="muted">
          A search can state a recall instead of ef. Measurements with sample queries show which ef reaches it.
        </p>
        <div class="columns">
          <SelectField label="Field" value={name} options={dense.map((one) => one.name)} onInput={setName} />
          <NumberField label="Results" value={limit} min={1} max={512} onInput={setLimit} />
        </div>
        <div class="row">
          <button
            type="button"
            disabled={busy || isRunning || collection.total_elements === 0}
            onClick={() => void measure()}
          >
            {busy || isRunning ? 'Measuring…' : 'Measure curve'}
          </button>
        </div>
        <DefaultRecall key={`${name} ${field.params.recall}`} collection={collection} field={field} again={again} />
        {error && <Failure error={error} />}
        {loaded.kind === 'failed' && <Failure error={loaded.error} />}
        {known.map((one) => (
          <Measured key={`${one.limit} ${one.rescore}`} calibration={one} />
        ))}
      </div>
    </Panel>
  )
}

function DefaultRecall({
  collection,
  field: { name, params },
  again,
}: {
  readonly collection: Collection
  readonly field: { readonly name: string; readonly params: { readonly recall?: number } }
  readonly again: CollectionTab['again']
}) {
  const [recall, setRecall] = useState(params.recall)
  const { busy, error, run } = useAction()
  const save = () =>
    run(async () => {
      await updateFields(collection.name, [{ field: name, recall: recall ?? null }])
      tell(
        recall === undefined ? 'Searches use ef 128 by default.' : `Searches reach a recall of ${recall} by default.`,
      )
      again()
    })
  return (
    <form
      class="form"
      onSubmit={(event) => {
        event.preventDefault()
        void save()
      }}
    >
      <NumberField
        label="Default recall"
        hint="For searches that state neither ef nor recall. Empty: they use ef 128."
        value={recall}
        min={0.01}
        max={0.999}
        step="any"
        onInput={setRecall}
      />
      <div class="row">
        <button type="submit" disabled={busy || recall === params.recall}>
          Save default
        </button>
      </div>
      {error && <Failure error={error} />}
    </form>
  )
}

const states = {
  none: 'not measured yet',
  running: 'being measured',
  current: 'current',
  outdated: 'outdated: the field has changed',
  failed: 'failed',
} as const

function Measured({ calibration }: { readonly calibration: Calibration }) {
  const { limit, rescore, state, progress, error, queries, source, rows, measured_at: measuredAt, curves } = calibration
  const what = `up to ${limit} results${rescore ? ', rescored' : ''}`
  return (
    <div class="stack tight">
      <div class="row spread">
        <strong>{what}</strong>
        <span class={state === 'current' ? 'good' : 'muted'}>{states[state]}</span>
      </div>
      {progress && <Bar share={progress.done / Math.max(1, progress.queries)} label={`Measurement of ${what}`} />}
      {error && <p class="muted">{error}</p>}
      {measuredAt !== undefined && (
        <p class="muted">
          Measured {dateTime(measuredAt)} with {count(queries ?? 0)}{' '}
          {source === 'received' ? 'received queries' : 'queries made of stored vectors'}, {count(rows ?? 0)} vectors.
        </p>
      )}
      {curves && <RecallCurve curves={curves} name={`${calibration.field}, ${what}`} />}
    </div>
  )
}
