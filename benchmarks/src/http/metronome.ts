// A thread that wakes the thread of a client when its next request is due. Timers of an event loop are a millisecond late, which would count
// as latency; a loop that polls the clock would take a core from the server.
import { parentPort } from 'node:worker_threads'
import { createSchedule, nowMs, type Schedule } from './schedule.ts'

/** What the thread receives: the schedule, and a word that is 1 once the schedule is to stop. */
export interface MetronomeWork {
  readonly schedule: Schedule
  readonly startMs: number
  readonly stop: Int32Array<SharedArrayBuffer>
}

/** The client is woken at most once in this time. */
const tickMs = 0.1

parentPort?.on('message', ({ schedule, startMs, stop }: MetronomeWork) => {
  const dueMs = createSchedule(schedule)
  let next = startMs + dueMs()
  while (Atomics.load(stop, 0) === 0) {
    const wait = next - nowMs()
    if (wait > 0 && Atomics.wait(stop, 0, 0, wait) !== 'timed-out') break
    parentPort?.postMessage(0)
    const now = nowMs() + tickMs
    while (next <= now) next = startMs + dueMs()
  }
})
