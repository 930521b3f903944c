// The columns with what becomes of each, the chunks of the first documents, and the collection to create.
import type { ChunkBy } from '@annal/client'
import { useMemo } from 'preact/hooks'
import { asError, useRested } from '../../load.ts'
import { NumberField, SelectField, TextField } from '../../parts/form.tsx'
import { Badge, Panel } from '../../parts/panel.tsx'
import { Failure } from '../../parts/states.tsx'
import { Table as Rows } from '../../parts/table.tsx'
import { Excerpt } from '../../parts/texts.tsx'
import { count } from '../../show.ts'
import { languageOptions } from '../collections/languages.ts'
import { type ChunkObject, chunksOfRow, documentKey, textField } from './chunks.ts'
import type { Plan, Role } from './plan.ts'
import type { Table } from './table.ts'

const roleOptions: readonly (readonly [Role, string])[] = [
  ['text', 'text to search'],
  ['id', 'id of the document'],
  ['filter', 'filter value'],
  ['meta', 'returned, not searched'],
  ['none', 'left out'],
]

const byOptions: readonly (readonly [ChunkBy, string])[] = [
  ['sentences', 'between sentences'],
  ['markdown', 'between Markdown sections'],
  ['code', 'between blocks of code'],
  ['tokens', 'between any words'],
]

const columnsMax = 60
const rowsChunked = 20
const chunksShown = 3

export function PlanForm(props: {
  readonly table: Table
  readonly plan: Plan
  readonly onChange: (plan: Plan) => void
  readonly onSubmit: () => void
}) {
  const { table, plan } = props
  const set = (to: Partial<Plan>) => props.onChange({ ...plan, ...to })
  const setRole = (column: number, role: Role) =>
    set({
      // One column has the ids.
      roles: plan.roles.map((now, i) => (i === column ? role : role === 'id' && now === 'id' ? 'meta' : now)),
    })
  const preview = usePreview(table, plan)
  return (
    <form
      class="stack"
      onSubmit={(event) => {
        event.preventDefault()
        props.onSubmit()
      }}
    >
      <Panel flush title="Columns">
        <Rows heads={['Column', 'Becomes', 'First value']} kind="tight roles">
          {table.columns.slice(0, columnsMax).map((name, i) => (
            <tr key={name}>
              <td>
                <bdi class="wrap-anywhere">{name}</bdi>
              </td>
              <td>
                <select
                  aria-label={`${name} becomes`}
                  value={plan.roles[i]}
                  onInput={(event) => setRole(i, event.currentTarget.value as Role)}
                >
                  {roleOptions.map(([role, text]) => (
                    <option key={role} value={role}>
                      {text}
                    </option>
                  ))}
                </select>
              </td>
              <td class="long">
                <FirstValue table={table} column={i} />
              </td>
            </tr>
          ))}
        </Rows>
        {table.columns.length > columnsMax && (
          <p class="more muted num">{count(table.columns.length - columnsMax)} more columns stay as guessed.</p>
        )}
      </Panel>
      <Panel title="Chunks" actions={<span class="muted num">{preview.about}</span>}>
        <div class="form">
          <div class="columns">
            <SelectField label="Split" value={plan.by} options={byOptions} onInput={(by) => set({ by })} />
            <NumberField
              label="Tokens per chunk"
              value={plan.size}
              min={1}
              max={10_000}
              required
              onInput={(size = 0) => set({ size })}
            />
            <NumberField
              label="Tokens repeated"
              value={plan.overlap}
              min={0}
              max={Math.max(0, plan.size - 1)}
              onInput={(overlap = 0) => set({ overlap })}
            />
          </div>
          {preview.error && <Failure error={preview.error} />}
          <ol class="chunks">
            {preview.chunks.map((chunk) => (
              <li key={chunk.id}>
                <div class="row tight">
                  <span class="mono wrap-anywhere">{chunk.id}</span>
                  {Object.entries(chunk.filter).map(([key, value]) => (
                    <Badge key={key}>
                      <bdi class="wrap-anywhere">
                        {key} = {JSON.stringify(value)}
                      </bdi>
                    </Badge>
                  ))}
                </div>
                <p>
                  <Excerpt text={chunk.fields[textField]} />
                </p>
              </li>
            ))}
          </ol>
        </div>
      </Panel>
      <Panel title="Collection">
        <div class="form">
          <div class="columns">
            <TextField
              label="New collection"
              value={plan.name}
              required
              onInput={(name) => set({ name })}
              hint="Up to 64 letters, digits, underscores, and hyphens."
            />
            <SelectField
              label="Language"
              value={plan.language}
              options={languageOptions()}
              onInput={(language) => set({ language })}
              hint="Decides which forms of a word are the same. Guessed from the texts."
            />
          </div>
          <p class="muted">
            Each chunk is an object: its text in the field <code>{textField}</code>, and the id of its document in the
            filter key <code>{documentKey}</code>.
          </p>
          <div class="row">
            <button type="submit" class="primary" disabled={preview.error !== undefined || preview.chunks.length === 0}>
              Create and load
            </button>
          </div>
        </div>
      </Panel>
    </form>
  )
}

function FirstValue({ table, column }: { readonly table: Table; readonly column: number }) {
  const value = table.rows.map((row) => row[column]).find((found) => found !== undefined && found !== null)
  if (value === undefined) return <span class="muted">empty</span>
  return <Excerpt text={typeof value === 'string' ? value : JSON.stringify(value)} max={120} />
}

interface Preview {
  readonly chunks: readonly ChunkObject[]
  readonly about: string
  readonly error?: Error
}

/** Splits the first documents again once the settings rest. */
function usePreview(table: Table, wanted: Plan): Preview {
  const plan = useRested(wanted)
  return useMemo(() => {
    try {
      const rows = Math.min(rowsChunked, table.rows.length)
      const all = Array.from({ length: rows }, (_, row) => chunksOfRow(table, plan, row)).flat()
      const of = rows === table.rows.length ? 'all' : `the first ${count(rows)}`
      const documents = `${of} ${table.rows.length === 1 ? 'document' : 'documents'}`
      if (all.length === 0) throw new Error('no column has a text to search')
      return { chunks: all.slice(0, chunksShown), about: `${count(all.length)} chunks of ${documents}` }
    } catch (error) {
      return { chunks: [], about: '', error: asError(error) }
    }
  }, [table, plan])
}
