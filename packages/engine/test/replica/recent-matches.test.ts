import { test } from 'tap'
import { FilterIndex } from '../../src/filter/filter-index.ts'
import { parseFilter } from '../../src/filter/parse-filter.ts'
import { RecentMatches } from '../../src/replica/recent-matches.ts'

function filled(): FilterIndex {
  const index = new FilterIndex({ low: 1, high: 2 })
  for (let ordinal = 0; ordinal < 100; ordinal++) index.set(ordinal, { n: ordinal })
  return index
}
const below = (n: number) => parseFilter([{ n: { $lt: n } }])

test('a repeated filter returns the same matches until the next version', async (t) => {
  const index = filled()
  const recent = new RecentMatches(index)
  const first = recent.matchesOf(below(10), 1)
  t.equal(first.count, 10)
  t.equal(recent.matchesOf(below(10), 1), first)
  t.equal(recent.matchesOf(below(11), 1).count, 11)
  t.equal(
    recent.matchesOf(parseFilter([{ n: { $gte: 10 } }]), 1).count,
    90,
    'an infinite bound differs from the other infinity',
  )
  index.set(100, { n: -1 })
  t.equal(recent.matchesOf(below(10), 2).count, 11)
  t.equal(first.count, 10, 'a reader of the earlier result keeps it')
})

test('a few filters are cached, the least recently used are removed, and long ones are not cached', async (t) => {
  const recent = new RecentMatches(filled())
  const first = recent.matchesOf(below(0), 1)
  for (let n = 1; n < 16; n++) recent.matchesOf(below(n), 1)
  const bytes = recent.bytes()
  t.equal(recent.matchesOf(below(0), 1), first)
  recent.matchesOf(below(16), 1)
  t.equal(recent.matchesOf(below(0), 1), first, 'used since')
  t.equal(recent.bytes(), bytes)
  const long = parseFilter([{ n: { $in: Array.from({ length: 2_000 }, (_, i) => i) } }])
  t.equal(recent.matchesOf(long, 1).count, 100)
  t.equal(recent.bytes(), bytes)
})
