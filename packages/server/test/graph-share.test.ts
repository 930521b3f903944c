// Serving threads and graph threads together keep at most one more than the cores busy.
import t from 'tap'
import { graphThreadsFor, pausesFor, shareCores } from '../src/serving/graph-share.ts'

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

t.test('graph threads pause while there are requests', async (t) => {
  t.notOk(pausesFor([]))
  t.notOk(pausesFor([0.1, 0.1]), 'a load of an idle server')
  t.ok(pausesFor([0.2, 0.2]))
  t.ok(pausesFor([1]))
})

t.test('an engine that replaces another one gets the limit too', async (t) => {
  const limits: [number, boolean | undefined][] = []
  const done = Promise.withResolvers<void>()
  const end = shareCores(
    () => [1, 0.9],
    (threads, { pauses }) => {
      if (limits.push([threads, pauses]) === 2) done.resolve()
    },
    2,
  )
  // The timer of the program keeps no process alive.
  const alive = setInterval(() => undefined, 1_000)
  await done.promise
  clearInterval(alive)
  end()
  t.same(limits.slice(0, 2), [
    [1, true],
    [1, true],
  ])
})
