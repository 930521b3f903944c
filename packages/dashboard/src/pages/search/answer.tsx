// The hits of a search with their scores, and how they were found.
import { useState } from 'preact/hooks'
import { href } from '../../address.ts'
import type { Json, JsonMap } from '../../api/objects.ts'
import type { Highlight, SearchReply } from '../../api/search.ts'
import { Segmented } from '../../parts/form.tsx'
import { Badge, Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/states.tsx'
import { Marked } from '../../parts/texts.tsx'
import { json, ms as msText, score as scoreText } from '../../show.ts'
import { Plan } from './plan.tsx'

export interface Ranked {
  readonly id: string
  readonly score: number
  readonly meta: Json | undefined
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
  readonly ms: number
  readonly other?: SearchReply
  readonly collection: string
  readonly onNear: (id: string) => void
}) {
  const { reply } = props
  const names = [...(reply.fused === undefined ? [] : [fusedList]), ...Object.keys(reply.results)]
  const [wanted, setWanted] = useState(names[0] ?? '')
  const list = names.includes(wanted) ? wanted : (names[0] ?? '')
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
          <Hits hits={hits} others={others} collection={props.collection} onNear={props.onNear} />
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
  readonly collection: string
  readonly onNear: (id: string) => void
}) {
  const scores = props.hits.map(({ score }) => score)
  const best = Math.max(...scores)
  const worst = Math.min(...scores)
  return (
    <ol class="hits">
      {props.hits.map((hit, i) => (
        <li key={hit.id}>
          <span class="rank num">{i + 1}</span>
          <div class="grow">
            <div class="row spread tight">
              <a class="mono wrap-anywhere" href={href(['collections', props.collection, 'objects'], { id: hit.id })}>
                {hit.id}
              </a>
              <span class="row tight">
                {props.others && <Moved from={props.others.get(hit.id)} to={i + 1} />}
                <strong class="num">{scoreText(hit.score)}</strong>
                <button type="button" class="plain compact" onClick={() => props.onNear(hit.id)}>
                  Near this
                </button>
              </span>
            </div>
            <div class="score-line" aria-hidden="true">
              <span style={{ width: `${best === worst ? 100 : 12 + (88 * (hit.score - worst)) / (best - worst)}%` }} />
            </div>
            {hit.fields && <Standings fields={hit.fields} />}
            {hit.highlights.map(({ field, highlight }) => (
              <p key={field} class="fragment">
                <Marked {...highlight} />
              </p>
            ))}
            <div class="muted small wrap-anywhere">
              {hit.meta !== undefined && json(hit.meta) !== '{}' && <span>{json(hit.meta)} </span>}
              {Object.entries(hit.filter).map(([key, value]) => (
                <span key={key} class="pair">
                  {key} = {json(value, 60)}
                </span>
              ))}
            </div>
          </div>
        </li>
      ))}
    </ol>
  )
}

function Standings({ fields }: { readonly fields: NonNullable<Ranked['fields']> }) {
  return (
    <div class="row tight standings">
      {Object.entries(fields).map(([field, { rank, similarity }]) => (
        <Badge key={field}>
          <span class="num">
            {field} #{rank} · {scoreText(similarity)}
          </span>
        </Badge>
      ))}
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
