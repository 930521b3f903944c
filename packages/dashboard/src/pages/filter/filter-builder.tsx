// Builds a filter row by row and shows its JSON, or edits the JSON directly.
import { useId, useState } from 'preact/hooks'
import { asError } from '../../load.ts'
import { prettyJson } from '../../parts/code.tsx'
import { TextArea } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { isolated } from '../../parts/visible.ts'
import {
  type FilterDraft,
  filterOf,
  literalText,
  missingIn,
  newRow,
  noFilter,
  type Operator,
  operators,
  type Row,
  rowsOf,
} from './filter-draft.ts'
import { useFilterKeys, useValues } from './known-keys.ts'
import { Written } from './written.tsx'

const placeholders: Partial<Record<Operator, string>> = { $in: 'a, b, c', $nin: 'a, b, c', $range: '10, 20' }

export function FilterBuilder(props: {
  readonly collection: string
  readonly draft: FilterDraft
  readonly onChange: (draft: FilterDraft) => void
}) {
  const { draft, onChange } = props
  const keys = useFilterKeys(props.collection)
  const [refused, setRefused] = useState<string>()
  const asRows = () => {
    try {
      const rows = rowsOf(filterOf(draft))
      if (rows === undefined) setRefused('Rows cannot express this filter. Edit it as JSON.')
      else onChange(rows)
    } catch (error) {
      setRefused(asError(error).message)
    }
  }
  if (draft.kind === 'text') {
    return (
      <div class="stack tight">
        <TextArea
          label="Filter as JSON"
          rows={6}
          value={draft.text}
          error={refused ?? textFault(draft)}
          onInput={(text) => {
            setRefused(undefined)
            onChange({ kind: 'text', text })
          }}
        />
        <div class="row">
          <button type="button" class="compact" onClick={asRows}>
            Edit as rows
          </button>
          <button type="button" class="compact plain" onClick={() => onChange(noFilter)}>
            Clear
          </button>
        </div>
      </div>
    )
  }
  const change = (number: number, to: Partial<Row>) =>
    onChange({ kind: 'rows', rows: draft.rows.map((row) => (row.number === number ? { ...row, ...to } : row)) })
  const written = filterOf(draft)
  return (
    <div class="stack tight">
      {draft.rows.map((row) => (
        <Condition
          key={row.number}
          collection={props.collection}
          row={row}
          keys={keys}
          onChange={(to) => change(row.number, to)}
          onRemove={() => onChange({ kind: 'rows', rows: draft.rows.filter((other) => other !== row) })}
        />
      ))}
      <div class="row">
        <button
          type="button"
          class="compact"
          onClick={() => onChange({ kind: 'rows', rows: [...draft.rows, newRow(keys[0] ?? '')] })}
        >
          <Icon name="plus" size={13} /> Condition
        </button>
        <button
          type="button"
          class="compact plain"
          onClick={() => onChange({ kind: 'text', text: written.length === 0 ? '[]' : prettyJson(written) })}
        >
          Edit as JSON
        </button>
      </div>
      {written.length > 0 && <Written filter={written} />}
    </div>
  )
}

function Condition(props: {
  readonly collection: string
  readonly row: Row
  readonly keys: readonly string[]
  readonly onChange: (to: Partial<Row>) => void
  readonly onRemove: () => void
}) {
  const { row, onChange } = props
  const id = useId()
  const values = useValues(props.collection, row.key, props.keys.includes(row.key))
  const missing = missingIn(row)
  return (
    <div class="condition">
      <input
        aria-label="Key"
        placeholder="key"
        list={`${id}-keys`}
        value={row.key}
        spellcheck={false}
        onInput={(event) => onChange({ key: event.currentTarget.value })}
      />
      <datalist id={`${id}-keys`}>
        {props.keys.map((key) => (
          <option key={key} value={key} />
        ))}
      </datalist>
      <select
        aria-label="Operator"
        value={row.operator}
        onInput={(event) => onChange({ operator: event.currentTarget.value as Operator })}
      >
        {operators.map(([operator, text]) => (
          <option key={operator} value={operator}>
            {text}
          </option>
        ))}
      </select>
      <input
        aria-label="Value"
        aria-describedby={`${id}-missing`}
        placeholder={placeholders[row.operator] ?? 'value'}
        list={`${id}-values`}
        value={row.text}
        spellcheck={false}
        onInput={(event) => onChange({ text: event.currentTarget.value })}
      />
      <datalist id={`${id}-values`}>
        {values.map(({ value, count }) => (
          <option
            key={literalText(value)}
            value={literalText(value)}
            label={`${isolated(literalText(value))} (${count})`}
          />
        ))}
      </datalist>
      <button type="button" class="plain icon" aria-label="Remove condition" onClick={props.onRemove}>
        <Icon name="close" size={14} />
      </button>
      <div id={`${id}-missing`} class="missing muted small" hidden={missing === undefined}>
        Not in the filter yet: enter {missing}.
      </div>
    </div>
  )
}

function textFault(draft: FilterDraft): string | undefined {
  try {
    filterOf(draft)
    return undefined
  } catch (error) {
    return asError(error).message
  }
}
