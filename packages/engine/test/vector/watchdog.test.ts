import { test } from 'tap'
import { ownThread, type ThreadState, threadState } from '../../src/vector/threads/thread-state.ts'
import { type Picture, patienceWithPulseMs as patienceMs, Watchdog } from '../../src/vector/threads/watchdog.ts'

/** A watchdog over one worker, looked at `looks` times; `state` gives what is known of it at each look. */
function watched(
  looks: number,
  state: (look: number) => ThreadState | undefined,
  picture: (look: number) => Picture | undefined = () => ({ turn: 1, pulse: 1, patienceMs }),
): string[] {
  const notices: string[] = []
  let lookIndex = 0
  const watchdog = new Watchdog(1, {
    pictureOf: () => picture(lookIndex),
    stateOf: () => state(lookIndex),
    stuck: (_, why) => notices.push(why),
  })
  for (; lookIndex < looks; lookIndex++) watchdog.look()
  watchdog.end()
  return notices
}

test('a worker that uses its processor and does not get on is told of, once', async (t) => {
  const notices = watched(50, (look) => ({ cpuMs: 5_000 + look * 200, asleep: false }))
  t.equal(notices.length, 1)
  t.match(notices[0], /no progress in 800 ms/)
})

test('a worker that is starved is left alone, however long it takes', async (t) => {
  t.same(
    watched(10_000, () => ({ cpuMs: 70, asleep: false })),
    [],
  )
  t.equal(
    watched(10_000, (look) => ({ cpuMs: Math.floor(look / 100) * 10, asleep: false })).length,
    1,
    'until it had its share',
  )
})

test('a worker that gets on is left alone, and so is one with nothing to do', async (t) => {
  const busy = (look: number) => ({ cpuMs: look * 200, asleep: false })
  t.same(
    watched(1_000, busy, (look) => ({ turn: 1, pulse: look >> 1, patienceMs })),
    [],
  )
  t.same(
    watched(1_000, busy, () => undefined),
    [],
  )
})

test('a worker that sleeps in the middle of its work is told of late', async (t) => {
  t.same(
    watched(100, () => ({ cpuMs: 70, asleep: true })),
    [],
  )
  t.equal(watched(1_000, () => ({ cpuMs: 70, asleep: true })).length, 1)
})

test('where nothing is known of threads, looks are counted, six times as many', async (t) => {
  t.same(
    watched(20, () => undefined),
    [],
  )
  t.equal(watched(100, () => undefined).length, 1)
})

const skip = ownThread() === 0 && 'this system does not tell of threads'
test('the system tells what a thread uses', { skip }, async (t) => {
  const cpuMs = () => threadState(ownThread())?.cpuMs ?? 0
  const before = cpuMs()
  // Bounded by what it uses, not by a clock: a starved machine takes longer over it.
  for (let n = 0; cpuMs() < before + 50 && n < 1e7; n++) Math.sqrt(n)
  t.ok(cpuMs() >= before + 50)
  t.equal(threadState(ownThread())?.asleep, false)
  t.equal(threadState(2 ** 30), undefined, 'of one that is not there it tells nothing')
})
