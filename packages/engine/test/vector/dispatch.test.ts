// The owner's side of the ring, with workers that the test simulates, so that one can be lost at any line.
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'tap'
import { EngineError } from '../../src/errors.ts'
import type { GraphQuery, ScanQuery } from '../../src/vector/pool.ts'
import { QueryDispatcher } from '../../src/vector/threads/dispatch.ts'
import {
  createRing,
  type Ring,
  slot,
  slotAt,
  slotStates,
  slotsMax,
  takeSlot,
  words,
} from '../../src/vector/threads/ring.ts'

const known = 1
const lost = new EngineError('worker_lost', 'a worker ended while it was at work')

test('a worker lost between the order and the slot loses nothing', async (t) => {
  const { ring, dispatcher } = opened()
  const answer = dispatcher.submit(scanQuery(known))
  // The first step of takeSlot; then the thread is lost.
  Atomics.add(ring.words, words.head, 1)
  t.equal(takeSlot(ring, 1), -1, 'nobody else can see it')
  dispatcher.loseWorker(0, lost)
  serve(ring, takeSlot(ring, 1))
  dispatcher.collect()
  t.equal((await answer).visited, 7)
})

test('a slot that is in the order twice is served once', async (t) => {
  const { ring, dispatcher } = opened()
  const first = dispatcher.submit(scanQuery(known))
  // Worker 1 is between the order and the slot while worker 0 is lost.
  const index = Atomics.load(ring.words, words.order)
  Atomics.add(ring.words, words.head, 1)
  dispatcher.loseWorker(0, lost)
  const state = slotAt(index) + slot.state
  t.equal(Atomics.exchange(ring.words, state, slotStates.taken + 1), slotStates.submitted)
  serve(ring, index)
  dispatcher.collect()
  await first
  // The slot is reused while it is in the order once from before.
  const second = dispatcher.submit(scanQuery(known))
  serve(ring, takeSlot(ring, 1))
  t.equal(takeSlot(ring, 1), -1, 'once')
  dispatcher.collect()
  t.equal((await second).visited, 7)
})

test('only the queries that a lost worker had taken are rejected', async (t) => {
  const { ring, dispatcher } = opened()
  const answers = Array.from({ length: 2 * slotsMax }, () => dispatcher.submit(scanQuery(known)))
  const taken = takeSlot(ring, 0)
  t.ok(taken >= 0)
  dispatcher.loseWorker(0, lost)
  for (let served = 0; served < answers.length - 1; served++) {
    serve(ring, takeSlot(ring, 1))
    dispatcher.collect()
  }
  const ends = await Promise.allSettled(answers)
  t.equal(ends.filter(({ status }) => status === 'rejected').length, 1)
  t.equal(takeSlot(ring, 1), -1)
})

test('a query of an unknown memory is rejected', async (t) => {
  const { ring, dispatcher } = opened()
  const answer = dispatcher.submit(scanQuery(known + 1))
  Atomics.store(ring.words, slotAt(takeSlot(ring, 0)) + slot.state, slotStates.unknownMemory)
  dispatcher.collect()
  await t.rejects(answer, { code: 'closed' })
})

test('a memory is released when its last query has its answer', async (t) => {
  const { ring, dispatcher } = opened()
  const over: number[] = []
  dispatcher.afterLastQuery(known, () => over.push(0))
  t.same(over, [0], 'at once where nobody asks')
  const answers = [dispatcher.submit(scanQuery(known)), dispatcher.submit(scanQuery(known))]
  dispatcher.afterLastQuery(known, () => over.push(1))
  serve(ring, takeSlot(ring, 0))
  dispatcher.collect()
  t.same(over, [0])
  serve(ring, takeSlot(ring, 0))
  dispatcher.collect()
  t.same(over, [0, 1])
  await Promise.all(answers)
})

test('a small query does not wait behind a long one that no worker takes', async (t) => {
  const { dispatcher } = opened()
  const long = dispatcher.submit(scanQuery(known))
  t.equal((await dispatcher.submit(smallQuery())).visited, 3)
  dispatcher.rejectAll(lost)
  await t.rejects(long, { code: 'worker_lost' })
})

test('small queries beyond the share of the owner go to the workers, and those left over return to the owner', async (t) => {
  const { ring, dispatcher } = opened(1)
  const answers = Array.from({ length: 3 * slotsMax }, () => dispatcher.submit(smallQuery()))
  t.equal(takeSlot(ring, 0), -1, 'nothing is in the ring before the turn ends')
  t.equal(dispatcher.notBegun, answers.length)
  await answers[0]
  const taken = takeSlot(ring, 0)
  t.ok(taken >= 0, 'others can take some now')
  serve(ring, taken)
  dispatcher.collect()
  const found = await Promise.all(answers)
  t.equal(found.filter(({ visited }) => visited === 7).length, 1)
  t.equal(dispatcher.notBegun, 0)
  t.equal(dispatcher.completed, answers.length)
})

test('many small queries go to the workers, unless these work on a long one', async (t) => {
  const { ring, dispatcher } = opened(2)
  const crowd = Array.from({ length: 8 }, () => dispatcher.submit(smallQuery()))
  await turn()
  const taken = crowd.map(() => takeSlot(ring, 0))
  t.ok(
    taken.every((index) => index >= 0),
    'all are in the ring',
  )
  const long = dispatcher.submit(scanQuery(known))
  const others = Array.from({ length: 3 }, () => dispatcher.submit(smallQuery()))
  for (const { visited } of await Promise.all(others)) t.equal(visited, 3, 'the owner answered')
  for (const index of taken) serve(ring, index)
  dispatcher.collect()
  for (const { visited } of await Promise.all(crowd)) t.equal(visited, 7, 'a worker answered')
  serve(ring, takeSlot(ring, 1))
  dispatcher.collect()
  await long
})

test('a query whose caller leaves before a thread begins it is not run', async (t) => {
  const { ring, dispatcher } = opened()
  const caller = { hasLeft: false }
  // More than there are slots, so that some wait in the ring and some in front of it.
  const queries = Array.from({ length: 2 * slotsMax }, () => dispatcher.submit({ ...scanQuery(known), caller }))
  const other = dispatcher.submit(scanQuery(known))
  const taken = takeSlot(ring, 0)
  const small = dispatcher.submit({ ...smallQuery(), caller })
  caller.hasLeft = true
  await t.rejects(small, { code: 'closed' }, 'the owner does not begin one either')
  serve(ring, taken)
  dispatcher.collect()
  let ran = 0
  for (let index = takeSlot(ring, 0); index >= 0; index = takeSlot(ring, 0)) {
    const from = slotAt(index)
    if (Atomics.load(ring.words, from + slot.left) === 1)
      Atomics.store(ring.words, from + slot.state, slotStates.skipped)
    else {
      ran++
      serve(ring, index)
    }
    dispatcher.collect()
  }
  t.equal((await other).visited, 7, 'that of another caller is')
  t.equal(ran, 1, 'and nothing else')
  const ends = await Promise.allSettled(queries)
  t.equal(ends.filter(({ status }) => status === 'fulfilled').length, 1, 'what had begun has its answer')
  t.equal(dispatcher.notBegun, 0)
})

test('small queries that were not started are rejected at the end', async (t) => {
  const { dispatcher } = opened()
  const answer = dispatcher.submit(smallQuery())
  dispatcher.rejectAll(lost)
  await t.rejects(answer, { code: 'worker_lost' })
})

function opened(threads = 2): { ring: Ring; dispatcher: QueryDispatcher } {
  const ring = createRing()
  const dispatcher = new QueryDispatcher(ring, threads, {
    attachAgain: (memory) => memory === known,
    answerHere: () => ({
      ordinals: new Uint32Array(0),
      similarities: new Float32Array(0),
      visited: 3,
      distances: 0,
      isUnresolved: false,
    }),
    workersRun: () => true,
    onSubmit: () => undefined,
    onSettle: () => undefined,
  })
  return { ring, dispatcher }
}

/** The owner never runs scans. */
function scanQuery(memory: number): ScanQuery {
  return { kind: 'scan', memory, query: new Float32Array(2), k: 1, version: 1, listed: undefined, from: 0, to: 1 }
}

/** A quarter of the owner's share of a turn. */
function smallQuery(): GraphQuery {
  const walk = { ef: 64, rerank: 24, compared: 0, bitmap: 0, bits: 0 }
  return { kind: 'search', memory: known, query: new Float32Array(1_024), k: 1, version: 1, ...walk }
}

function serve({ words: w }: Ring, index: number): void {
  w[slotAt(index) + slot.found] = 0
  w[slotAt(index) + slot.visited] = 7
  Atomics.store(w, slotAt(index) + slot.state, slotStates.answered)
}
