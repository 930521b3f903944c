// Identifies this process so that another process can check it. A pid alone is reused sooner or later, and in a
// container every server has pid 1.
import { hostname } from 'node:os'
import { errnoOf } from './errors.ts'
import { linkTarget, nodeVfs } from './node-vfs.ts'
import { readSmall } from './whole-file.ts'

/** What identifies a process and its machine. */
export interface ProcessFacts {
  readonly pid: number
  /** When the process started, in kernel ticks; empty where /proc does not exist. */
  readonly started: string
  /** Changes at every start of the machine; empty where /proc does not exist. */
  readonly boot: string
  readonly host: string
  /** The namespace of pids, which differs between containers; absent where /proc does not exist, and in files of earlier versions. */
  readonly namespace?: string
}

/** The namespace of the processes that run in no container. */
export const machineNamespace = 'pid:[4026531836]'

/** The facts of this process. */
export async function processFacts(): Promise<ProcessFacts> {
  const boot = (await readProc('/proc/sys/kernel/random/boot_id'))?.trim() ?? ''
  const started = (await processAt(process.pid))?.started ?? ''
  const namespace = await unlessAbsent(() => linkTarget('/proc/self/ns/pid'))
  return { pid: process.pid, started, boot, host: hostname(), ...(namespace !== undefined && { namespace }) }
}

/** A process that exists now. */
export interface FoundProcess {
  /** In kernel ticks; empty where /proc does not exist. */
  readonly started: string
  /**
   * The process no longer runs its program: the kernel is removing it, or its parent has not collected its exit status.
   */
  readonly isEnding: boolean
}

/** Kernel flag: the process is exiting. */
const exitingFlag = 0x4

/** Returns the process with this pid; undefined when there is none. */
export async function processAt(pid: number): Promise<FoundProcess | undefined> {
  const stat = await readProc(`/proc/${pid}/stat`)
  if (stat === undefined) return isAlive(pid) ? { started: '', isEnding: false } : undefined
  // The second field is the program's name in parentheses, which may contain anything. The state follows it; the 9th
  // field holds the kernel flags, the 22nd the start time.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const isEnding = /^[ZXx]/.test(fields[0] ?? '') || (Number(fields[6]) & exitingFlag) !== 0
  return { started: fields[19] ?? '', isEnding }
}

function readProc(path: string): Promise<string | undefined> {
  return unlessAbsent(async () => (await readSmall(nodeVfs(), path, 4096)).toString('latin1'))
}

async function unlessAbsent(read: () => Promise<string>): Promise<string | undefined> {
  try {
    return await read()
  } catch (error) {
    if (errnoOf(error) === 'ENOENT' || errnoOf(error) === 'ESRCH') return undefined
    throw error
  }
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    // EPERM means that the process exists and belongs to another user.
    return errnoOf(error) === 'EPERM'
  }
}
