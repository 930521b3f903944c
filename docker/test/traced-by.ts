// The processes that a process of strace runs. They outlive it if it is killed, so a test ends them first.
import type { ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'

/** Their ids; empty if it has ended. */
export function tracedBy({ pid }: ChildProcess): number[] {
  try {
    const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim()
    return children === '' ? [] : children.split(' ').map(Number)
  } catch {
    return []
  }
}
