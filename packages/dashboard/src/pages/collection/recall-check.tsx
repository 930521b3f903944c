// Searches for stored vectors and compares the results with exact search.
import { useState } from 'preact/hooks'
import { type Collection, isDense, type Recall, recall } from '../../api/collections.ts'
import { useAction } from '../../load.ts'
import { NumberField, SelectField } from '../../parts/form.tsx'
import { Bar, Panel } from '../../parts/panel.tsx'
import { Empty, Failure } from '../../parts/states.tsx'
import { percent } from '../../show.ts'

const good = 0.95

export function RecallCheck({ collection }: { readonly collection: Collection }) {
  const dense = collection.fields.filter(isDense).map(({ name }) => name)
  const [field, setField] = useState(dense[0] ?? '')
  const [sample, setSample] = useState<number | undefined>(100)
  const [limit, setLimit] = useState<number | undefined>(10)
  const [ef, setEf] = useState<number | undefined>(128)
  const [found, setFound] = useState<Recall>()
  const { busy, error, run } = useAction()
  if (dense.length === 0) {
    return (
      <Panel title="Recall">
        <Empty title="Sparse and text fields are searched exactly" />
      </Panel>
    )
  }
  const measure = () =>
    run(async () =>
      setFound(await recall(collection.name, { field, sample: sample ?? 100, limit: limit ?? 10, ef: ef ?? 128 })),
    )
  return (
    <Panel title="Recall check">
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          void measure()
        }}
      >
        <p class="muted">Runs sample queries and compares each result with exact search.</p>
        <div class="columns">
          <SelectField label="Field" value={field} options={dense} onInput={setField} />
          <NumberField label="Queries" value={sample} min={1} max={1_000} onInput={setSample} />
          <NumberField label="Results" value={limit} min={1} max={512} onInput={setLimit} />
          <NumberField label="ef" value={ef} min={1} max={1_024} onInput={setEf} />
        </div>
        <div class="row">
          <button type="submit" disabled={busy || collection.total_elements === 0}>
            {busy ? 'Measuring…' : 'Measure recall'}
          </button>
          {collection.total_elements === 0 && <span class="muted">The collection has no objects.</span>}
        </div>
        {error && <Failure error={error} />}
        {found && <Found recall={found} />}
      </form>
    </Panel>
  )
}

function Found({ recall }: { readonly recall: Recall }) {
  return (
    <div class="stack tight" role="status">
      <div class="row spread num">
        <strong class={recall.recall >= good ? 'good' : 'warn'}>Recall {percent(recall.recall)}</strong>
        <span class="muted">
          worst of {recall.sample}: {percent(recall.recall_worst)}
        </span>
      </div>
      <Bar share={recall.recall} label="Recall" />
      {recall.recall < good && (
        <p class="muted">
          A larger ef improves recall at once. A rebuild with a larger M improves recall at the same ef.
        </p>
      )}
    </div>
  )
}
