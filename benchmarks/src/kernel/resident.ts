// The resident memory of this process after it has freed what it does not need.
import { setTimeout as sleep } from 'node:timers/promises'

/** Defined by --expose-gc. */
const collect = (globalThis as { readonly gc?: () => void }).gc

export async function residentBytes(): Promise<number> {
  if (collect === undefined) throw new Error('run with --expose-gc, as main.ts does')
  // Memory that is shared with workers is freed after they have collected their garbage, too, and freed pages are returned later, on a busy
  // machine much later. So it waits until nothing was freed for a while. One remaining batch of 10,000 rows would be 25 bytes per row.
  let lowest = Number.POSITIVE_INFINITY
  for (let [looks, unchanged] = [0, 0]; looks < 60 && unchanged < 10; looks++) {
    collect()
    await sleep(100)
    const bytes = process.memoryUsage.rss()
    unchanged = bytes < lowest ? 0 : unchanged + 1
    lowest = Math.min(lowest, bytes)
  }
  return lowest
}
