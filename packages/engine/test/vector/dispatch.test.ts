// The owner's side of the ring, with workers that the test simulates, so that one can be lost at any line.
import { setImmediate as turn } from 'node:timers/promises'
import { test } from 'tap'
import { EngineError } from '../../src/errors.ts'
import { QueryDispatcher } from '../../src/vector/threads/dispatch.ts'
import type { GraphQuery, ScanQuery } from '../../src/vector/threads/query.ts'
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
  const { ring, desk } = opened()
  const answer = desk.submit(question(known))
  // The first step of takeSlot; then the thread is lost.
  Atomics.add(ring.words, words.head, 1)
  t.equal(takeSlot(ring, 1), -1, 'nobody else can see it')
  desk.lose(0, lost)
  serve(ring, takeSlot(ring, 1))
  desk.collect()
  t.equal((await answer).visited, 7)
})

test('a slot that is in the order twice is served once', async (t) => {
  const { ring, desk } = opened()
  const first = desk.submit(question(known))
  // Worker 1 is between the order and the slot while worker 0 is lost.
  const index = Atomics.load(ring.words, words.order)
  Atomics.add(ring.words, words.head, 1)
  desk.lose(0, lost)
  const state = slotAt(index) + slot.state
  t.equal(Atomics.exchange(ring.words, state, slotStates.taken + 1), slotStates.asked)
  serve(ring, index)
  desk.collect()
  await first
  // The slot is reused while it is in the order once from before.
  const second = desk.submit(question(known))
  serve(ring, takeSlot(ring, 1))
  t.equal(takeSlot(ring, 1), -1, 'once')
  desk.collect()
  t.equal((await second).visited, 7)
})

test('only the queries that a lost worker had taken are rejected', async (t) => {
  const { ring, desk } = opened()
  const answers = Array.from({ length: 2 * slotsMax }, () => desk.submit(question(known)))
  const taken = takeSlot(ring, 0)
  t.ok(taken >= 0)
  desk.lose(0, lost)
  for (let served = 0; served < answers.length - 1; served++) {
    serve(ring, takeSlot(ring, 1))
    desk.collect()
  }
  const ends = await Promise.allSettled(answers)
  t.equal(ends.filter(({ status }) => status === 'rejected').length, 1)
  t.equal(takeSlot(ring, 1), -1)
})

test('a query of an unknown arena is rejected', async (t) => {
  const { ring, desk } = opened()
  const answer = desk.submit(question(known + 1))
  Atomics.store(ring.words, slotAt(takeSlot(ring, 0)) + slot.state, slotStates.unknownArena)
  desk.collect()
  await t.rejects(answer, { code: 'closed' })
})

test('an arena is released when its last query has its answer', async (t) => {
  const { ring, desk } = opened()
  const over: number[] = []
  desk.whenUnasked(known, () => over.push(0))
  t.same(over, [0], 'at once where nobody asks')
  const answers = [desk.submit(question(known)), desk.submit(question(known))]
  desk.whenUnasked(known, () => over.push(1))
  serve(ring, takeSlot(ring, 0))
  desk.collect()
  t.same(over, [0])
  serve(ring, takeSlot(ring, 0))
  desk.collect()
  t.same(over, [0, 1])
  await Promise.all(answers)
})

test('a small query does not wait behind a long one that no worker takes', async (t) => {
  const { desk } = opened()
  const long = desk.submit(question(known))
  t.equal((await desk.submit(smallQuestion())).visited, 3)
  desk.refuseAll(lost)
  await t.rejects(long, { code: 'worker_lost' })
})

test('small queries beyond the share of the owner go to the workers, and those left over return to the owner', async (t) => {
  const { ring, desk } = opened(1)
  const answers = Array.from({ length: 3 * slotsMax }, () => desk.submit(smallQuestion()))
  t.equal(takeSlot(ring, 0), -1, 'nothing is in the ring before the turn ends')
  t.equal(desk.untaken, answers.length)
  await answers[0]
  const taken = takeSlot(ring, 0)
  t.ok(taken >= 0, 'others can take some now')
  serve(ring, taken)
  desk.collect()
  const found = await Promise.all(answers)
  t.equal(found.filter(({ visited }) => visited === 7).length, 1)
  t.equal(desk.untaken, 0)
  t.equal(desk.completed, answers.length)
})

test('many small queries go to the workers, unless these work on a long one', async (t) => {
  const { ring, desk } = opened(2)
  const crowd = Array.from({ length: 8 }, () => desk.submit(smallQuestion()))
  await turn()
  const taken = crowd.map(() => takeSlot(ring, 0))
  t.ok(
    taken.every((index) => index >= 0),
    'all are in the ring',
  )
  const long = desk.submit(question(known))
  const others = Array.from({ length: 3 }, () => desk.submit(smallQuestion()))
  for (const { visited } of await Promise.all(others)) t.equal(visited, 3, 'the owner answered')
  for (const index of taken) serve(ring, index)
  desk.collect()
  for (const { visited } of await Promise.all(crowd)) t.equal(visited, 7, 'a worker answered')
  serve(ring, takeSlot(ring, 1))
  desk.collect()
  await long
})

test('small queries that were not started are rejected at the end', async (t) => {
  const { desk } = opened()
  const answer = desk.submit(smallQuestion())
  desk.refuseAll(lost)
  await t.rejects(answer, { code: 'worker_lost' })
})

function opened(threads = 2): { ring: Ring; desk: QueryDispatcher } {
  const ring = createRing()
  const desk = new QueryDispatcher(ring, threads, {
    announce: (arena) => arena === known,
    answerHere: () => ({ ordinals: new Uint32Array(0), similarities: new Float32Array(0), visited: 3, distances: 0 }),
    onSubmit: () => undefined,
    onAnswer: () => undefined,
  })
  return { ring, desk }
}

/** The owner never runs scans. */
function question(arena: number): ScanQuery {
  return { kind: 'scan', arena, query: new Float32Array(2), k: 1, version: 1, listed: undefined, from: 0, to: 1 }
}

/** A quarter of the owner's share of a turn. */
function smallQuestion(): GraphQuery {
  const walk = { ef: 64, rerank: 24, compared: 0, bitmap: 0, bits: 0 }
  return { kind: 'search', arena: known, query: new Float32Array(1_024), k: 1, version: 1, ...walk }
}

function serve({ words: w }: Ring, index: number): void {
  w[slotAt(index) + slot.found] = 0
  w[slotAt(index) + slot.visited] = 7
  Atomics.store(w, slotAt(index) + slot.state, slotStates.answered)
}
