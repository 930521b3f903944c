// Every row has many copies. They do not take the places of other candidates, at the precisions whose candidates are ordered by original vectors.
import { chosenSeed, seededRandom } from '@annal/wal/testing'
import { test } from 'tap'
import { CandidateRanking } from '../../src/search/candidate-ranking.ts'
import { openPrecisions } from './rig.ts'

const seed = chosenSeed()
const dimension = 16
const copies = 40
/** More than a search with this ef compares in order. */
const n = 1_600
const ef = 16
const k = 10

test(`the nearest of rows with ${copies} copies each are found, seed ${seed}`, async (t) => {
  const random = seededRandom(seed)
  const draw = () => Float32Array.from({ length: dimension }, () => random.next() - 0.5)
  const rows = Array.from({ length: n / copies }, draw)
  const precisions = ['int4', 'int2', 'binary'] as const
  const collection = await openPrecisions(
    t,
    precisions,
    Array.from({ length: n }, (_, i) => rows[i % rows.length] as Float32Array),
  )
  for (const precision of precisions) {
    let found = 0
    for (let i = 0; i < 30; i++) {
      const query = draw()
      const distances = rows.map((row) => row.reduce((sum, x, j) => sum + (x - (query[j] as number)) ** 2, 0))
      const nearest = distances.indexOf(Math.min(...distances))
      const { results } = await collection.search({ fields: { [precision]: { query, limit: k, ef } } })
      const hits = results[precision] ?? []
      t.equal(new Set(hits.map(({ id }) => id)).size, k)
      if (hits.every(({ id }) => Number(id) % rows.length === nearest)) found++
    }
    t.ok(found >= 28, `${precision} finds all copies of the nearest row in ${found} of 30 searches`)
  }
})

test('copies that cannot change the result are not compared', (t) => {
  const groups = 30
  const exactOf = (group: number) => -group - (group % 2) / 2
  const ordinals = Uint32Array.from({ length: groups * copies }, (_, i) => i)
  const similarities = Float32Array.from(ordinals, (i) => -Math.floor(i / copies))
  const ranking = new CandidateRanking({ ordinals, similarities }, { k })
  while (!ranking.isDone) ranking.put(exactOf(Math.floor(ranking.next / copies)))
  const { ordinals: best, similarities: exact, compared, wantedForCopies } = ranking.result()
  t.strictSame([...best], [...ordinals.slice(0, k)], 'the copies that were stored first')
  t.ok(exact.every((one) => one === exactOf(0)))
  t.ok(compared < 100, `${compared} of ${ordinals.length} were compared`)
  t.equal(wantedForCopies, 0, 'the last ones cannot be among the best')
  t.end()
})

test('only candidates among which copies took places ask for more', (t) => {
  const wantedOf = (similarities: readonly number[]) => {
    const ordinals = Uint32Array.from(similarities.keys())
    const ranking = new CandidateRanking({ ordinals, similarities: Float32Array.from(similarities) }, { k })
    while (!ranking.isDone) ranking.put(similarities[ranking.next] as number)
    return ranking.wantedForCopies
  }
  t.equal(wantedOf([9, 8, 7, 6, 5, 4]), 0)
  t.equal(wantedOf([9, 9, 8, 8, 7, 7]), 12, 'two of each')
  t.equal(wantedOf([9, 8, 8, 8, 8, 8]), Number.POSITIVE_INFINITY, 'nothing tells how many follow')
  t.end()
})
