// What this process holds, when it has let go of what it does not need.
import { setTimeout as sleep } from 'node:timers/promises'

/** Given by --expose-gc. */
const collect = (globalThis as { readonly gc?: () => void }).gc

export async function residentBytes(): Promise<number> {
  if (collect === undefined) throw new Error('run with --expose-gc, as main.ts does')
  // Memory that is shared with workers goes when they, too, have collected theirs; freed pages go back a little later.
  for (let i = 0; i < 5; i++) {
    collect()
    await sleep(100)
  }
  return process.memoryUsage.rss()
}
