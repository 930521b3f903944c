// Asks the index with vectors it stores and compares with exact answers.
import { useState } from 'preact/hooks'
import { type Collection, isDense, type Recall, recall } from '../../api/collections.ts'
import { useAction } from '../../load.ts'
import { NumberField, SelectField } from '../../parts/form.tsx'
import { Bar, Panel } from '../../parts/panel.tsx'
import { Empty, Failure } from '../../parts/states.tsx'
import { percent } from '../../show.ts'

const good = 0.95

export function RecallCheck({ of }: { readonly of: Collection }) {
  const dense = of.fields.filter(isDense).map(({ name }) => name)
  const [field, setField] = useState(dense[0] ?? '')
  const [sample, setSample] = useState<number | undefined>(100)
  const [limit, setLimit] = useState<number | undefined>(10)
  const [ef, setEf] = useState<number | undefined>(128)
  const [found, setFound] = useState<Recall>()
  const { busy, error, run } = useAction()
  if (dense.length === 0) {
    return (
      <Panel title="Recall">
        <Empty title="Sparse fields are searched exactly" />
      </Panel>
    )
  }
  const measure = () =>
    run(async () =>
      setFound(await recall(of.name, { field, sample: sample ?? 100, limit: limit ?? 10, ef: ef ?? 128 })),
    )
  return (
    <Panel title="Recall self-check">
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          void measure()
        }}
      >
        <p class="muted">Stored vectors are asked for, and each answer is compared with the exact one.</p>
        <div class="columns">
          <SelectField label="Field" value={field} options={dense} onInput={setField} />
          <NumberField label="Questions" value={sample} min={1} max={1_000} onInput={setSample} />
          <NumberField label="Results" value={limit} min={1} max={512} onInput={setLimit} />
          <NumberField label="ef" value={ef} min={1} max={1_024} onInput={setEf} />
        </div>
        <div class="row">
          <button type="submit" disabled={busy || of.total_elements === 0}>
            {busy ? 'Measuring…' : 'Measure recall'}
          </button>
          {of.total_elements === 0 && <span class="muted">There are no objects to ask with.</span>}
        </div>
        {error && <Failure error={error} />}
        {found && <Found of={found} />}
      </form>
    </Panel>
  )
}

function Found({ of }: { readonly of: Recall }) {
  return (
    <div class="stack tight" role="status">
      <div class="row spread num">
        <strong class={of.recall >= good ? 'good' : 'warn'}>Recall {percent(of.recall)}</strong>
        <span class="muted">
          worst of {of.sample}: {percent(of.recall_worst)}
        </span>
      </div>
      <Bar share={of.recall} label="Recall" />
      {of.recall < good && (
        <p class="muted">
          Raise ef for better answers at once; rebuild with a larger M for better ones at the same ef.
        </p>
      )}
    </div>
  )
}
