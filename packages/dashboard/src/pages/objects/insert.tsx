// Inserts or replaces objects from JSON that is typed or pasted, or from a file of JSON or JSON Lines.
import { useState } from 'preact/hooks'
import { type Collection, type Field, hasGraph, isText } from '../../api/collections.ts'
import { upsert } from '../../api/objects.ts'
import { useAction } from '../../load.ts'
import { Buttons, Dialog } from '../../parts/dialog.tsx'
import { NumberField, TextArea } from '../../parts/form.tsx'
import { Bar } from '../../parts/panel.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { count } from '../../show.ts'
import { batchesOf, exampleObjects, objectsIn } from './objects-in.ts'

export function Insert(props: {
  readonly collection: Collection
  readonly onClose: () => void
  readonly onWritten: () => void
}) {
  const { collection } = props
  const [text, setText] = useState('')
  const [file, setFile] = useState<File>()
  const [examples, setExamples] = useState<number | undefined>(20)
  const [done, setDone] = useState<{ readonly written: number; readonly total: number }>()
  const { busy, error, run } = useAction()
  const insert = () =>
    run(async () => {
      const objects = objectsIn(file === undefined ? text : await file.text())
      let written = 0
      setDone({ written, total: objects.length })
      for (const batch of batchesOf(objects)) {
        await upsert(collection.name, batch)
        written += batch.length
        setDone({ written, total: objects.length })
      }
      tell(`${count(written)} ${written === 1 ? 'object' : 'objects'} written.`)
      props.onWritten()
    })
  return (
    <Dialog
      title={`Insert into ${collection.name}`}
      wide
      onClose={props.onClose}
      onSubmit={() => void insert()}
      footer={
        <Buttons
          onCancel={props.onClose}
          busy={busy}
          doing="Writing…"
          action="Write objects"
          disabled={file === undefined && text.trim() === ''}
        />
      }
    >
      <div class="form">
        <p class="muted">
          One object, an array of objects, or one object per line. Existing objects with the same id are replaced.
        </p>
        {file === undefined ? (
          <TextArea
            label="Objects as JSON"
            rows={14}
            value={text}
            onInput={setText}
            placeholder={placeholderOf(collection)}
          />
        ) : (
          <div class="row">
            <strong class="wrap-anywhere">{file.name}</strong>
            <button type="button" class="compact" onClick={() => setFile(undefined)}>
              Type instead
            </button>
          </div>
        )}
        <div class="row bottom">
          <label class="button">
            Choose a file
            <input
              class="visually-hidden"
              type="file"
              accept=".json,.jsonl,.ndjson,application/json"
              onChange={(event) => setFile(event.currentTarget.files?.[0])}
            />
          </label>
          <div class="with-button example-box">
            <NumberField label="Examples" value={examples} min={1} max={500} onInput={setExamples} />
            <button
              type="button"
              onClick={() => {
                setFile(undefined)
                setText(exampleObjects(collection.fields, examples ?? 20))
              }}
            >
              Insert examples
            </button>
          </div>
        </div>
        {done && (
          <div role="status">
            <Bar share={done.total === 0 ? 0 : done.written / done.total} label="Objects written" />
            <p class="muted num">
              {count(done.written)} of {count(done.total)} written
            </p>
          </div>
        )}
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}

/** An object as this collection takes it, with the beginning of its vector. */
function placeholderOf({ fields }: Collection): string {
  const [field] = fields
  return `{"id": "a", "meta": {}, "filter": {}, "fields": {"${field?.name ?? 'vector'}": ${exampleOf(field)}}}`
}

function exampleOf(field: Field | undefined): string {
  if (field === undefined || isText(field)) return '"a text"'
  if (!hasGraph(field)) return '{"indices": [7], "values": [0.5]}'
  const { dimension } = field.params
  const numbers = Array.from({ length: Math.min(dimension, 4) }, (_, i) => `0.${i + 1}`)
  const vector = `[${[...numbers, ...(dimension > numbers.length ? ['…'] : [])].join(', ')}]`
  return field.type === 'multi_vector' ? `[${vector}]` : vector
}
