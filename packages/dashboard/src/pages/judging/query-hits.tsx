// What each setting found for one query, with the grades, and the relevant documents that were not found.
import type { Grades, JudgedQuery } from '@annal/client/judging'
import { href } from '../../address.ts'
import { getMany, type StoredObject } from '../../api/objects.ts'
import { type Loaded, useLoad } from '../../load.ts'
import { Badge } from '../../parts/panel.tsx'
import { Failure } from '../../parts/states.tsx'
import { Json } from '../../parts/stored.tsx'
import { Excerpt } from '../../parts/texts.tsx'
import { count } from '../../show.ts'
import type { Judgment } from './judge.ts'

/** So many hits of each side are shown, and so many documents that were not found. */
const shownMax = 20

export function QueryHits(props: {
  readonly one: JudgedQuery
  readonly collection: string
  readonly judgment: Judgment
}) {
  const { one, collection, judgment } = props
  const { grades, a, b } = one
  const sides = [
    { name: 'A', ranking: a.ranking, other: b?.ranking, grouped: judgment.grouped.a },
    ...(b === undefined ? [] : [{ name: 'B', ranking: b.ranking, other: a.ranking, grouped: judgment.grouped.b }]),
  ]
  const wanted = [...new Set(sides.flatMap(({ ranking, grouped }) => (grouped ? [] : ranking.slice(0, shownMax))))]
  const loaded = useLoad(
    async (signal) =>
      new Map((wanted.length === 0 ? [] : await getMany(collection, wanted, { signal })).map((one) => [one.id, one])),
    [collection, wanted],
  )
  const found = new Set(sides.flatMap(({ ranking }) => ranking))
  const notFound = [...grades].filter(([id, grade]) => grade > 0 && !found.has(id))
  return (
    <div class="stack tight judged-hits">
      {loaded.kind === 'failed' && <Failure error={loaded.error} retry={loaded.again} />}
      <div class="halves">
        {sides.map(({ name, ranking, other, grouped }) => (
          <section key={name} aria-label={`Hits of ${name}`}>
            <h3>
              {name}: {ranking.length === 0 ? 'no hits' : `${count(ranking.length)} hits`}
            </h3>
            <ol class="hits">
              {ranking.slice(0, shownMax).map((id, i) => (
                <li key={id}>
                  <span class="rank num">{i + 1}</span>
                  <div class="grow">
                    <div class="row tight">
                      {grouped ? (
                        <bdi class="mono wrap-anywhere">{id}</bdi>
                      ) : (
                        <a class="mono wrap-anywhere" href={href(['collections', collection, 'objects'], { id })}>
                          <bdi>{id}</bdi>
                        </a>
                      )}
                      <Grade grades={grades} id={id} />
                      {other && <Other rank={other.indexOf(id) + 1} />}
                    </div>
                    {!grouped && <About id={id} loaded={loaded} />}
                  </div>
                </li>
              ))}
            </ol>
          </section>
        ))}
      </div>
      {notFound.length > 0 && (
        <p>
          Relevant, but not found:{' '}
          {notFound.slice(0, shownMax).map(([id, grade]) => (
            <span key={id} class="pair">
              <bdi class="mono wrap-anywhere">{id}</bdi> <span class="muted num">grade {grade}</span>
            </span>
          ))}
          {notFound.length > shownMax && <span class="muted num">and {count(notFound.length - shownMax)} more</span>}
        </p>
      )}
    </div>
  )
}

function Grade({ grades, id }: { readonly grades: Grades; readonly id: string }) {
  const grade = grades.get(id)
  if (grade === undefined) return <Badge>not judged</Badge>
  return grade > 0 ? <Badge kind="good">grade {grade}</Badge> : <Badge kind="bad">not relevant</Badge>
}

function Other({ rank }: { readonly rank: number }) {
  return rank === 0 ? <Badge kind="warn">only here</Badge> : <Badge kind="accent">other: {rank}</Badge>
}

const textMax = 160

/** The beginning of the texts of an object, or its meta if it has no text. */
function About({ id, loaded }: { readonly id: string; readonly loaded: Loaded<ReadonlyMap<string, StoredObject>> }) {
  if (loaded.kind !== 'ready') return null
  const object = loaded.value.get(id)
  if (object === undefined) return <p class="muted small">deleted since</p>
  const texts = Object.values(object.fields).filter((value) => typeof value === 'string')
  if (texts.length > 0) {
    return (
      <p class="small">
        <Excerpt text={texts[0] as string} max={textMax} />
      </p>
    )
  }
  return (
    <p class="muted small wrap-anywhere">
      <Json value={object.meta ?? object.filter} />
    </p>
  )
}
