// Dialog that creates a collection: a name and one or more fields, with optional graph parameters.
import { useState } from 'preact/hooks'
import { go, href } from '../../address.ts'
import { createCollection, type Field, type NewField } from '../../api/collections.ts'
import { listProviders, type Provider } from '../../api/server.ts'
import { useAction, useLoad } from '../../load.ts'
import { Buttons, Dialog } from '../../parts/dialog.tsx'
import { Check, NumberField, SelectField, TextField } from '../../parts/form.tsx'
import { GraphFields } from '../../parts/graph-fields.tsx'
import { Icon } from '../../parts/icon.tsx'
import { Failure } from '../../parts/states.tsx'
import { tell } from '../../parts/toast.tsx'
import { bytes, count } from '../../show.ts'
import { refresh } from '../../watch.ts'
import { type LanguageName, languageOptions } from './languages.ts'
import { providerOption } from './provider-option.ts'

interface Draft {
  readonly name: string
  readonly type: Field['type']
  readonly dimension: number | undefined
  readonly space: 'cosine' | 'l2' | 'ip'
  readonly precision: Precision
  readonly M: number | undefined
  readonly ef: number | undefined
  readonly keepOriginals: boolean
  /** What makes the vectors of texts; undefined if they are given. */
  readonly provider: string | undefined
  /** The text field whose texts it gets; the first one if there is none of this name. */
  readonly from: string
  readonly model: 'default' | 'endee_bm25'
  readonly language: LanguageName
  readonly k1: number | undefined
  readonly b: number | undefined
}

type Precision = 'int8' | 'int16' | 'float16' | 'float32' | 'int4' | 'int2' | 'binary'

const fieldsMax = 8
const kinds = { vector: 'Dense', sparse: 'Sparse', multi_vector: 'Multi-vector', text: 'Text' } as const
const bytesPerNumber: Record<Precision, number> = {
  int8: 1,
  int16: 2,
  float16: 2,
  float32: 4,
  int4: 1 / 2,
  int2: 1 / 4,
  binary: 1 / 8,
}
const precisions: readonly (readonly [Precision, string])[] = [
  ['int8', 'int8: small, nearly exact'],
  ['int16', 'int16'],
  ['float16', 'float16'],
  ['float32', 'float32: exact, largest'],
  ['int4', 'int4: half of int8, rescored from disk'],
  ['int2', 'int2: a quarter of int8, rescored from disk'],
  ['binary', 'binary: smallest, rescored from disk'],
]
const first: Draft = {
  name: 'vector',
  type: 'vector',
  dimension: 384,
  space: 'cosine',
  precision: 'int8',
  M: undefined,
  ef: undefined,
  keepOriginals: true,
  provider: undefined,
  from: '',
  model: 'default',
  language: 'english',
  k1: undefined,
  b: undefined,
}

export function CreateCollection({ onClose }: { readonly onClose: () => void }) {
  const [name, setName] = useState('')
  const [fields, setFields] = useState<readonly Draft[]>([first])
  const { busy, error, run } = useAction()
  const listed = useLoad((signal) => listProviders({ signal }), ['providers'])
  const providers = listed.kind === 'ready' ? listed.value : []
  const change = (index: number, draft: Partial<Draft>) => setFields(changed(fields, index, draft))
  const create = () =>
    run(async () => {
      await createCollection(
        name,
        fields.map((field) => definitionOf(field, textNames(fields))),
      )
      await refresh()
      tell(`Collection ${name} created.`)
      go(href(['collections', name]))
    })
  return (
    <Dialog
      title="New collection"
      wide
      onClose={onClose}
      onSubmit={() => void create()}
      footer={
        <Buttons onCancel={onClose} busy={busy} doing="Creating…" action="Create collection" disabled={name === ''} />
      }
    >
      <div class="form">
        <TextField
          label="Name"
          value={name}
          onInput={setName}
          focus
          required
          hint="Up to 64 letters, digits, underscores, and hyphens."
        />
        {fields.map((field, i) => (
          <FieldDraft
            // Fields are identified only by their position.
            key={i}
            number={i + 1}
            draft={field}
            providers={providers}
            texts={textNames(fields)}
            onChange={(draft) => change(i, draft)}
            onRemove={fields.length > 1 ? () => setFields(fields.filter((_, other) => other !== i)) : undefined}
          />
        ))}
        <div class="row">
          <button
            type="button"
            disabled={fields.length >= fieldsMax}
            onClick={() => setFields([...fields, { ...first, name: freeName('vector', fields) }])}
          >
            <Icon name="plus" size={14} /> Dense field
          </button>
          <button
            type="button"
            disabled={fields.length >= fieldsMax}
            onClick={() => setFields([...fields, { ...first, type: 'text', name: freeName('text', fields) }])}
          >
            <Icon name="plus" size={14} /> Text field
          </button>
          <button
            type="button"
            disabled={fields.length >= fieldsMax}
            onClick={() => setFields([...fields, { ...first, type: 'sparse', name: freeName('terms', fields) }])}
          >
            <Icon name="plus" size={14} /> Sparse field
          </button>
          <button
            type="button"
            disabled={fields.length >= fieldsMax}
            onClick={() =>
              setFields([...fields, { ...first, type: 'multi_vector', name: freeName('passages', fields) }])
            }
          >
            <Icon name="plus" size={14} /> Multi-vector field
          </button>
          <span class="muted">{memoryLine(fields)}</span>
        </div>
        {listed.kind === 'failed' && <Failure error={listed.error} retry={listed.again} />}
        {error && <Failure error={error} />}
      </div>
    </Dialog>
  )
}

function FieldDraft(props: {
  readonly number: number
  readonly draft: Draft
  readonly providers: readonly Provider[]
  /** Names of the text fields. */
  readonly texts: readonly string[]
  readonly onChange: (draft: Partial<Draft>) => void
  readonly onRemove: (() => void) | undefined
}) {
  const { draft, onChange } = props
  return (
    <fieldset>
      <legend>
        {kinds[draft.type]} field {props.number}
      </legend>
      <div class="form">
        <div class="columns">
          <TextField label="Field name" value={draft.name} onInput={(name) => onChange({ name })} required />
          {isGraph(draft) ? (
            <>
              <NumberField
                label="Dimension"
                value={draft.dimension}
                min={2}
                max={10_000}
                required
                onInput={(dimension) => onChange({ dimension })}
              />
              <SelectField
                label="Distance"
                value={draft.space}
                options={[
                  ['cosine', 'cosine'],
                  ['l2', 'l2 (Euclidean)'],
                  ['ip', 'inner product'],
                ]}
                onInput={(space) => onChange({ space })}
              />
              <SelectField
                wide
                label="Precision"
                value={draft.precision}
                options={precisions}
                onInput={(precision) => onChange({ precision })}
              />
            </>
          ) : draft.type === 'text' ? (
            <SelectField
              label="Language"
              value={draft.language}
              options={languageOptions()}
              onInput={(language) => onChange({ language })}
            />
          ) : (
            <SelectField
              label="Weights"
              value={draft.model}
              options={[
                ['default', 'as given'],
                ['endee_bm25', 'multiplied by rarity (BM25)'],
              ]}
              onInput={(model) => onChange({ model })}
            />
          )}
        </div>
        {draft.type === 'vector' && props.providers.length > 0 && (
          <Embedding draft={draft} providers={props.providers} texts={props.texts} onChange={onChange} />
        )}
        {draft.type === 'vector' && (
          <Check
            label="Keep original vectors"
            checked={draft.keepOriginals}
            onInput={(keepOriginals) => onChange({ keepOriginals })}
            hint="Without them, the field takes less disk space, and reads return vectors at its precision. This cannot be changed later."
          />
        )}
        {draft.type === 'text' && <Ranking draft={draft} onChange={onChange} />}
        {isGraph(draft) && (
          <details>
            <summary>Graph</summary>
            <GraphFields chosen={draft} fallback={{ M: 16, ef: 128 }} onChange={onChange} />
          </details>
        )}
        {props.onRemove && (
          <div>
            <button type="button" class="plain danger compact" onClick={props.onRemove}>
              <Icon name="trash" size={13} /> Remove field
            </button>
          </div>
        )}
      </div>
    </fieldset>
  )
}

/** Where the vectors of a field come from. */
function Embedding(props: {
  readonly draft: Draft
  readonly providers: readonly Provider[]
  readonly texts: readonly string[]
  readonly onChange: (draft: Partial<Draft>) => void
}) {
  const { draft, providers, texts, onChange } = props
  return (
    <div class="columns">
      <SelectField
        label="Vectors"
        value={draft.provider ?? given}
        options={[[given, 'given with each object'], ...providers.map(providerOption)]}
        onInput={(name) => {
          const provider = providers.find((one) => one.name === name)
          onChange({ provider: provider?.name, ...(provider && { dimension: provider.dimension }) })
        }}
      />
      {draft.provider !== undefined && (
        <SelectField
          label="Computed from the texts of"
          value={fromOf(draft, texts) ?? ''}
          options={texts}
          onInput={(from) => onChange({ from })}
          hint="The server computes the vector of an object that has the text and no vector. Searches accept a text, too."
        />
      )}
    </div>
  )
}

/** Stands for vectors that no provider makes; names of providers are never empty. */
const given = ''

/** How texts are ranked (BM25). */
function Ranking(props: { readonly draft: Draft; readonly onChange: (draft: Partial<Draft>) => void }) {
  const { draft, onChange } = props
  return (
    <details>
      <summary>More</summary>
      <div class="columns">
        <NumberField
          label="k1"
          value={draft.k1}
          min={0}
          max={100}
          step="any"
          placeholder="1.2"
          hint="Higher: repeated words count more."
          onInput={(k1) => onChange({ k1 })}
        />
        <NumberField
          label="b"
          value={draft.b}
          min={0}
          max={1}
          step="any"
          placeholder="0.75"
          hint="Higher: long texts count less. A search can replace both."
          onInput={(b) => onChange({ b })}
        />
      </div>
    </details>
  )
}

/** Follows a text field whose name changes, and adds one if a provider has no texts yet. */
function changed(fields: readonly Draft[], index: number, to: Partial<Draft>): readonly Draft[] {
  const before = fields[index]
  const renamed = before?.type === 'text' && to.name !== undefined && before.name
  const next = fields.map((field, i) => {
    if (i === index) return { ...field, ...to }
    return renamed !== false && field.from === renamed ? { ...field, from: to.name as string } : field
  })
  if (to.provider === undefined || textNames(next).length > 0 || next.length >= fieldsMax) return next
  const text = { ...first, type: 'text', name: freeName('text', next) } as const
  return [...next.map((field, i) => (i === index ? { ...field, from: text.name } : field)), text]
}

function textNames(fields: readonly Draft[]): readonly string[] {
  return fields.filter(({ type }) => type === 'text').map(({ name }) => name)
}

function fromOf({ from }: Draft, texts: readonly string[]): string | undefined {
  return texts.includes(from) ? from : texts[0]
}

function isGraph({ type }: Draft): boolean {
  return type === 'vector' || type === 'multi_vector'
}

/** `text`, or `text2` if there is a field of that name. */
function freeName(name: string, fields: readonly Draft[]): string {
  const isTaken = (wanted: string) => fields.some((field) => field.name === wanted)
  let number = 2
  while (isTaken(`${name}${number}`)) number += 1
  return isTaken(name) ? `${name}${number}` : name
}

function definitionOf(draft: Draft, texts: readonly string[]): NewField {
  if (draft.type === 'text') {
    const { language, k1, b } = draft
    const params = { language, ...(k1 === undefined ? {} : { k1 }), ...(b === undefined ? {} : { b }) }
    return { name: draft.name, type: 'text', params }
  }
  if (draft.type === 'sparse') return { name: draft.name, type: 'sparse', sparse_model: draft.model }
  const params = {
    dimension: draft.dimension ?? 0,
    space_type: draft.space,
    precision: draft.precision,
    ...(draft.M === undefined ? {} : { M: draft.M }),
    ...(draft.ef === undefined ? {} : { ef_con: draft.ef }),
    ...(draft.type === 'vector' && draft.provider !== undefined
      ? { embed: { provider: draft.provider, from: fromOf(draft, texts) ?? '' } }
      : {}),
    // Multi-vector fields always keep their vectors.
    ...(draft.type === 'vector' && !draft.keepOriginals ? { keep_originals: false } : {}),
  }
  return { name: draft.name, type: draft.type, params }
}

/** Vectors and the links of the lowest level. Ids, filters, and meta come on top and depend on their size. */
function memoryLine(fields: readonly Draft[]): string {
  const dense = fields.filter(isGraph)
  const million = 1_000_000
  const perObject = dense.reduce(
    (total, { dimension = 0, precision, M = 16 }) => total + dimension * bytesPerNumber[precision] + 2 * M * 4,
    0,
  )
  return dense.length === 0 ? '' : `About ${bytes(perObject * million)} of memory for ${count(million)} objects.`
}
