// How much two results agree.
import type { SearchReply } from '../../api/search.ts'
import { percent } from '../../show.ts'
import { firstList, ranksOf } from './answer.tsx'

export function Agreement(props: {
  readonly a: SearchReply
  readonly b: SearchReply
  readonly names?: readonly [string, string]
}) {
  const { a, b, names = ['A', 'B'] } = props
  const ranks = ranksOf(firstList(b))
  const hits = firstList(a)
  const shared = hits.filter(({ id }) => ranks.has(id))
  const samePlace = hits.filter(({ id }, i) => ranks.get(id) === i + 1)
  const longer = Math.max(hits.length, ranks.size)
  return (
    <div class="notice" role="status">
      <div>
        <strong>
          {names.join(' and ')} share {longer === 0 ? 'nothing' : percent(shared.length / longer)}
        </strong>{' '}
        <span class="muted num">
          {shared.length} of {longer} hits, {samePlace.length} at the same rank. The server took{' '}
          {a.explain?.total_ms.toFixed(2)} ms for {names[0]} and {b.explain?.total_ms.toFixed(2)} ms for {names[1]}.
        </span>
      </div>
    </div>
  )
}
