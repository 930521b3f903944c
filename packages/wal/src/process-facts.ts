// Which process this is, in words another process can check: a pid alone is used again sooner or later, and in a
// container every server has pid 1.
import { hostname } from 'node:os'
import { errnoOf } from './errors.ts'
import { nodeVfs } from './node-vfs.ts'
import { readSmall } from './whole-file.ts'

export interface ProcessFacts {
  readonly pid: number
  /** When the process started, in the kernel's ticks; empty where /proc does not exist. */
  readonly started: string
  /** Changes whenever the machine starts; empty where /proc does not exist. */
  readonly boot: string
  readonly host: string
}

export async function processFacts(): Promise<ProcessFacts> {
  const boot = (await readProc('/proc/sys/kernel/random/boot_id'))?.trim() ?? ''
  return { pid: process.pid, started: (await processAt(process.pid))?.started ?? '', boot, host: hostname() }
}

export interface FoundProcess {
  /** In the kernel's ticks; empty where /proc does not exist. */
  readonly started: string
  /** It runs no more of its program: the kernel takes it apart, or its parent has not looked yet how it ended. */
  readonly isEnding: boolean
}

/** Of the kernel: the process is being taken apart. */
const exitingFlag = 0x4

/** The process with this pid, or undefined when there is none. */
export async function processAt(pid: number): Promise<FoundProcess | undefined> {
  const stat = await readProc(`/proc/${pid}/stat`)
  if (stat === undefined) return isAlive(pid) ? { started: '', isEnding: false } : undefined
  // The second field is the program's name in brackets, which may hold anything; after it come the state, the 9th field with the
  // kernel's flags and the 22nd with the start time.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  const isEnding = /^[ZXx]/.test(fields[0] ?? '') || (Number(fields[6]) & exitingFlag) !== 0
  return { started: fields[19] ?? '', isEnding }
}

async function readProc(path: string): Promise<string | undefined> {
  try {
    return (await readSmall(nodeVfs(), path, 4096)).toString('latin1')
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
    // Not permitted means that it exists and is somebody else's.
    return errnoOf(error) === 'EPERM'
  }
}
