// Gives memory back that a start took. Modules and schemas leave garbage, and V8 keeps the pages of a young generation that grew with them;
// without requests it does not look at either again. A collection of everything takes some tens of milliseconds, so it waits until the
// process has nothing else to do, and happens once.
import { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

const lookEveryMs = 1_000
/** Share of the time since the last look in which an idle process runs JavaScript. */
const idleShareMax = 0.05

/** V8's collector, as the flag `--expose-gc` shows it. */
type Collector = (options: { readonly type: 'major'; readonly flavor: 'last-resort' }) => void

/** Collects once, as soon as the event loop was idle for a second. */
export function trimHeapWhenIdle(): void {
  const look = trimmer({ busyShare: busyShare(), collect: collectEverything })
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

function collectEverything(): void {
  setFlagsFromString('--expose-gc')
  // Contexts that are older than the flag do not have the function.
  const collect = runInNewContext('gc') as Collector
  collect({ type: 'major', flavor: 'last-resort' })
}
