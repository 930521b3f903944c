// What this process holds, when it has let go of what it does not need.
import { setTimeout as sleep } from 'node:timers/promises'

/** Given by --expose-gc. */
const collect = (globalThis as { readonly gc?: () => void }).gc

export async function residentBytes(): Promise<number> {
  if (collect === undefined) throw new Error('run with --expose-gc, as main.ts does')
  // Memory that is shared with workers goes when they, too, have collected theirs; freed pages go back a little later, on a busy
  // machine much later: until nothing went for a while. One batch of 10,000 rows that is still held is 25 bytes a row.
  let least = Number.POSITIVE_INFINITY
  for (let [looks, unchanged] = [0, 0]; looks < 60 && unchanged < 10; looks++) {
    collect()
    await sleep(100)
    const bytes = process.memoryUsage.rss()
    unchanged = bytes < least ? 0 : unchanged + 1
    least = Math.min(least, bytes)
  }
  return least
}
