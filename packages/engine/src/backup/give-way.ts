// Work on files that nobody waits for goes on in slices. While others use the thread, it leaves most of the time to them.
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises'

/** Hashing so much takes a fraction of a millisecond. */
const bytesPerTurn = 256 * 1024
/** A turn that took longer had work of others in it. */
const idleTurnMs = 0.3
const pauseMs = 3

/** To be called with the bytes handled since the last call, and waited for. */
export function givingWay(): (bytes: number) => Promise<void> {
  let handled = 0
  return async (bytes) => {
    handled += bytes
    if (handled < bytesPerTurn) return
    handled = 0
    const from = performance.now()
    await nextTurn()
    if (performance.now() - from > idleTurnMs) await sleep(pauseMs)
  }
}
