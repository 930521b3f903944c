// What the system tells of a thread of this process: what it used and whether it could run. Linux has it in /proc; elsewhere
// nothing is known.
import { readFileSync, readlinkSync } from 'node:fs'

export interface ThreadState {
  /** Processor time it used since it began. */
  readonly cpuMs: number
  /** It waits for something; a thread that is only not given a processor does not. */
  readonly asleep: boolean
}

/** The system's number of the calling thread; 0 where it cannot be told. */
export function ownThread(): number {
  try {
    return Number(/\/task\/(\d+)$/.exec(readlinkSync('/proc/thread-self'))?.[1] ?? 0)
  } catch {
    // Another system, or one without /proc.
    return 0
  }
}

/** The kernel counts in ticks of a hundredth of a second on every architecture. */
const tickMs = 10

export function threadState(thread: number): ThreadState | undefined {
  if (thread === 0) return undefined
  try {
    const stat = readFileSync(`/proc/self/task/${thread}/stat`, 'latin1')
    // The name before it may hold anything, brackets and blanks included.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return { cpuMs: (Number(fields[11]) + Number(fields[12])) * tickMs, asleep: fields[0] === 'S' }
  } catch {
    // It ended meanwhile.
    return undefined
  }
}
