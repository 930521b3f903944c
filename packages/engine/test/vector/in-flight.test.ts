import { test } from 'tap'
import { InFlight } from '../../src/vector/in-flight.ts'

test('items that were added and not removed are in flight, in any order', async (t) => {
  const underWay = new InFlight<number>()
  const places = [0, 1, 2, 3, 4].map((item) => underWay.add(item))
  const left = () => [...underWay].sort()
  t.same(left(), [0, 1, 2, 3, 4])
  const remaining = new Set([0, 1, 2, 3, 4])
  for (const item of [1, 4, 0, 3, 2]) {
    underWay.remove(places[item]!)
    remaining.delete(item)
    t.same(left(), [...remaining])
  }
  underWay.add(5)
  t.same(left(), [5])
})
