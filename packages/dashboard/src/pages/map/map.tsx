// A sample of a collection on a plane, colored by a filter key, and the walk from neighbor to neighbor.
import { useEffect, useMemo, useState } from 'preact/hooks'
import { go, href, parameters } from '../../address.ts'
import { isDense } from '../../api/collections.ts'
import { NumberField, Segmented, SelectField } from '../../parts/form.tsx'
import { Bar, Panel } from '../../parts/panel.tsx'
import { Empty, Failure } from '../../parts/states.tsx'
import { Name } from '../../parts/stored.tsx'
import { visible } from '../../parts/visible.ts'
import { authorization } from '../../session.ts'
import { count } from '../../show.ts'
import type { CollectionTab } from '../collection-tab.ts'
import { FilterBuilder } from '../filter/filter-builder.tsx'
import { type FilterDraft, filterOf, noFilter } from '../filter/filter-draft.ts'
import { useFilterKeys } from '../filter/known-keys.ts'
import { type Coloring, coloringBy, dividingKey } from './coloring.ts'
import { type Drawing, useDrawing } from './drawing.ts'
import type { MapRequest } from './messages.ts'
import { Plot } from './plot.tsx'
import { Walk } from './walk.tsx'

const objectsDefault = 1_000
const objectsMax = 5_000
const listedMax = 200

export function MapTab({ collection }: CollectionTab) {
  const dense = collection.fields.filter(isDense).map(({ name }) => name)
  const [field, setField] = useState(dense[0] ?? '')
  const [objects, setObjects] = useState<number | undefined>(objectsDefault)
  const [method, setMethod] = useState<'umap' | 'pca'>('umap')
  const [filter, setFilter] = useState<FilterDraft>(noFilter)
  const [key, setKey] = useState<string>()
  const [request, setRequest] = useState<MapRequest>()
  const [chosen, setChosen] = useState<ReadonlySet<number>>(new Set())
  const [fault, setFault] = useState<Error>()
  const keys = useFilterKeys(collection.name)
  const drawing = useDrawing(request)
  const shownKey = key ?? dividingKey(drawing.objects, keys) ?? ''
  const coloring = useMemo(() => coloringBy(drawing.objects, shownKey), [drawing.objects, shownKey])
  const start = parameters.value.get('walk') ?? undefined
  const draw = () => {
    setChosen(new Set())
    try {
      const wanted = Math.min(objects ?? objectsDefault, objectsMax)
      const request = { collection: collection.name, field, filter: filterOf(filter), objects: wanted, method }
      setFault(undefined)
      setRequest({ ...request, authorization: authorization() })
    } catch (error) {
      setFault(error instanceof Error ? error : new Error(String(error)))
    }
  }
  useEffect(() => {
    if (dense.length > 0) draw()
  }, [])
  if (dense.length === 0) {
    return (
      <Panel>
        <Empty title="A map needs a dense field" />
      </Panel>
    )
  }
  const walkFrom = (id: string) => go(href(['collections', collection.name, 'map'], { walk: id }))
  return (
    <div class="split shown-first">
      <div class="stack">
        <Panel title="Map">
          <form
            class="form"
            onSubmit={(event) => {
              event.preventDefault()
              draw()
            }}
          >
            <SelectField label="Field" value={field} options={dense} onInput={setField} />
            <div class="columns">
              <NumberField
                label="Objects"
                value={objects}
                min={3}
                max={objectsMax}
                onInput={setObjects}
                hint="A random sample, if more match."
              />
              <SelectField
                label="Color by"
                value={shownKey}
                options={[['', 'nothing'], ...keys.map((name) => [name, visible(name)] as const)]}
                onInput={setKey}
              />
            </div>
            <FilterBuilder collection={collection.name} draft={filter} onChange={setFilter} />
            <Segmented
              label="Layout"
              value={method}
              options={[
                ['umap', 'By neighborhood (UMAP)'],
                ['pca', 'By spread (PCA)'],
              ]}
              onInput={setMethod}
            />
            <div>
              <button type="submit" class="primary">
                Draw
              </button>
            </div>
            {fault && <Failure error={fault} />}
          </form>
        </Panel>
        <Walk collection={collection.name} field={field} start={start} onStep={walkFrom} />
      </div>
      <div class="stack">
        {drawing.error && <Failure error={drawing.error} />}
        <Sheet
          drawing={drawing}
          requested={request !== undefined}
          isFiltered={(request?.filter ?? []).length > 0}
          coloring={coloring}
          chosen={chosen}
          onChoose={(indices) => setChosen(new Set(indices))}
          onOpen={walkFrom}
        />
        {chosen.size > 0 && (
          <Panel title={<span class="num">{count(chosen.size)} within the lasso</span>}>
            <div class="row tight chosen">
              {[...chosen].slice(0, listedMax).map((i) => (
                <a
                  key={i}
                  class="mono"
                  href={href(['collections', collection.name, 'objects'], { id: drawing.objects[i]?.id })}
                >
                  <Name text={drawing.objects[i]?.id ?? ''} />
                </a>
              ))}
              {chosen.size > listedMax && <span class="muted">and {count(chosen.size - listedMax)} more</span>}
            </div>
          </Panel>
        )}
      </div>
    </div>
  )
}

/** A sample says what it is a sample of. */
function titleOf(shown: number, source: Drawing['source']): string {
  const objects = `${count(shown)} objects`
  if (source === undefined || source.matches <= shown) return objects
  const first = source.listed < source.matches ? `the first ${count(source.listed)} of ` : ''
  return `${objects}, a random sample of ${first}${count(source.matches)}`
}

function Sheet(props: {
  readonly drawing: Drawing
  readonly requested: boolean
  readonly isFiltered: boolean
  readonly coloring: Coloring
  readonly chosen: ReadonlySet<number>
  readonly onChoose: (indices: readonly number[]) => void
  readonly onOpen: (id: string) => void
}) {
  const { drawing, coloring } = props
  const { points, objects, share } = drawing
  if (points === undefined) {
    return (
      <Panel>
        {props.requested && drawing.error === undefined ? (
          <p class="muted num" role="status">
            {count(drawing.loaded)} objects fetched…
          </p>
        ) : (
          <Empty title="No map yet">
            <p>Objects that are close on the map have similar vectors.</p>
          </Empty>
        )}
      </Panel>
    )
  }
  if (objects.length === 0) {
    return (
      <Panel>
        <Empty title="Nothing to draw">
          <p>{props.isFiltered ? 'No object matches the filter.' : 'No object has a vector in this field yet.'}</p>
        </Empty>
      </Panel>
    )
  }
  return (
    <Panel
      title={<span class="num">{titleOf(objects.length, drawing.source)}</span>}
      actions={<span class="muted">{share < 1 ? 'Drawing…' : 'Drawn'}</span>}
    >
      <div class="stack tight">
        {share < 1 && <Bar share={share} label="Map progress" />}
        {coloring.legend.length > 0 && (
          <ul class="map-legend times num small">
            {coloring.legend.map(({ label, color, count: held }) => (
              <li key={label}>
                <span class="key" style={{ background: `var(${color})` }} /> <Name text={label} />{' '}
                <span class="muted">{count(held)}</span>
              </li>
            ))}
          </ul>
        )}
        <Plot
          points={points}
          colors={coloring.colors}
          labels={objects.map(({ id }) => id)}
          clusters={drawing.labels}
          chosen={props.chosen}
          onChoose={props.onChoose}
          onOpen={(index) => props.onOpen(objects[index]!.id)}
        />
        <p class="muted small">
          Zoom with the wheel or the buttons. Drag to move. Hold Shift and drag to draw a lasso. Click an object to walk
          the graph from it.
          {drawing.labels.length > 0 &&
            ' Clusters are labeled with the words that their texts have more often than the others.'}
        </p>
      </div>
    </Panel>
  )
}
