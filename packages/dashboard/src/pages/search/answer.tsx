// The hits of a search with their scores, and how they were found.
import { useState } from 'preact/hooks'
import { href } from '../../address.ts'
import type { JsonMap, Json as JsonValue } from '../../api/objects.ts'
import type { Highlight, SearchBody, SearchReply } from '../../api/search.ts'
import { Segmented } from '../../parts/form.tsx'
import { Badge, Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/states.tsx'
import { Json, Name } from '../../parts/stored.tsx'
import { Marked } from '../../parts/texts.tsx'
import { ms as msText, scoresIn } from '../../show.ts'
import { collections } from '../../watch.ts'
import { fusedMeasure, type Measure, measureOf, shownOf } from './measure.ts'
import { Plan } from './plan.tsx'

export interface Ranked {
  readonly id: string
  readonly score: number
  readonly meta: JsonValue | undefined
  readonly filter: JsonMap
  /** Rank and similarity in each field, for a fused hit. */
  readonly highlights: readonly { readonly field: string; readonly highlight: Highlight }[]
  readonly fields?: { readonly [field: string]: { readonly rank: number; readonly similarity: number } }
}

const fusedList = ' fused'

export function Answer(props: {
  readonly title: string
  /** Shown next to the title. */
  readonly about?: string
  readonly reply: SearchReply
  /** The search that it answers, if it was fused. */
  readonly body?: SearchBody
  readonly ms: number
  readonly other?: SearchReply
  readonly collection: string
  readonly onNear: (id: string) => void
}) {
  const { reply } = props
  const fields = collections.value?.find(({ name }) => name === props.collection)?.fields
  const measureIn = (name: string) => measureOf(fields?.find((field) => field.name === name))
  const names = [...(reply.fused === undefined ? [] : [fusedList]), ...Object.keys(reply.results)]
  const [wanted, setWanted] = useState<string>()
  // Until a list is chosen, it is the first, which another search may change.
  const list = wanted !== undefined && names.includes(wanted) ? wanted : (names[0] ?? '')
  const hits = hitsOf(reply, list)
  const others = props.other === undefined ? undefined : ranksOf(hitsOf(props.other, list))
  return (
    <div class="stack">
      <Panel
        flush
        label={`Result ${props.title}`}
        title={props.title}
        actions={
          <>
            {!reply.complete && <Badge kind="warn">fewer than requested</Badge>}
            <span class="muted num">
              {props.about && `${props.about} · `}
              {hits.length} hits · {reply.explain && `${msText(reply.explain.total_ms)} on the server · `}
              {msText(props.ms)} here
            </span>
          </>
        }
      >
        {names.length > 1 && (
          <div class="list-choice">
            <Segmented
              label="List"
              value={list}
              options={names.map((name) => [name, name === fusedList ? 'Fused' : name])}
              onInput={setWanted}
            />
          </div>
        )}
        {hits.length === 0 ? (
          <Empty title="Nothing found">
            <p>No object matches the filter or has a word of the query or a term of the sparse query.</p>
          </Empty>
        ) : (
          <Hits
            hits={hits}
            others={others}
            measure={list === fusedList ? fusedMeasure(props.body) : measureIn(list)}
            measureIn={measureIn}
            collection={props.collection}
            onNear={props.onNear}
          />
        )}
      </Panel>
      {reply.explain && (
        <Panel title="Query plan" label={`Plan ${props.title}`}>
          <Plan explanation={reply.explain} fused={reply.fused !== undefined} />
        </Panel>
      )}
    </div>
  )
}

function Hits(props: {
  readonly hits: readonly Ranked[]
  readonly others: ReadonlyMap<string, number> | undefined
  readonly measure: Measure
  readonly measureIn: (field: string) => Measure
  readonly collection: string
  readonly onNear: (id: string) => void
}) {
  const { measure } = props
  const scores = props.hits.map(({ score }) => score)
  const best = Math.max(...scores)
  const worst = Math.min(...scores)
  const show = scoresIn(scores)
  return (
    <>
      <p class="hits-head muted small">
        <span>Object</span>
        <span class="hits-measure">
          <span>
            {measure.name}
            {measure.isDistance && ', lower is nearer'}
          </span>
          <span class="as-near" aria-hidden="true">
            Near this
          </span>
        </span>
      </p>
      <ol class="hits">
        {props.hits.map((hit, i) => (
          <li key={hit.id}>
            <span class="rank num">{i + 1}</span>
            <div class="grow">
              <div class="row spread tight">
                <a class="mono" href={href(['collections', props.collection, 'objects'], { id: hit.id })}>
                  <Name text={hit.id} />
                </a>
                <span class="row tight hit-score">
                  {props.others && <Moved from={props.others.get(hit.id)} to={i + 1} />}
                  <strong class="num">{show(shownOf(hit.score, measure))}</strong>
                  <button type="button" class="plain compact" onClick={() => props.onNear(hit.id)}>
                    Near this
                  </button>
                </span>
              </div>
              <div class="score-line" aria-hidden="true">
                <span
                  style={{ width: `${best === worst ? 100 : 12 + (88 * (hit.score - worst)) / (best - worst)}%` }}
                />
              </div>
              {hit.fields && <Standings fields={hit.fields} measureIn={props.measureIn} />}
              {hit.highlights.map(({ field, highlight }) => (
                <p key={field} class="fragment">
                  <Marked {...highlight} />
                </p>
              ))}
              <div class="muted small wrap-anywhere">
                {hasContent(hit.meta) && (
                  <span class="meta">
                    <Json value={hit.meta} />
                  </span>
                )}
                {Object.entries(hit.filter).map(([key, value]) => (
                  <span key={key} class="pair">
                    <Name text={key} /> = <Json value={value} max={60} />
                  </span>
                ))}
              </div>
            </div>
          </li>
        ))}
      </ol>
    </>
  )
}

function hasContent(meta: JsonValue | undefined): boolean {
  return typeof meta === 'object' && meta !== null ? Object.keys(meta).length > 0 : meta !== undefined
}

function Standings(props: {
  readonly fields: NonNullable<Ranked['fields']>
  readonly measureIn: (field: string) => Measure
}) {
  return (
    <div class="row tight standings">
      {Object.entries(props.fields).map(([field, { rank, similarity }]) => {
        const measure = props.measureIn(field)
        const shown = shownOf(similarity, measure)
        return (
          <Badge key={field}>
            <span class="num" title={measure.name}>
              {field} #{rank} · {measure.isDistance && 'distance '}
              {scoresIn([shown])(shown)}
            </span>
          </Badge>
        )
      })}
    </div>
  )
}

/** The rank of the hit on the other side of a comparison. */
function Moved({ from, to }: { readonly from: number | undefined; readonly to: number }) {
  if (from === undefined) return <Badge kind="warn">only here</Badge>
  return from === to ? <Badge>same</Badge> : <Badge kind="accent">other: {from}</Badge>
}

function hitsOf(reply: SearchReply, list: string): readonly Ranked[] {
  if (list === fusedList) {
    const all = highlightsOf(reply)
    return (reply.fused ?? []).map((hit) => ({ ...hit, meta: hit.meta, highlights: all.get(hit.id) ?? [] }))
  }
  return (reply.results[list] ?? []).map(({ similarity, highlight, ...hit }) => ({
    ...hit,
    meta: hit.meta,
    score: similarity,
    highlights: highlight === undefined ? [] : [{ field: list, highlight }],
  }))
}

/** By object: the list of each text field has its highlights, and the fused list has none. */
function highlightsOf({ results }: SearchReply): ReadonlyMap<string, Ranked['highlights']> {
  const found = new Map<string, Ranked['highlights']>()
  for (const [field, hits] of Object.entries(results)) {
    for (const { id, highlight } of hits) {
      if (highlight !== undefined) found.set(id, [...(found.get(id) ?? []), { field, highlight }])
    }
  }
  return found
}

export function firstList(reply: SearchReply): readonly Ranked[] {
  return hitsOf(reply, reply.fused === undefined ? (Object.keys(reply.results)[0] ?? '') : fusedList)
}

export function ranksOf(hits: readonly Ranked[]): ReadonlyMap<string, number> {
  return new Map(hits.map(({ id }, i) => [id, i + 1]))
}
