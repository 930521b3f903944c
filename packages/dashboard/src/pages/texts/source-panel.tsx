// Where the texts come from: the clipboard, files, or the sample.
import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { useAction } from '../../load.ts'
import { DropZone } from '../../parts/drop-zone.tsx'
import { TextArea } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Panel } from '../../parts/panel.tsx'
import { Failure } from '../../parts/states.tsx'
import { count } from '../../show.ts'
import { accepted, tableOfFiles } from './files.ts'
import type { LoadWish } from './load.tsx'
import { parquetRows } from './parquet-rows.ts'
import { sampleColumns, samplePlan } from './plan.ts'
import { type Table, tableOf } from './table.ts'

export function SourcePanel(props: {
  readonly table: Table | undefined
  readonly taken: () => readonly string[]
  readonly onTable: (table: Table) => void
  readonly onSample: (wish: LoadWish) => void
  /** How vectors are made, if there is a choice. */
  readonly meaning: ComponentChildren
  /** Whether that is still loading. */
  readonly loading: boolean
}) {
  const [text, setText] = useState('')
  const { busy, error, run } = useAction()
  const readText = () => run(async () => props.onTable(tableOf({ name: '', text })))
  const readFiles = (files: FileList | null | undefined) => {
    if (files != null && files.length > 0)
      void run(async () => props.onTable(await tableOfFiles([...files], parquetRows)))
  }
  const loadSample = () =>
    run(async () => {
      const { documents } = await import('virtual:sample')
      const rows = documents.map(({ document, title, text }) => [document, title, text])
      const table = { name: 'guide', columns: sampleColumns, rows, isMarkdown: true }
      props.onSample({ table, plan: samplePlan(props.taken()) })
    })
  return (
    <DropZone label="Texts" onFiles={readFiles}>
      <Panel
        title="Texts"
        actions={
          <button type="button" disabled={busy || props.loading} onClick={() => void loadSample()}>
            <Icon name="download" size={14} /> Load the sample
          </button>
        }
      >
        <form
          class="form"
          onSubmit={(event) => {
            event.preventDefault()
            void readText()
          }}
        >
          <TextArea
            label="Text, CSV, or JSON Lines"
            prose
            rows={props.table === undefined ? 8 : 3}
            value={text}
            onInput={setText}
            placeholder="Paste here, or drop files: text, Markdown, CSV, JSON Lines, or Parquet."
          />
          {props.meaning}
          <div class="row">
            <button
              type="submit"
              class={props.table === undefined ? 'primary' : ''}
              disabled={busy || text.trim() === ''}
            >
              {busy ? 'Reading…' : 'Preview'}
            </button>
            <label class="button">
              Choose files
              <input
                class="visually-hidden"
                type="file"
                multiple
                accept={accepted}
                onChange={(event) => readFiles(event.currentTarget.files)}
              />
            </label>
            <span class="muted">
              {props.table === undefined
                ? 'The sample is the guide of Annal (MIT license), split into chunks.'
                : `${count(props.table.rows.length)} ${props.table.rows.length === 1 ? 'document' : 'documents'} read.`}
            </span>
          </div>
          {error && <Failure error={error} />}
        </form>
      </Panel>
    </DropZone>
  )
}
