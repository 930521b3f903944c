import { test } from 'tap'
import { trimmer } from '../src/trim-heap.ts'

test('the heap is trimmed at the first look at an idle process, and not while it works', (t) => {
  const shares = [1, 0.3, 0.06, 0.01]
  let collected = 0
  const look = trimmer({ busyShare: () => shares.shift() ?? 1, collect: () => collected++ })
  t.strictSame([look(), look(), look(), collected], [false, false, false, 0])
  t.strictSame([look(), collected], [true, 1])
  t.end()
})
