import { test } from 'tap'
import { Ordinals } from '../../src/replica/ordinals.ts'

test('ordinals are assigned in ascending order, and a dead one is reused after sixteen versions', async (t) => {
  const ordinals = new Ordinals()
  t.strictSame([...ordinals.take(3)], [0, 1, 2])
  ordinals.retire(1, 5)
  t.equal(ordinals.ripeAt(20), 0, 'fifteen versions later it still rests')
  t.strictSame(ordinals.ripen(20), [])
  t.strictSame([...ordinals.take(1)], [3])
  t.equal(ordinals.ripeAt(21), 5, 'searches of versions below 5 must have ended')
  t.strictSame(ordinals.ripen(21), [1])
  t.strictSame([...ordinals.take(2)], [1, 4])
  t.equal(ordinals.end, 5)
})

test('a saved state assigns the same ordinals as the one that continued', async (t) => {
  const live = new Ordinals()
  live.take(10)
  for (const ordinal of [7, 2, 5]) live.retire(ordinal, 1)
  live.retire(9, 30)
  live.ripen(40)
  const copy = new Ordinals(live.state())
  for (const count of [2, 1, 3]) t.strictSame([...copy.take(count)], [...live.take(count)])
  t.strictSame(copy.ripen(46), live.ripen(46))
})

test('hundreds of thousands of ordinals become free at once', async (t) => {
  const ordinals = new Ordinals()
  const all = ordinals.take(300_000)
  for (const ordinal of all) ordinals.retire(ordinal, 1)
  t.equal(ordinals.ripen(17).length, all.length)
  t.strictSame([...ordinals.take(3)], [0, 1, 2])
})
