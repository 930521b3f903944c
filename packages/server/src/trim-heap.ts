// Frees memory that only a start needed. Modules and schemas leave garbage, and V8 keeps the pages of the young generation that grew with them;
// without requests it never frees either. The same applies to serving threads. A garbage collection takes some tens of milliseconds, so it
// runs once, when the process has nothing else to do.
import { performance } from 'node:perf_hooks'

const lookEveryMs = 1_000
/** Share of the time since the last look in which an idle process runs JavaScript. */
const idleShareMax = 0.05

/** Calls `collect` once, as soon as the event loop was idle for a second. */
export function trimHeapWhenIdle(collect: () => void): void {
  const look = trimmer({ busyShare: busyShare(), collect })
  const timer = setInterval(() => {
    if (look()) clearInterval(timer)
  }, lookEveryMs).unref()
}

/** The returned function is called regularly, and returns true when it has collected. */
export function trimmer(parts: { busyShare(): number; collect(): void }): () => boolean {
  return () => {
    if (parts.busyShare() > idleShareMax) return false
    parts.collect()
    return true
  }
}

/** The share of the time since the last call in which the event loop was busy. */
function busyShare(): () => number {
  let last = performance.eventLoopUtilization()
  return () => {
    const now = performance.eventLoopUtilization()
    const { utilization } = performance.eventLoopUtilization(now, last)
    last = now
    return utilization
  }
}
