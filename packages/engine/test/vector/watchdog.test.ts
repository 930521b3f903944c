import { test } from 'tap'
import { ownThread, type ThreadState, threadState } from '../../src/vector/threads/thread-state.ts'
import { type Picture, patienceWithPulseMs as patienceMs, Watchdog } from '../../src/vector/threads/watchdog.ts'

/** A watchdog over one worker that is read `looks` times; `state` returns the known state at each read. */
function runWatchdog(
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

test('a worker that uses its processor without progress is reported once', async (t) => {
  const notices = runWatchdog(50, (look) => ({ cpuMs: 5_000 + look * 200, asleep: false }))
  t.equal(notices.length, 1)
  t.match(notices[0], /no progress in 800 ms/)
})

test('a worker without processor time is never reported', async (t) => {
  t.same(
    runWatchdog(10_000, () => ({ cpuMs: 70, asleep: false })),
    [],
  )
  t.equal(
    runWatchdog(10_000, (look) => ({ cpuMs: Math.floor(look / 100) * 10, asleep: false })).length,
    1,
    'until it had its share',
  )
})

test('a worker with progress, and one without work, is not reported', async (t) => {
  const busy = (look: number) => ({ cpuMs: look * 200, asleep: false })
  t.same(
    runWatchdog(1_000, busy, (look) => ({ turn: 1, pulse: look >> 1, patienceMs })),
    [],
  )
  t.same(
    runWatchdog(1_000, busy, () => undefined),
    [],
  )
})

test('a worker that sleeps during its work is reported late', async (t) => {
  t.same(
    runWatchdog(100, () => ({ cpuMs: 70, asleep: true })),
    [],
  )
  t.equal(runWatchdog(1_000, () => ({ cpuMs: 70, asleep: true })).length, 1)
})

test('if nothing is known about threads, reads are counted, six times as many', async (t) => {
  t.same(
    runWatchdog(20, () => undefined),
    [],
  )
  t.equal(runWatchdog(100, () => undefined).length, 1)
})

const skip = ownThread() === 0 && 'this system does not tell of threads'
test('the system reports the processor time of a thread', { skip }, async (t) => {
  const cpuMs = () => threadState(ownThread())?.cpuMs ?? 0
  const before = cpuMs()
  // Limited by processor time, not by a clock, because a busy machine takes longer.
  for (let n = 0; cpuMs() < before + 50 && n < 1e7; n++) Math.sqrt(n)
  t.ok(cpuMs() >= before + 50)
  t.equal(threadState(ownThread())?.asleep, false)
  t.equal(threadState(2 ** 30), undefined, 'of one that is not there it tells nothing')
})
