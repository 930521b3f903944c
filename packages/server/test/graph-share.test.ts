// Serving threads and graph threads together keep at most one more than the cores busy.
import t from 'tap'
import { graphThreadsFor } from '../src/serving/graph-share.ts'

t.test('graph threads use the cores that serving threads leave', async (t) => {
  for (const cores of [1, 2, 4, 16, 64]) {
    for (let busy = 0; busy <= 16; busy++) {
      const count = graphThreadsFor(
        Array.from({ length: 16 }, (_, thread) => (thread < busy ? 1 : 0)),
        cores,
      )
      t.ok(count >= 1)
      t.ok(
        count === 1 || count + busy <= cores + 1,
        `${busy} busy serving threads and ${count} graph threads on ${cores} cores`,
      )
      t.ok(busy >= cores || count + busy === cores + 1, 'no core is left idle')
    }
  }
  t.equal(graphThreadsFor([0.9, 0.9], 2), 1)
  t.equal(graphThreadsFor([0.5, 0.6], 2), 2)
  t.equal(graphThreadsFor([], 2), 3)
})
