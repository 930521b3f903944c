import { setImmediate as nextTurn } from 'node:timers/promises'
import { test } from 'tap'
import { Publication } from '../../src/replica/publication.ts'

/** A publication of `steps` steps with `work` each; `done` counts them. */
function publicationOf(steps: number, work: number, failAt = -1) {
  const state = { done: 0, ended: 0 }
  function* working(): Generator<number, void> {
    for (; state.done < steps; state.done++) {
      if (state.done === failAt) throw new Error(`step ${failAt}`)
      yield work
    }
  }
  const publication = new Publication(working(), () => {
    state.ended++
  })
  return { state, publication }
}

test('a small publication ends in the turn in which it begins', async (t) => {
  const { state, publication } = publicationOf(1_000, 128)
  const running = publication.run()
  t.same(state, { done: 1_000, ended: 1 })
  t.equal(publication.over, undefined)
  await running
  t.same(state, { done: 1_000, ended: 1 })
})

test('a large publication yields to the event loop after each part', async (t) => {
  const { state, publication } = publicationOf(20, 65_536)
  const steps: number[] = []
  const running = publication.run()
  const { over } = publication
  for (let seen = -1; publication.over; await nextTurn()) {
    if (state.done !== seen) steps.push(state.done)
    seen = state.done
  }
  // A step is counted when the next one is requested.
  t.same(steps, [1, 3, 5, 7, 9, 11, 13, 15, 17, 19])
  t.equal(state.ended, 1)
  await Promise.all([running, over])
})

test('a reader that cannot wait completes a publication in its own turn, once', async (t) => {
  const { state, publication } = publicationOf(20, 65_536)
  const running = publication.run()
  t.ok(state.done < 20)
  publication.finish()
  t.same(state, { done: 20, ended: 1 })
  publication.finish()
  await running
  t.same(state, { done: 20, ended: 1 })
})

test('a publication that fails never ends: running and finishing it throw the reason, waiting resolves', async (t) => {
  const { state, publication } = publicationOf(20, 65_536, 10)
  const running = publication.run()
  const { over } = publication
  t.throws(() => publication.finish(), { message: 'step 10' })
  t.equal(publication.over, undefined)
  await over
  await t.rejects(running, { message: 'step 10' })
  t.throws(() => publication.finish(), { message: 'step 10' })
  t.equal(state.ended, 0)
})

test('a turn ends with the step that reaches its work', async (t) => {
  for (const [work, stepsInTurn] of [
    [131_071, 2],
    [131_072, 1],
  ] as const) {
    const { state, publication } = publicationOf(5, work)
    const running = publication.run()
    // A step is counted when the next one is requested.
    t.equal(state.done, stepsInTurn - 1)
    await running
  }
})
