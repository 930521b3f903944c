// Divides the cores between serving threads and graph threads: together they keep at most one more than the cores busy. Graph threads
// use the cores that serving threads leave, so a load of an idle server uses all of them. While there are requests, graph threads pause
// between pieces of work, because a system lets a thread that computes keep its core for milliseconds while a request waits.
import { availableParallelism } from 'node:os'
import type { GraphThreadOptions } from '@annal/engine'

const everyMs = 100

/** Graph threads that may work next to serving threads with this utilization, each from 0 to 1. */
export function graphThreadsFor(utilizations: readonly number[], cores: number): number {
  return Math.max(1, Math.floor(cores + 1 - busyOf(utilizations) + rounding))
}

/** Whether graph threads pause. The bodies of a load alone keep serving threads busy for less. */
export function pausesFor(utilizations: readonly number[]): boolean {
  return busyOf(utilizations) > rounding
}

function busyOf(utilizations: readonly number[]): number {
  return utilizations.reduce((sum, utilization) => sum + utilization, 0)
}

/** A thread that is idle for this part of the time still counts as busy for the rest, not as a whole. */
const rounding = 0.25

/** Calls `limit` again and again, because the engine may have been replaced. Returns the function that ends it. */
export function shareCores(
  utilizations: () => readonly number[],
  limit: (threads: number, options: GraphThreadOptions) => void,
  cores = availableParallelism(),
): () => void {
  const timer = setInterval(() => {
    const used = utilizations()
    limit(graphThreadsFor(used, cores), { pauses: pausesFor(used) })
  }, everyMs).unref()
  return () => clearInterval(timer)
}
