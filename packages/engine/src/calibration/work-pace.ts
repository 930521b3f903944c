// Lets other work of the thread run between pieces of a measurement.
import { setTimeout as sleep } from 'node:timers/promises'
import { yieldToOthers } from '@annal/wal'

/** Work before others run. */
const workMs = 4
/** A longer turn contained other work. Then the measurement leaves half of the time to it. */
const busyTurnMs = 0.3

/** Full speed while the thread is idle, and at most half of the time while it is not. */
export class WorkPace {
  #began = performance.now()

  /** Yields to others if some milliseconds of work were done. The process may end meanwhile. */
  async rest(): Promise<void> {
    const now = performance.now()
    if (now - this.#began < workMs) return
    await yieldToOthers()
    if (performance.now() - now > busyTurnMs) await sleep(workMs, undefined, { ref: false })
    this.#began = performance.now()
  }
}

/** Waits for work that rests meanwhile. The process does not end before. */
export async function keepAlive<T>(work: () => Promise<T>): Promise<T> {
  const timer = setInterval(() => undefined, 2 ** 30)
  try {
    return await work()
  } finally {
    clearInterval(timer)
  }
}
