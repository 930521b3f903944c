// The state of a thread of this process in the operating system: its CPU time and whether it could run, and its priority. From /proc on
// Linux; unknown elsewhere.
import { readFileSync, readlinkSync } from 'node:fs'
import { constants, getPriority, setPriority } from 'node:os'

export interface ThreadState {
  /** CPU time since the thread started. */
  readonly cpuMs: number
  /** Whether the thread waits for something; false for a thread that only waits for a processor. */
  readonly asleep: boolean
}

/** The id of the calling thread in the operating system; 0 if unknown. */
export function ownThread(): number {
  try {
    return Number(/\/task\/(\d+)$/.exec(readlinkSync('/proc/thread-self'))?.[1] ?? 0)
  } catch {
    // Another system, or one without /proc.
    return 0
  }
}

/**
 * Lowers the priority of a thread, so that threads that answer searches get a core before it. Only on Linux, where a thread has a
 * priority of its own; a system that refuses keeps the priority, which costs latency only.
 */
export function lowerPriority(thread: number): void {
  if (thread === 0) return
  try {
    setPriority(
      thread,
      Math.min(constants.priority.PRIORITY_LOW, getPriority(thread) + constants.priority.PRIORITY_BELOW_NORMAL),
    )
  } catch {
    // A sandbox may forbid it.
  }
}

/** The kernel counts in ticks of a hundredth of a second on every architecture. */
const tickMs = 10

export function threadState(thread: number): ThreadState | undefined {
  if (thread === 0) return undefined
  try {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'latin1')
    // The name before it may contain anything, including parentheses and spaces.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { cpuMs: (Number(fields[11]) + Number(fields[12])) * tickMs, asleep: fields[0] === 'S' }
  } catch {
    // The thread has ended meanwhile.
    return undefined
  }
}
