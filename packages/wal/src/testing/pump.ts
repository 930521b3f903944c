// Lets a simulated network and a manual clock run automatically, for tests that do not choose the order of events.
import { idle, type ManualClock } from './manual-clock.ts'
import type { SimFrameStore } from './sim-frame-store.ts'

/** Runs until the returned function is called. */
export function pump(sim: SimFrameStore, clock: ManualClock): () => void {
  let runs = true
  void (async () => {
    while (runs) {
      if (!sim.step()) clock.advance(20)
      await idle()
    }
  })()
  return () => {
    runs = false
  }
}
