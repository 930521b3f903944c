// Divides the cores between serving threads and graph threads: together they keep at most one more than the cores busy. Graph threads
// use the cores that serving threads leave, so a load of an idle server uses all of them.
import { availableParallelism } from 'node:os'

const everyMs = 100

/** Graph threads that may work next to serving threads with this utilization, each from 0 to 1. */
export function graphThreadsFor(utilizations: readonly number[], cores: number): number {
  const busy = utilizations.reduce((sum, utilization) => sum + utilization, 0)
  return Math.max(1, Math.floor(cores + 1 - busy + rounding))
}

/** A thread that is idle for this part of the time still counts as busy for the rest, not as a whole. */
const rounding = 0.25

/** Calls `limit` when the number changes. Returns the function that ends it. */
export function shareCores(
  utilizations: () => readonly number[],
  limit: (threads: number) => void,
  cores = availableParallelism(),
): () => void {
  let last = 0
  const timer = setInterval(() => {
    const next = graphThreadsFor(utilizations(), cores)
    if (next !== last) limit(next)
    last = next
  }, everyMs).unref()
  return () => clearInterval(timer)
}
