// How much memory this process can still take before the kernel ends a process for want of memory.
import { freemem } from 'node:os'

/** Free memory of the machine, or what the control group of this process allows beyond what the process has, if that is less. */
export function availableMemory(): number {
  const limit = process.constrainedMemory()
  // Files that the kernel caches count against a group too, but it gives them up.
  const ofGroup = limit > 0 ? limit - process.memoryUsage.rss() : Number.POSITIVE_INFINITY
  return Math.max(0, Math.min(ofGroup, freemem()))
}
