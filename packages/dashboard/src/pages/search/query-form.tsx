// The search form: the query of each field, the filter and the search settings.
import { useState } from 'preact/hooks'
import { type Collection, type Field, hasGraph, isEmbedded, isText } from '../../api/collections.ts'
import { scroll } from '../../api/objects.ts'
import { Check, NumberField, Segmented, SelectField, TextArea, TextField } from '../../parts/form.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Panel } from '../../parts/panel.tsx'
import { tell } from '../../parts/toast.tsx'
import { FilterBuilder } from '../filter/filter-builder.tsx'
import type { FieldDraft, SearchDraft, Settings } from './draft.ts'
import { clausesExample, settingsDefault } from './draft.ts'

interface QueryFormProps {
  readonly collection: Collection
  readonly draft: SearchDraft
  readonly busy: boolean
  /** Whether the search runs as of a moment and now. */
  readonly isPast: boolean
  readonly onChange: (draft: SearchDraft) => void
  readonly onPast: (isPast: boolean) => void
  readonly onSubmit: () => void
  readonly onCopy: () => void
  readonly onSaved: () => void
}

export function QueryForm(props: QueryFormProps) {
  const { collection, draft, busy, isPast, onChange, onPast, onSubmit, onCopy } = props
  const on = collection.fields.filter(({ name }) => draft.fields[name]?.on)
  const kinds = { graphs: on.some(hasGraph), fused: on.length > 1 }
  // Words and sparse vectors are always searched exactly, so they have nothing to set.
  const hasSettings = kinds.graphs || kinds.fused
  const changeField = (name: string, to: Partial<FieldDraft>) =>
    onChange({ ...draft, fields: { ...draft.fields, [name]: { ...draft.fields[name]!, ...to } } })
  return (
    <Panel
      title="Query"
      actions={
        <>
          <button type="button" class="compact" onClick={props.onSaved}>
            <Icon name="save" size={13} /> Saved
          </button>
          <button type="button" class="compact" onClick={onCopy}>
            <Icon name="copy" size={13} /> As code
          </button>
        </>
      }
    >
      <form
        class="form"
        onSubmit={(event) => {
          event.preventDefault()
          onSubmit()
        }}
      >
        {collection.fields.map((field) => (
          <FieldQuery
            key={field.name}
            collection={collection.name}
            field={field}
            draft={draft.fields[field.name]!}
            alone={collection.fields.length === 1}
            weighed={on.length > 1}
            onChange={(to) => changeField(field.name, to)}
          />
        ))}
        <Actions
          draft={draft}
          busy={busy}
          isPast={isPast}
          comparable={hasSettings}
          onChange={onChange}
          onPast={onPast}
        />
        <details class="more-settings" open={isWide()}>
          <summary>Filter and settings{settingsText(draft)}</summary>
          <div class="form">
            <div>
              <div class="label" id="filter-label">
                Filter
              </div>
              <fieldset class="bare" aria-labelledby="filter-label">
                <FilterBuilder
                  collection={collection.name}
                  draft={draft.filter}
                  onChange={(filter) => onChange({ ...draft, filter })}
                />
              </fieldset>
            </div>
            <NumberField
              label="Results"
              value={draft.limit}
              min={1}
              max={4_096}
              onInput={(limit) => onChange({ ...draft, limit })}
            />
            {hasSettings && (
              <SettingsForm
                title={draft.other === undefined ? 'Search settings' : 'A: search settings'}
                settings={draft.settings}
                {...kinds}
                onChange={(settings) => onChange({ ...draft, settings })}
              />
            )}
            {hasSettings && draft.other !== undefined && (
              <SettingsForm
                title="B: search settings"
                settings={draft.other}
                {...kinds}
                onChange={(other) => onChange({ ...draft, other })}
              />
            )}
          </div>
        </details>
      </form>
    </Panel>
  )
}

/** Below the queries, so that results follow without scrolling where the form is above them. */
function Actions(
  props: Pick<QueryFormProps, 'draft' | 'busy' | 'isPast' | 'onChange' | 'onPast'> & { readonly comparable: boolean },
) {
  const { draft, busy, isPast, onChange, onPast } = props
  return (
    <div class="row">
      <button type="submit" class="primary" disabled={busy}>
        <Icon name="search" size={14} /> {busy ? 'Searching…' : 'Search'}
      </button>
      {!isPast && (props.comparable || draft.other !== undefined) && (
        <button
          type="button"
          aria-pressed={draft.other !== undefined}
          onClick={() =>
            onChange({
              ...draft,
              other: draft.other === undefined ? { ...settingsDefault, ...draft.settings, exact: true } : undefined,
            })
          }
        >
          <Icon name="compare" size={14} /> {draft.other === undefined ? 'Compare two settings' : 'Stop comparing'}
        </button>
      )}
      {draft.other === undefined && (
        <button type="button" aria-pressed={isPast} onClick={() => onPast(!isPast)}>
          <Icon name="log" size={14} /> {isPast ? 'Search only now' : 'Search the past'}
        </button>
      )}
    </div>
  )
}

/** Whether the form is next to the results rather than above them (styles/parts.css). */
function isWide(): boolean {
  return matchMedia('(width > 1040px)').matches
}

/** What a closed form says about the settings in effect. */
function settingsText({ filter, other }: SearchDraft): string {
  const conditions = filter.kind === 'rows' ? filter.rows.length : filter.text.trim() === '' ? 0 : 1
  const parts = [...(conditions > 0 ? ['filtered'] : []), ...(other === undefined ? [] : ['compared'])]
  return parts.length === 0 ? '' : `: ${parts.join(', ')}`
}

function FieldQuery(props: {
  readonly collection: string
  readonly field: Field
  readonly draft: FieldDraft
  readonly alone: boolean
  readonly weighed: boolean
  readonly onChange: (to: Partial<FieldDraft>) => void
}) {
  const { field, draft, onChange } = props
  const [looking, setLooking] = useState(false)
  const dense = hasGraph(field)
  const many = field.type === 'multi_vector'
  const anyObject = async () => {
    setLooking(true)
    const page = await scroll(props.collection, { limit: 200 }).catch(() => undefined)
    setLooking(false)
    const found = page?.objects.filter(({ fields }) => field.name in fields) ?? []
    if (found.length === 0) tell('No object has this field.', { bad: true })
    else onChange({ id: found[Math.floor(Math.random() * found.length)]!.id })
  }
  if (!draft.on) return <Check label={field.name} checked={false} onInput={(on) => onChange({ on })} />
  return (
    <fieldset>
      <legend>
        {props.alone ? field.name : <Check label={field.name} checked={draft.on} onInput={(on) => onChange({ on })} />}
      </legend>
      {draft.on && (
        <div class="form">
          <div class="row spread">
            <Segmented
              label={`Query ${field.name} by`}
              value={draft.by}
              options={waysOf(field)}
              onInput={(by) => onChange({ by })}
            />
            <span class="muted small">
              {dense
                ? `${field.params.dimension} numbers, ${field.params.space_type}`
                : isText(field)
                  ? `text, ${field.params.language}`
                  : 'sparse'}
            </span>
          </div>
          {draft.by === 'object' ? (
            <div class="with-button">
              <TextField label="Id" value={draft.id} onInput={(id) => onChange({ id })} placeholder="object id" />
              <button type="button" disabled={looking} onClick={() => void anyObject()}>
                Any
              </button>
            </div>
          ) : draft.by === 'words' && !isText(field) ? (
            <TextField label="Text by meaning" prose value={draft.text} onInput={(text) => onChange({ text })} />
          ) : isText(field) ? (
            <TextQuery draft={draft} onChange={onChange} />
          ) : (
            <TextArea
              label={many ? 'Vectors as JSON' : dense ? 'Numbers' : 'Index and weight'}
              rows={4}
              value={draft.text}
              placeholder={many ? '[[0.12, -0.03], [0.4, 0.1]]' : dense ? '0.12, -0.03, …' : '12:0.5 40:1.2'}
              onInput={(text) => onChange({ text })}
            />
          )}
          {props.weighed && (
            <NumberField
              label="Fusion weight"
              value={draft.weight}
              min={0}
              step="any"
              placeholder="1"
              onInput={(weight) => onChange({ weight })}
            />
          )}
        </div>
      )}
    </fieldset>
  )
}

function waysOf(field: Field): readonly (readonly [FieldDraft['by'], string])[] {
  if (isText(field)) return waysOfTexts
  return isEmbedded(field) ? [...waysOfVectors, ['words', 'Text']] : waysOfVectors
}

const waysOfVectors = [
  ['object', 'Stored object'],
  ['vector', 'Vector'],
] as const
const waysOfTexts = [
  ['words', 'Words'],
  ['clauses', 'Clauses'],
  ['object', 'Stored object'],
] as const

/** Words with an operator, or clauses as JSON. */
function TextQuery(props: { readonly draft: FieldDraft; readonly onChange: (to: Partial<FieldDraft>) => void }) {
  const { draft, onChange } = props
  if (draft.by === 'clauses') {
    return (
      <TextArea
        label="Clauses as JSON"
        rows={5}
        value={draft.clauses}
        placeholder={clausesExample}
        hint={clausesHint}
        onInput={(clauses) => onChange({ clauses })}
      />
    )
  }
  return (
    <>
      <TextField
        label="Words to find"
        prose
        value={draft.text}
        onInput={(text) => onChange({ text })}
        placeholder="red fox"
      />
      <Segmented
        label="Words that a text must have"
        value={draft.operator}
        options={[
          ['or', 'Any word'],
          ['and', 'All words'],
        ]}
        onInput={(operator) => onChange({ operator })}
      />
    </>
  )
}

const clausesHint =
  'Lists named must, should, and must_not. A clause is a string, or an object with words, phrase (slop), prefix, or fuzzy (edits), and boost.'

function SettingsForm(props: {
  readonly title: string
  readonly settings: Settings
  /** Whether a field with a graph is searched. */
  readonly graphs: boolean
  readonly fused: boolean
  readonly onChange: (settings: Settings) => void
}) {
  const { settings, onChange } = props
  const set = (to: Partial<Settings>) => onChange({ ...settings, ...to })
  return (
    <fieldset>
      <legend>{props.title}</legend>
      <div class="form">
        <div class="columns">
          {props.graphs && (
            <NumberField
              label="ef"
              value={settings.ef}
              min={1}
              max={1_024}
              placeholder="128"
              onInput={(ef) => set({ ef })}
            />
          )}
          {props.fused && (
            <SelectField
              label="Fusion"
              value={settings.method}
              options={[
                ['rrf', 'by ranks (RRF)'],
                ['relative_score', 'by scores'],
              ]}
              onInput={(method) => set({ method })}
            />
          )}
        </div>
        {props.graphs && <GraphSettings settings={settings} set={set} />}
      </div>
    </fieldset>
  )
}

function GraphSettings(props: { readonly settings: Settings; readonly set: (to: Partial<Settings>) => void }) {
  const { settings, set } = props
  return (
    <>
      <SelectField
        label="Rescore"
        value={settings.rescore}
        options={[
          ['default', 'binary, int2, int4 (default)'],
          ['on', 'all fields'],
          ['off', 'no field'],
        ]}
        onInput={(rescore) => set({ rescore })}
        hint="Orders the best hits by the original vectors on disk. Without it, fields of binary, int2, and int4 report estimates."
      />
      <Check label="Exact" checked={settings.exact} onInput={(exact) => set({ exact })} />
      <details>
        <summary>Filtered searches</summary>
        <div class="columns">
          <NumberField
            label="Prefilter threshold"
            value={settings.threshold}
            min={0}
            placeholder="planner decides"
            onInput={(threshold) => set({ threshold })}
          />
          <NumberField
            label="Boost, %"
            value={settings.boost}
            min={0}
            max={100}
            placeholder="0"
            onInput={(boost) => set({ boost })}
          />
        </div>
      </details>
    </>
  )
}
