// All details of one object: view it, change its filter or meta, delete it, or search from it.
import { useState } from 'preact/hooks'
import { go, href } from '../../address.ts'
import { type Collection, isDense, isText } from '../../api/collections.ts'
import { deleteObject, getMany, type JsonMap, type StoredObject, updateFilter, upsert } from '../../api/objects.ts'
import { useAction, useLoad } from '../../load.ts'
import { Code, prettyJson } from '../../parts/code.tsx'
import { Dialog } from '../../parts/dialog.tsx'
import { Segmented, TextArea } from '../../parts/form.tsx'
import { lazy } from '../../parts/lazy.tsx'
import { Empty, Failure, Show } from '../../parts/states.tsx'
import { Name } from '../../parts/stored.tsx'
import { copyText, tell } from '../../parts/toast.tsx'
import { count, vector } from '../../show.ts'

const History = lazy(async () => (await import('./history.tsx')).History)

export type ObjectView = 'content' | 'history'

export function ObjectDialog(props: {
  readonly collection: Collection
  readonly id: string
  readonly view: ObjectView
  readonly onView: (view: ObjectView) => void
  readonly onClose: () => void
  readonly onWritten: () => void
}) {
  const { collection, id, view } = props
  const found = useLoad((signal) => getMany(collection.name, [id], { signal }), [collection.name, id])
  return (
    <Dialog title={id} wide onClose={props.onClose}>
      <div class="stack">
        <Segmented
          label="View"
          value={view}
          options={[
            ['content', 'Content'],
            ['history', 'History'],
          ]}
          onInput={props.onView}
        />
        {view === 'history' ? (
          <History collection={collection.name} id={id} onWritten={props.onWritten} />
        ) : (
          <Show source={found}>
            {([object]) =>
              object === undefined ? (
                <Empty title="There is no object with this id">
                  <p>Its history shows whether there was one.</p>
                </Empty>
              ) : (
                <OneObject object={object} collection={collection} onWritten={props.onWritten} />
              )
            }
          </Show>
        )}
      </div>
    </Dialog>
  )
}

function OneObject(props: {
  readonly object: StoredObject
  readonly collection: Collection
  readonly onWritten: () => void
}) {
  const { object, collection } = props
  const [meta, setMeta] = useState(prettyJson(object.meta ?? {}))
  const [filter, setFilter] = useState(prettyJson(object.filter))
  const [texts, setTexts] = useState<{ readonly [field: string]: string }>({})
  const [deleting, setDeleting] = useState(false)
  const { busy, error, run } = useAction()
  const opaque = object.meta_base64 !== undefined
  const filterChanged = filter !== prettyJson(object.filter)
  const metaChanged = !opaque && meta !== prettyJson(object.meta ?? {})
  const changedTexts = Object.entries(texts).filter(([name, text]) => text !== (object.fields[name] ?? ''))
  const isRewritten = metaChanged || changedTexts.length > 0
  const save = () =>
    run(async () => {
      const newFilter = JSON.parse(filter) as JsonMap
      if (isRewritten) {
        const newMeta = metaChanged ? { meta: JSON.parse(meta) as JsonMap } : {}
        const fields = withTexts(object.fields, changedTexts)
        await upsert(collection.name, [{ ...object, ...newMeta, filter: newFilter, fields }])
      } else await updateFilter(collection.name, object.id, newFilter)
      tell(`${object.id} saved.`)
      props.onWritten()
    })
  const remove = () =>
    run(async () => {
      await deleteObject(collection.name, object.id)
      tell(`${object.id} deleted.`)
      props.onWritten()
    })
  return (
    <div class="form">
      <div class="row">
        <button type="button" onClick={() => go(href(['collections', collection.name, 'search'], { near: object.id }))}>
          Search near this
        </button>
        {collection.fields.some(isDense) && (
          <button type="button" onClick={() => go(href(['collections', collection.name, 'map'], { walk: object.id }))}>
            Walk the graph
          </button>
        )}
        <button type="button" onClick={() => void copyText(JSON.stringify(object))}>
          Copy as JSON
        </button>
        {deleting ? (
          <>
            <span>Delete this object?</span>
            <button type="button" class="danger primary" disabled={busy} onClick={() => void remove()}>
              Delete
            </button>
            <button type="button" onClick={() => setDeleting(false)}>
              Cancel
            </button>
          </>
        ) : (
          <button type="button" class="danger" onClick={() => setDeleting(true)}>
            Delete…
          </button>
        )}
      </div>
      <div class="halves">
        {opaque ? (
          <div class="field">
            <span class="label">
              {object.meta_limit ? 'Meta as base64 (too long to unpack)' : 'Meta as base64 (not JSON)'}
            </span>
            <Code text={object.meta_base64 ?? ''} label="Meta as base64" rows={6} />
          </div>
        ) : (
          <TextArea label="Meta" value={meta} onInput={setMeta} rows={8} />
        )}
        <TextArea label="Filter" value={filter} onInput={setFilter} rows={8} />
      </div>
      {collection.fields.filter(isText).map(({ name }) => (
        <TextArea
          key={name}
          label={`Text of ${name}`}
          prose
          value={texts[name] ?? textIn(object, name)}
          onInput={(text) => setTexts({ ...texts, [name]: text })}
          rows={6}
        />
      ))}
      {isRewritten && Object.values(object.fields).some((value) => typeof value !== 'string') && (
        <p class="muted">
          Saving new meta or texts writes the whole object again, with its stored vectors. Fields without original
          vectors round them again.
        </p>
      )}
      <div class="row">
        <button
          type="button"
          class="primary"
          disabled={busy || !(filterChanged || isRewritten)}
          onClick={() => void save()}
        >
          {busy ? 'Saving…' : 'Save changes'}
        </button>
      </div>
      {error && <Failure error={error} />}
      <Vectors object={object} />
    </div>
  )
}

function textIn({ fields }: StoredObject, name: string): string {
  const value = fields[name]
  return typeof value === 'string' ? value : ''
}

/** An empty text counts as no text: the field is left out. */
function withTexts(fields: StoredObject['fields'], texts: readonly (readonly [string, string])[]) {
  const all: StoredObject['fields'] = { ...fields, ...Object.fromEntries(texts) }
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''))
}

function Vectors({ object }: { readonly object: StoredObject }) {
  const vectors = Object.entries(object.fields).filter((entry): entry is [string, VectorValue] => {
    return typeof entry[1] !== 'string'
  })
  if (vectors.length === 0) return null
  return (
    <div class="stack tight">
      <h3>Fields</h3>
      {vectors.map(([name, value]) => (
        <details key={name}>
          <summary>
            <Name text={name} /> <span class="mono">{shortOf(value)}</span>
          </summary>
          <Code label={`Numbers of ${name}`} rows={8} text={textOf(value)} />
        </details>
      ))}
    </div>
  )
}

type VectorValue = Exclude<StoredObject['fields'][string], string>

function shortOf(value: VectorValue): string {
  if ('vector' in value) return vector(value.vector)
  return 'vectors' in value ? `${count(value.vectors.length)} vectors` : `${count(value.sparse_indices.length)} terms`
}

function textOf(value: VectorValue): string {
  if ('vector' in value) return JSON.stringify(value.vector)
  if ('vectors' in value) return value.vectors.map((one) => JSON.stringify(one)).join('\n')
  return value.sparse_indices.map((index, i) => `${index}:${value.sparse_values[i]}`).join(' ')
}
