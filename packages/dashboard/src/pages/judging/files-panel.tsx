// Where judged queries come from: two files, dropped or chosen.
import { useAction } from '../../load.ts'
import { DropZone } from '../../parts/drop-zone.tsx'
import { Badge, Panel } from '../../parts/panel.tsx'
import { Failure } from '../../parts/states.tsx'
import { bytes } from '../../show.ts'
import { accepted, type JudgedFiles, type TextFile, withFiles } from './judged-files.ts'

export function FilesPanel(props: { readonly files: JudgedFiles; readonly onFiles: (files: JudgedFiles) => void }) {
  const { busy, error, run } = useAction()
  const read = (files: FileList | null | undefined) => {
    const chosen = [...(files ?? [])]
    if (chosen.length > 0) void run(async () => props.onFiles(await withFiles(chosen, props.files)))
  }
  return (
    <DropZone label="Judged queries" onFiles={read}>
      <Panel title="Judged queries">
        <div class="form">
          <dl class="facts">
            <dt>Queries</dt>
            <dd>
              <Chosen file={props.files.queries} /> <code>{'{"id": "1", "text": "roasted tomato"}'}</code>
              <span class="muted"> in each line; vector or fields instead of text for vector fields</span>
            </dd>
            <dt>Judgments</dt>
            <dd>
              <Chosen file={props.files.grades} />
              <span class="muted"> query, document, and grade in each line, separated by tabs, or TREC qrels</span>
            </dd>
          </dl>
          <div class="row">
            <label class="button">
              {busy ? 'Reading…' : 'Choose files'}
              <input
                class="visually-hidden"
                type="file"
                multiple
                accept={accepted}
                onChange={({ currentTarget }) => {
                  read(currentTarget.files)
                  // Choosing the same file again reads it again.
                  currentTarget.value = ''
                }}
              />
            </label>
            <span class="muted">Or drop both files here. They stay in the browser; only the queries are sent.</span>
          </div>
          {error && <Failure error={error} />}
        </div>
      </Panel>
    </DropZone>
  )
}

function Chosen({ file }: { readonly file: TextFile | undefined }) {
  if (file === undefined) return <Badge kind="warn">missing</Badge>
  return (
    <Badge kind="good">
      <bdi class="wrap-anywhere">{file.name}</bdi> <span class="num">{bytes(new Blob([file.text]).size)}</span>
    </Badge>
  )
}
