// The queries on which two settings differ most, or those that one setting answers worst, with their hits.
import { differenceOf, type JudgedQuery, mostDifferent } from '@annal/client/judging'
import { useMemo, useState } from 'preact/hooks'
import { Panel } from '../../parts/panel.tsx'
import { Empty } from '../../parts/states.tsx'
import { Json } from '../../parts/stored.tsx'
import { count } from '../../show.ts'
import { measured, signed } from './figures.ts'
import type { Judgment } from './judge.ts'
import { QueryHits } from './query-hits.tsx'

const shownFirst = 10

export function DifferentQueries(props: { readonly collection: string; readonly judgment: Judgment }) {
  const { judged, b } = props.judgment
  const [shown, setShown] = useState(shownFirst)
  const sorted = useMemo(
    () => (b === undefined ? worst(judged) : mostDifferent(judged, judged.length)),
    [judged, b === undefined],
  )
  return (
    <Panel
      flush
      label="Queries"
      title={b === undefined ? 'Queries that A answers worst' : 'Queries that differ most'}
      actions={
        sorted.length > 0 && (
          <span class="muted num">
            {count(Math.min(shown, sorted.length))} of {count(sorted.length)}
          </span>
        )
      }
    >
      {sorted.length === 0 ? (
        <Empty title={b === undefined ? 'Every query is answered perfectly' : 'No query differs'} />
      ) : (
        <ul class="judged">
          {sorted.slice(0, shown).map((one) => (
            <li key={one.query.id}>
              <Judged one={one} {...props} />
            </li>
          ))}
        </ul>
      )}
      {sorted.length > shown && (
        <div class="more">
          <button type="button" onClick={() => setShown(shown + shownFirst)}>
            More queries
          </button>
        </div>
      )}
    </Panel>
  )
}

function Judged(props: { readonly one: JudgedQuery; readonly collection: string; readonly judgment: Judgment }) {
  const [open, setOpen] = useState(false)
  const { one } = props
  const { query, a, b } = one
  return (
    <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>
        <span class="judged-line">
          <bdi class="mono wrap-anywhere">{query.id}</bdi>
          <bdi class="of-text">{query.text ?? <Json value={query.vector ?? query.fields} max={80} />}</bdi>
          <span class="num">
            {b === undefined ? measured(a.ndcg) : `${measured(a.ndcg)} → ${measured(b.ndcg)}`}{' '}
            {b !== undefined && <DifferenceText value={differenceOf(one, 'ndcg')} />}
          </span>
        </span>
      </summary>
      {open && <QueryHits {...props} />}
    </details>
  )
}

function DifferenceText({ value }: { readonly value: number }) {
  return <strong class={value > 0 ? 'good' : 'bad'}>{signed(value)}</strong>
}

function worst(judged: readonly JudgedQuery[]): readonly JudgedQuery[] {
  return judged.filter(({ a }) => a.ndcg < 1).sort((x, y) => x.a.ndcg - y.a.ndcg)
}
